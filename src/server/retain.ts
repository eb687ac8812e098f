// Drops rows older than the retention settings, at the start and then hourly: a few rows per transaction with pauses,
// so that no message waits. An interrupted run continues next time.

import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, DAY_MS } from '../base/clock.ts';
import type { Settings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import {
  type ForgottenTable,
  journalRetainedSinceMs,
  type RetentionStore,
  usageRetainedSinceMs,
} from '../ledger/ledger.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import type { RefusalStore } from '../traffic/traffic.ts';
import type { OpenStore } from './open-store.ts';

interface RetainParts {
  store: RetentionStore;
  traffic: Pick<RefusalStore, 'findRefusalsBeyond'>;
  settings(): Pick<Settings, 'usageRetentionDays' | 'journalRetentionMonths' | 'eventRetentionDays'>;
  clock: Clock;
  log: Pick<LogWriter, 'writeEvent'>;
  /** Runs it unless another node does; resolves to false if another node does. */
  runAlone(run: () => Promise<void>): Promise<boolean>;
  maintain: OpenStore['maintain'];
  /** Gives accounts what their plans have now; resolves to their number. */
  updatePlans(signal: AbortSignal): Promise<number>;
  /** Reports a task that failed. Never rejects. */
  failed(task: string, failure: unknown): Promise<void>;
}

/** Number of dropped rows, by table. */
type Dropped = Record<ForgottenTable | 'entries', number>;

const NOTHING: Dropped = {
  usage_records: 0,
  entries: 0,
  claims: 0,
  answers: 0,
  creations: 0,
  key_secrets: 0,
  events: 0,
  deliveries: 0,
  payment_events: 0,
  refusals: 0,
  route_hours: 0,
  incidents: 0,
};

interface Run extends RetainParts {
  dropped: Dropped;
  /** Ends early if aborted. */
  signal: AbortSignal;
}

/** Starts at once. The returned function stops it and resolves when the current chunk is done. */
export function startRetaining(parts: RetainParts): () => Promise<void> {
  const stopping = new AbortController();
  const ended = retainUntil(parts, stopping.signal);
  return () => {
    stopping.abort();
    return ended;
  };
}

async function retainUntil(parts: RetainParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const dropped = { ...NOTHING };
    try {
      await parts.runAlone(() => dropOld({ ...parts, dropped, signal }));
    } catch (failure) {
      parts.log.writeEvent('old_rows_not_dropped', { cause: describeFailure(failure) });
      await parts.failed('retention', failure);
    }
    await parts.runAlone(() => updateHolders(parts, signal));
    if (Object.values(dropped).some((rows) => rows > 0)) parts.log.writeEvent('old_rows_dropped', dropped);
    await rest((await maintain(parts, signal)) ? bounds.dropEveryMs : bounds.dropAgainMs, signal);
  }
}

/** A change of plans updates them at once, unless its node stopped meanwhile. */
async function updateHolders({ updatePlans, failed, log }: RetainParts, signal: AbortSignal): Promise<void> {
  try {
    const accounts = await updatePlans(signal);
    if (accounts > 0) log.writeEvent('plans_updated', { accounts });
  } catch (failure) {
    log.writeEvent('plans_not_updated', { cause: describeFailure(failure) });
    await failed('update of plans', failure);
  }
}

/** Whether everything was done. */
async function maintain({ maintain: tendStore, failed, log }: RetainParts, signal: AbortSignal): Promise<boolean> {
  try {
    const { monthsMade, monthsDropped, monthsLeft, leasesDropped, daysRolledUp } = await tendStore(signal);
    if (monthsMade.length + monthsDropped.length + leasesDropped + daysRolledUp > 0)
      log.writeEvent('store_tended', {
        months_made: monthsMade.join(' '),
        months_dropped: monthsDropped.join(' '),
        leases_dropped: leasesDropped,
        days_rolled_up: daysRolledUp,
      });
    return monthsLeft.length === 0;
  } catch (failure) {
    log.writeEvent('store_not_tended', { cause: describeFailure(failure) });
    await failed('maintenance of the store', failure);
    return false;
  }
}

/** Drops everything that is too old. Throws store_unavailable. */
async function dropOld(run: Run): Promise<void> {
  const nowMs = run.clock.nowMs();
  await forgetBefore(run, 'claims', nowMs - bounds.idempotencyKeptMs);
  await forgetBefore(run, 'answers', nowMs - bounds.idempotencyKeptMs);
  await forgetBefore(run, 'creations', nowMs - bounds.creationRememberedMs);
  await forgetBefore(run, 'key_secrets', nowMs - bounds.endedSecretKeptMs);
  await forgetBefore(run, 'payment_events', nowMs - bounds.paymentEventKeptMs);
  await forgetTraffic(run, nowMs);
  const { usageRetentionDays: days, journalRetentionMonths: months, eventRetentionDays } = run.settings();
  await forgetBefore(run, 'incidents', nowMs - Math.max(eventRetentionDays, bounds.publicStatusDays) * DAY_MS);
  await forgetBefore(run, 'deliveries', nowMs - eventRetentionDays * DAY_MS);
  await forgetBefore(run, 'events', nowMs - eventRetentionDays * DAY_MS);
  if (days === null) return;
  const usageSinceMs = usageRetainedSinceMs(days, nowMs);
  await run.store.keepSince('usage', usageSinceMs);
  await forgetBefore(run, 'usage_records', usageSinceMs);
  const journalSinceMs = months === null ? null : journalRetainedSinceMs(months, nowMs);
  if (journalSinceMs === null || journalSinceMs > usageSinceMs || run.signal.aborted) return;
  await run.store.keepSince('journal', journalSinceMs);
  await carryBefore(run, journalSinceMs);
}

/** Refusals are bounded by their age and by their number. */
async function forgetTraffic(run: Run, nowMs: number): Promise<void> {
  const beyond = await run.traffic.findRefusalsBeyond(bounds.refusalRowsKeptMax);
  await forgetBefore(run, 'refusals', Math.max(nowMs - bounds.refusalsKeptMs, (beyond?.atMs ?? -1) + 1));
  await forgetBefore(run, 'route_hours', nowMs - bounds.routeHoursKeptMs);
}

async function forgetBefore({ store, dropped, signal }: Run, table: ForgottenTable, beforeMs: number): Promise<void> {
  while (!signal.aborted) {
    const rows = await store.countForgotten(table, beforeMs);
    if (rows === 0) return;
    await store.forget(table, beforeMs);
    dropped[table] += rows;
    await rest(bounds.dropRestMs, signal);
  }
}

/** In id order: an account created meanwhile has no old entries. */
async function carryBefore(run: Run, beforeMs: number): Promise<void> {
  const { store, signal } = run;
  for (let after: number | null = 0; after !== null && !signal.aborted; ) {
    const { accounts, last } = await store.listToCarry(beforeMs, after);
    for (const account of accounts) await carryAccount(run, account, beforeMs);
    after = last;
    await rest(bounds.dropRestMs, signal);
  }
}

async function carryAccount({ store, dropped, signal }: Run, account: number, beforeMs: number): Promise<void> {
  while (!signal.aborted) {
    const rows = await store.countToCarry(account, beforeMs);
    if (rows === 0) return;
    await store.carry(account, beforeMs);
    dropped.entries += rows;
    await rest(bounds.dropRestMs, signal);
  }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await wait(ms, undefined, { signal, ref: false });
  } catch {
    // Stopped: the caller looks at the signal.
  }
}
