// The part of a usage record that has no column, as JSON: a list without names, because every message stores one.

import type { AttemptRecord, SpendingReading, UsageMeters, UsageRecord } from '../ledger/ledger.ts';
import type { UnitCounts } from '../wire/wire.ts';
import {
  list,
  map,
  membersOf,
  nullable,
  number,
  object,
  optional,
  text,
  tuple,
  whole,
  words,
} from './document-shape.ts';

export interface Details {
  /** Timelines read it. */
  firstTokenMs: number | null;
  others: Others;
  /** Absent: nobody above the account, which paid, and nobody's key. */
  chain?: readonly [above: readonly number[], payer: number, person: number | null];
  /** Absent: a message. */
  use?: readonly [endpoint: NonNullable<UsageRecord['endpoint']>, counts: UnitCounts, image: string | null];
  /** Those of a message. Absent: none. */
  units?: UnitCounts;
  /** Absent: no totals count the units. */
  unitCosts?: UnitCounts;
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
  error?: readonly [code: string, message: string] | null,
  /** Absent: none. */
  tags?: UsageRecord['tags'],
  /** Absent: null. */
  agent?: string,
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

export const outcome = words('completed', 'client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed');
export const usageSource = words('reported', 'estimated', 'none');
export const period = words('total', 'day', 'week', 'month');
export const endpoint = words('embeddings', 'rerank', 'moderation', 'images', 'speech', 'transcription');
export const unitCounts = object<UnitCounts>({
  input_audio_tokens: optional(whole),
  output_audio_tokens: optional(whole),
  input_image_tokens: optional(whole),
  output_image_tokens: optional(whole),
  images: optional(whole),
  characters: optional(whole),
  seconds: optional(whole),
  searches: optional(whole),
});
const reading = tuple<Reading>([whole, period, whole, whole]);
const attempt = tuple<Attempt>([
  text,
  text,
  nullable(text),
  text,
  nullable(whole),
  nullable(text),
  nullable(number),
  number,
]);
const OTHERS_LEAST = 9;

export const detailsShape = object<Details>({
  firstTokenMs: nullable(number),
  others: tuple<Others>(
    [
      nullable(text),
      nullable(text),
      words(0, 1),
      usageSource,
      map(text),
      list(attempt),
      nullable(number),
      number,
      nullable(tuple<Meters>([whole, whole, nullable(reading), nullable(reading)])),
      whole,
      nullable(tuple<readonly [string, string]>([text, text])),
      map(text),
      text,
    ],
    OTHERS_LEAST,
  ),
  chain: optional(tuple<NonNullable<Details['chain']>>([list(whole), whole, nullable(whole)])),
  use: optional(tuple<NonNullable<Details['use']>>([endpoint, unitCounts, nullable(text)])),
  units: optional(unitCounts),
  unitCosts: optional(unitCounts),
});

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
  const { planPaid, error, tags, agent } = record;
  const isTagged = agent !== null || hasMembers(tags);
  if (planPaid > 0 || error !== null || isTagged) others.push(planPaid);
  if (error !== null || isTagged) others.push(error && [error.code, error.message]);
  if (isTagged) others.push(tags);
  if (agent !== null) others.push(agent);
  const details: Details = { firstTokenMs: record.firstTokenMs, others };
  const { above, payer, person } = record;
  if (above.length > 0 || person !== null) details.chain = [above, payer, person];
  const { endpoint: use, units, unitCosts } = record;
  if (use !== undefined) details.use = [use, units?.counts ?? {}, units?.image ?? null];
  else if (units !== undefined) details.units = units.counts;
  if (unitCosts !== undefined) details.unitCosts = unitCosts;
  return JSON.stringify(details);
}

function hasMembers(map: object): boolean {
  for (const _ in map) return true;
  return false;
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
  | 'above'
  | 'payer'
  | 'person'
  | 'tags'
  | 'agent'
  | 'endpoint'
  | 'units'
  | 'unitCosts'
>;

/** For a record whose details cannot be read. */
export const NO_DETAILS: Details = { firstTokenMs: null, others: [null, null, 0, 'none', {}, [], null, 0, null] };

/** `account`: that of the record. */
export function readDetails(
  { firstTokenMs, others, chain, use, units, unitCosts }: Details,
  account: number,
): DetailsOf {
  const [provider, upstreamModel, stream, usageSource, rates, attempts, ...later] = others;
  const [admittedMs, latencyMs, meters, planPaid = 0, error = null, tags = {}, agent = null] = later;
  const [above, payer, person] = chain ?? [[], account, null];
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
    error: error && { code: error[0], message: error[1] },
    tags,
    agent,
    above,
    payer,
    person,
    ...(use !== undefined && readUse(use)),
    ...(units !== undefined && { units: { counts: units, image: null } }),
    ...(unitCosts !== undefined && { unitCosts }),
  };
}

function readUse([endpoint, counts, image]: NonNullable<Details['use']>): Pick<UsageRecord, 'endpoint' | 'units'> {
  const hasUnits = Object.keys(counts).length > 0;
  return { endpoint, ...(hasUnits && { units: { counts, image } }) };
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
type LaterMembers =
  | 'admittedMs'
  | 'meters'
  | 'planPaid'
  | 'error'
  | 'tags'
  | 'agent'
  | 'above'
  | 'payer'
  | 'person'
  | 'endpoint'
  | 'units'
  | 'unitCosts';
type EarlyDetails = Omit<DetailsOf, LaterMembers> & {
  admittedMs?: number | null;
  meters?: { balance: [before: number, after: number]; quota?: Reading; allowance?: Reading };
};

/** Gives details of development versions their present shape. */
export function convertEarly(value: unknown): unknown {
  const early = membersOf(value) as Partial<EarlyDetails>;
  if ('others' in early || !Array.isArray(early.attempts)) return value;
  const { provider, upstreamModel, stream, usageSource, rates, attempts, admittedMs = null, latencyMs, meters } = early;
  const { balance, quota = null, allowance = null } = meters ?? {};
  const present = [...(balance ?? []), quota, allowance];
  const written = [provider, upstreamModel, stream ? 1 : 0, usageSource, rates, attempts.map(writeAttempt), admittedMs];
  return { firstTokenMs: early.firstTokenMs, others: [...written, latencyMs, meters === undefined ? null : present] };
}

/** Where details have what searches compare. Development versions wrote it elsewhere: their records are not found. */
export const detailPaths = {
  provider: ['others', 0],
  stream: ['others', 2],
  latencyMs: ['others', 7],
  errorCode: ['others', 10, 0],
  tags: ['others', 11],
  agent: ['others', 12],
  endpoint: ['use', 0],
} as const;

/** Whether the totals count units of a record. Quotes within a text of the details are escaped. */
export const HAS_UNITS = `details LIKE '%"unitCosts":{%'`;
