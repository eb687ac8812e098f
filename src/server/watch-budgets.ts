// Notices limits that are used up too fast: allowances and plans of accounts, budgets of people, quotas of keys. Runs on the node
// that leads, and compares readings of their meters, so that messages do no work for it. Readings are kept in memory: after a
// change of the leading node, less is known for a while, and nothing is reported that is not known.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, type Period, periodEndMs } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import type { NewEvent } from '../events/events.ts';
import {
  type AccountRow,
  type Burn,
  type BurningLimit,
  budgetEndMs,
  budgetLimits,
  burnOf,
  type KeyLimits,
  type PersonRow,
  type RowPage,
  rolled,
  rolledPerson,
  rolledPlan,
  type SpendingMeter,
  UseReadings,
  windowEndMs,
} from '../ledger/ledger.ts';
import type { Stores } from '../storage/storage.ts';

const MINUTE_MS = 60_000;

interface WatchParts {
  stores: {
    ledger: Pick<Stores['ledger'], 'listAccountRows' | 'listPersonRows' | 'listKeyLimits'>;
    events: Pick<Stores['events'], 'emit'>;
  };
  clock: Clock;
}

/** A limit with the account whose limit it is. */
interface WatchedLimit extends BurningLimit {
  account: number;
  kind: 'allowance' | 'quota' | 'budget' | 'plan_window';
  key: number | null;
  person: number | null;
}

/** A window with all limits on its use. */
interface WatchedWindow {
  /** Unique among all windows. */
  name: string;
  limits: WatchedLimit[];
}

