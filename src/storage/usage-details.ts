// The part of a usage record that has no column, as JSON: a list without names, because every message stores one.

import type { AttemptRecord, SpendingReading, UsageMeters, UsageRecord } from '../ledger/ledger.ts';

interface Details {
  /** Timelines read it. */
  firstTokenMs: number | null;
  others: Others;
}
type Others = [
  provider: string | null,
  upstreamModel: string | null,
  stream: 0 | 1,
  usageSource: UsageRecord['usageSource'],
  rates: UsageRecord['rates'],
  attempts: Attempt[],
  admittedMs: number | null,
  latencyMs: number,
  meters: Meters | null,
  /** Absent: 0. */
  planPaid?: number,
  /** Absent: null. */
  error?: readonly [code: string, message: string],
];
type Attempt = [
  provider: string,
  model: string,
  credential: string | null,
  result: string,
  status: number | null,
  reason: string | null,
  startedMs: number | null,
  ms: number,
];
type Meters = [before: number, after: number, quota: Reading | null, allowance: Reading | null];
type Reading = [limit: number, period: SpendingReading['period'], before: number, after: number];

export function writeDetails(record: UsageRecord): string {
  const others: Others = [
    record.provider,
    record.upstreamModel,
    record.stream ? 1 : 0,
    record.usageSource,
    record.rates,
    record.attempts.map(writeAttempt),
    record.admittedMs,
    record.latencyMs,
    record.meters === null ? null : writeMeters(record.meters),
  ];
  if (record.planPaid > 0 || record.error !== null) others.push(record.planPaid);
  if (record.error !== null) others.push([record.error.code, record.error.message]);
  const details: Details = { firstTokenMs: record.firstTokenMs, others };
  return JSON.stringify(details);
}

function writeAttempt(attempt: AttemptRecord): Attempt {
  const { provider, model, credential = null, result, status, reason = null, startedMs = null, ms } = attempt;
  return [provider, model, credential, result, status, reason, startedMs, ms];
}

function writeMeters({ balance, quota, allowance }: UsageMeters): Meters {
  return [balance.before, balance.after, writeReading(quota), writeReading(allowance)];
}

function writeReading(reading: SpendingReading | null): Reading | null {
  return reading === null ? null : [reading.limit, reading.period, reading.before, reading.after];
}

type DetailsOf = Pick<
  UsageRecord,
  | 'provider'
  | 'upstreamModel'
  | 'stream'
  | 'usageSource'
  | 'rates'
  | 'attempts'
  | 'admittedMs'
  | 'latencyMs'
  | 'firstTokenMs'
  | 'meters'
  | 'planPaid'
  | 'error'
>;

export function readDetails(text: string): DetailsOf {
  const stored = JSON.parse(text) as Details | EarlyDetails;
  if (!('others' in stored)) return readEarly(stored);
  const { firstTokenMs, others } = stored;
  const [provider, upstreamModel, stream, usageSource, rates, attempts, ...later] = others;
  const [admittedMs, latencyMs, meters, planPaid = 0, error] = later;
  return {
    provider,
    upstreamModel,
    stream: stream === 1,
    usageSource,
    rates,
    attempts: attempts.map(readAttempt),
    admittedMs,
    latencyMs,
    firstTokenMs,
    meters: meters === null ? null : readMeters(meters),
    planPaid,
    error: error === undefined ? null : { code: error[0], message: error[1] },
  };
}

function readAttempt([provider, model, credential, result, status, reason, startedMs, ms]: Attempt): AttemptRecord {
  return { provider, model, credential, result, status, reason, startedMs, ms };
}

function readMeters([before, after, quota, allowance]: Meters): UsageMeters {
  return { balance: { before, after }, quota: readReading(quota), allowance: readReading(allowance) };
}

function readReading(stored: Reading | null): SpendingReading | null {
  if (stored === null) return null;
  const [limit, period, before, after] = stored;
  return { limit, period, before, after };
}

/** As development versions wrote it. The earliest have no meters and no admission time. */
type EarlyDetails = Omit<DetailsOf, 'admittedMs' | 'meters' | 'planPaid' | 'error'> & {
  admittedMs?: number | null;
  meters?: { balance: [before: number, after: number]; quota?: Reading; allowance?: Reading };
};

function readEarly({ admittedMs = null, meters, ...details }: EarlyDetails): DetailsOf {
  const known = { ...details, admittedMs, planPaid: 0, error: null };
  if (meters === undefined) return { ...known, meters: null };
  const { balance, quota = null, allowance = null } = meters;
  return { ...known, meters: readMeters([...balance, quota, allowance]) };
}

/** Where details have what searches compare. Development versions wrote it elsewhere: their records are not found. */
export const detailPaths = {
  provider: ['others', 0],
  stream: ['others', 2],
  latencyMs: ['others', 7],
  errorCode: ['others', 10, 0],
} as const;
