// Failures of upkeep: credentials, deliveries, mails, exports, backups, background tasks, margins and price lists. Pure.

import { parseTimeMs } from '../base/checked-number.ts';
import type { Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import type { EventType, StoredEvent } from '../events/events.ts';
import type { Finding } from './follow.ts';
import { facts, type IncidentFacts } from './incident.ts';

/** The events that are read: of failures, and of what ends them. */
export const UPKEEP_EVENTS = [
  'export.failed',
  'backup.failed',
  'upkeep.failed',
  'recharge.failed',
  'recharge.succeeded',
] as const satisfies readonly EventType[];

export interface Upkeep {
  /** Events of UPKEEP_EVENTS, the newest first. */
  events: readonly StoredEvent[];
  lastBackupAtMs: number | null;
  /** Exports by the text of their id, with when their last run succeeded. */
  exports: ReadonlyMap<string, { id: number; doneAtMs: number | null }>;
  destinations: readonly FailingDestination[];
  /** Mails that wait for a further attempt. */
  mails: readonly { createdAtMs: number; tries: number }[];
  credentials: readonly { provider: string; credential: string; failure: string | null }[];
  margins: readonly ModelMargin[];
  /** The date of the price list in use; null: no model takes its price from one. */
  pricesAsOf: string | null;
}

interface FailingDestination {
  id: number;
  accountId: number | null;
  name: string;
  status: 'enabled' | 'disabled';
  disabledReason: string | null;
  failingSinceMs: number | null;
}

/** The margin of a model in the last days, by the group that sold it. */
export interface ModelMargin {
  model: string;
  /** null: not known. */
  group: string | null;
  margin: Nano;
  sinceMs: number;
  messages: number;
}

export function judgeUpkeep(upkeep: Upkeep, nowMs: number): Finding[] {
  return [
    ...judgeEvents(upkeep, nowMs),
    ...upkeep.destinations.flatMap((destination) => judgeDestination(destination, nowMs)),
    ...judgeMails(upkeep.mails),
    ...upkeep.credentials.flatMap(({ provider, credential, failure }) =>
      failure === null
        ? []
        : [
            finding(
              `credential:${provider}/${credential}`,
              null,
              nowMs,
              facts('credential_unreadable', 'critical', {
                provider,
                subject: credential,
                said: failure,
                saidAtMs: nowMs,
              }),
            ),
          ],
    ),
    ...upkeep.margins.flatMap(judgeMargin),
    ...judgePrices(upkeep.pricesAsOf, nowMs),
  ];
}

function finding(name: string, account: number | null, sinceMs: number, known: IncidentFacts): Finding {
  return { name, account, sinceMs, begins: true, facts: known };
}

/** A failure goes on until the same succeeds, or is not reported again. */
function judgeEvents({ events, lastBackupAtMs, exports }: Upkeep, nowMs: number): Finding[] {
  const found = new Map<string, Finding>();
  const recharged = new Set<number | null>();
  for (const event of events) {
    const { type, account, atMs } = event;
    if (atMs < nowMs - bounds.incidentEventMs) break;
    if (type === 'recharge.succeeded') recharged.add(account);
    const failing =
      recharged.has(account) && type === 'recharge.failed' ? null : failureOf(event, lastBackupAtMs, exports);
    if (failing === null) continue;
    const latest = found.get(failing.name);
    found.set(failing.name, latest === undefined ? failing : { ...latest, sinceMs: atMs });
  }
  return [...found.values()];
}

function failureOf(
  { type, account, atMs, data }: StoredEvent,
  lastBackupAtMs: number | null,
  exports: Upkeep['exports'],
): Finding | null {
  const word = (name: string) => (typeof data[name] === 'string' ? (data[name] as string) : null);
  const said = { said: word('reason') ?? word('failure'), saidAtMs: atMs };
  switch (type) {
    case 'backup.failed':
      if (lastBackupAtMs !== null && lastBackupAtMs > atMs) return null;
      return finding('backup', null, atMs, facts('backup_failing', 'critical', said));
    case 'upkeep.failed': {
      const task = word('task');
      return finding(`task:${task}`, null, atMs, facts('task_failing', 'warning', { ...said, subject: task }));
    }
    case 'recharge.failed':
      return finding(
        `recharge:${account}`,
        account,
        atMs,
        facts('recharge_failing', 'warning', { ...said, accounts: 1 }),
      );
    case 'export.failed': {
      const schedule = exports.get(word('export') ?? '');
      if (schedule === undefined || (schedule.doneAtMs !== null && schedule.doneAtMs > atMs)) return null;
      const known = { ...said, subject: word('name'), subjectId: schedule.id };
      return finding(`export:${schedule.id}`, account, atMs, facts('export_failing', 'warning', known));
    }
    default:
      return null;
  }
}

/** One that was disabled by a person has no reason, and is no problem. */
function judgeDestination(destination: FailingDestination, nowMs: number): Finding[] {
  const { id, accountId, name, status, disabledReason, failingSinceMs } = destination;
  const isDisabled = status === 'disabled' && disabledReason !== null;
  const isFailing = status === 'enabled' && failingSinceMs !== null && nowMs - failingSinceMs >= bounds.incidentQuietMs;
  if (!isDisabled && !isFailing) return [];
  const known = { subject: name, subjectId: id, cause: isDisabled ? 'disabled' : 'failing', said: disabledReason };
  const severity = isDisabled ? 'critical' : 'warning';
  return [
    finding(`destination:${id}`, accountId, failingSinceMs ?? nowMs, facts('destination_failing', severity, known)),
  ];
}

function judgeMails(mails: Upkeep['mails']): Finding[] {
  const failing = mails.filter(({ tries }) => tries >= bounds.incidentMailTriesLeast);
  if (failing.length === 0) return [];
  const sinceMs = Math.min(...failing.map(({ createdAtMs }) => createdAtMs));
  return [finding('mail', null, sinceMs, facts('mail_failing', 'critical', { requests: failing.length }))];
}

function judgeMargin({ model, group, margin, sinceMs, messages }: ModelMargin): Finding[] {
  if (margin >= 0) return [];
  const loss = -margin;
  const known = { model, models: [model], subject: group, loss, requests: messages };
  return [
    {
      ...finding(`margin:${model}\n${group ?? ''}`, null, sinceMs, facts('negative_margin', 'warning', known)),
      begins: loss >= bounds.incidentLossLeast,
    },
  ];
}

function judgePrices(asOf: string | null, nowMs: number): Finding[] {
  const outdatedMs = asOf === null ? null : (parseTimeMs(asOf) ?? 0) + bounds.priceListKeptMs;
  if (outdatedMs === null || outdatedMs > nowMs) return [];
  return [finding('prices', null, outdatedMs, facts('prices_outdated', 'warning', { subject: asOf }))];
}