export class BudgetWatch {
  readonly #parts: WatchParts;
  /** By the name of the window. */
  #readings = new Map<string, UseReadings>();
  /** Names of events in windows that are not over. The store refuses a second one, too. */
  #reported = new Set<string>();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** Throws store_unavailable. */
  async round(signal: AbortSignal): Promise<void> {
    const { ledger } = this.#parts.stores;
    const [readings, reported] = [new Map<string, UseReadings>(), new Set<string>()];
    const look = (windows: WatchedWindow[]) => this.#look(windows, readings, reported);
    const accounts = new Map<number, AccountRow>();
    await eachPage(ledger.listAccountRows, signal, async (rows) => {
      for (const row of rows) accounts.set(row.id, row);
      await look(rows.flatMap((row) => windowsOfAccount(row, this.#nowMs)));
    });
    const accountsOf = new Map<number, Set<number>>();
    await eachPage(ledger.listKeyLimits, signal, async (rows) => {
      for (const { person, account } of rows)
        if (person !== null) accountsOf.set(person, (accountsOf.get(person) ?? new Set()).add(account));
    });
    await eachPage(ledger.listPersonRows, signal, (rows) =>
      look(rows.flatMap((row) => windowsOfPerson(row, payersOf(row, accountsOf, accounts), this.#nowMs))),
    );
    await eachPage(ledger.listKeyLimits, signal, (rows) => look(rows.flatMap((row) => windowsOfKey(row, this.#nowMs))));
    if (signal.aborted) return;
    this.#readings = readings;
    this.#reported = reported;
  }

  get #nowMs(): number {
    return this.#parts.clock.nowMs();
  }

  /** Adds a reading of each window, and reports the limits that burn. */
  async #look(windows: WatchedWindow[], next: Map<string, UseReadings>, reported: Set<string>): Promise<void> {
    const nowMs = this.#nowMs;
    const events: NewEvent[] = [];
    for (const { name, limits } of windows) {
      const [one] = limits;
      if (one === undefined || next.size >= bounds.budgetsWatchedMax) continue;
      const readings = this.#readings.get(name) ?? new UseReadings();
      next.set(name, readings);
      readings.add(one.length, one, nowMs);
      for (const limit of limits) {
        const burn = burnOf(readings, limit, nowMs);
        if (burn === null) continue;
        const dedupe = `budget.burning:${name}:${limit.account}:${limit.startMs}:${burn.level.name}`;
        reported.add(dedupe);
        if (!this.#reported.has(dedupe)) events.push({ ...eventOf(limit, burn, nowMs), dedupe });
      }
    }
    if (events.length > 0) await this.#parts.stores.events.emit(events);
  }
}

/** Other work runs between two pages. */
async function eachPage<Row>(
  read: (page: { after: number; limit: number }) => Promise<RowPage<Row>>,
  signal: AbortSignal,
  handle: (rows: Row[]) => Promise<void>,
): Promise<void> {
  for (let after: number | null = 0; after !== null && !signal.aborted; ) {
    const page: RowPage<Row> = await read({ after, limit: bounds.rowsAtOnce });
    await handle(page.rows);
    after = page.last;
    await nextTurn();
  }
}

function windowsOfAccount({ id, allowance, allowancePeriod, spending, plan }: AccountRow, nowMs: number) {
  const of = { account: id, key: null, person: null };
  const allowed = limitOf(allowance, allowancePeriod, spending, nowMs);
  const windows: WatchedWindow[] =
    allowed === null
      ? []
      : [{ name: `allowance:${id}:${allowed.length}`, limits: [{ ...allowed, ...of, kind: 'allowance' }] }];
  const current = plan === null || (plan.endsAtMs !== null && plan.endsAtMs <= nowMs) ? null : rolledPlan(plan, nowMs);
  for (const window of current?.windows ?? []) {
    const { length, limit, used, startMs } = window;
    const endsAtMs = current === null ? null : windowEndMs(current, window);
    if (endsAtMs === null) continue;
    const known = { length, limit, used, startMs, endsAtMs };
    windows.push({ name: `plan:${id}:${length}`, limits: [{ ...known, ...of, kind: 'plan_window' }] });
  }
  return windows;
}

function windowsOfKey({ id, account, quota, quotaPeriod, spending }: KeyLimits, nowMs: number): WatchedWindow[] {
  const limit = limitOf(quota, quotaPeriod, spending, nowMs);
  if (limit === null) return [];
  return [{ name: `key:${id}:${limit.length}`, limits: [{ ...limit, account, key: id, person: null, kind: 'quota' }] }];
}

/** null: without a limit, or without an end. */
function limitOf(limit: Nano | null, period: Period, meter: SpendingMeter, nowMs: number): BurningLimit | null {
  if (limit === null || period === 'total') return null;
  const { used, periodStartMs: startMs } = rolled(meter, period, nowMs);
  return { length: period, limit, used, startMs, endsAtMs: periodEndMs(period, Math.max(startMs, nowMs)) ?? startMs };
}

function windowsOfPerson(row: PersonRow, accounts: readonly AccountRow[], nowMs: number): WatchedWindow[] {
  const person = rolledPerson(row, nowMs);
  const limits = budgetLimits(person, accounts);
  return person.windows.flatMap((window): WatchedWindow[] => {
    const { length, used, startMs } = window;
    const endsAtMs = budgetEndMs(window, nowMs);
    if (endsAtMs === null) return [];
    const known = { length, used, startMs, endsAtMs, key: null, person: person.id, kind: 'budget' as const };
    const ofWindow = limits.filter((one) => one.length === length);
    return [
      {
        name: `person:${person.id}:${length}`,
        limits: ofWindow.map(({ account, limit }) => ({ ...known, account, limit })),
      },
    ];
  });
}

/** The accounts whose budgets may apply to a person: theirs, those of their keys, and all above. */
function payersOf(
  { id, account }: PersonRow,
  accountsOf: ReadonlyMap<number, ReadonlySet<number>>,
  accounts: ReadonlyMap<number, AccountRow>,
): AccountRow[] {
  const found = new Map<number, AccountRow>();
  for (const first of [account, ...(accountsOf.get(id) ?? [])]) {
    let at: number | null = first;
    for (let level = 0; at !== null && level < bounds.accountChainMax; level++) {
      const row = accounts.get(at);
      if (row !== undefined) found.set(at, row);
      at = row?.company.parent ?? null;
    }
  }
  return [...found.values()];
}

function eventOf(limit: WatchedLimit, { level, spent, exhaustedAtMs }: Burn, nowMs: number) {
  const { account, kind, key, person, length, used, endsAtMs } = limit;
  const data = {
    limit: kind,
    key: key === null ? null : formatId('key', key),
    person: person === null ? null : formatId('person', person),
    window: length,
    speed: level.name,
    spent: formatUsd(spent),
    minutes: level.longMs / MINUTE_MS,
    used: formatUsd(used),
    amount: formatUsd(limit.limit),
    exhausted_at: new Date(exhaustedAtMs).toISOString(),
    resets_at: new Date(endsAtMs).toISOString(),
  };
  return { atMs: nowMs, account, type: 'budget.burning' as const, data };
}
