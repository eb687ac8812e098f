// How the ledger's rows stand in the tables, both ways. The same for every database.

import type {
  AccountRow,
  ClaimRow,
  Ending,
  HoldRow,
  KeyRow,
  LeaseRow,
  OpenHold,
  SpendingReading,
  StoredUsageRecord,
  UsageMeters,
  UsageRecord,
} from '../ledger/ledger.ts';

export interface AccountMetersTable {
  id: number;
  enabled: number;
  credit_line: number;
  balance: number;
  held: number;
  allowance: number | null;
  allowance_period: AccountRow['allowancePeriod'];
  allowance_used: number;
  allowance_held: number;
  allowance_period_start_ms: number;
  group_rates: string;
  month_start_ms: number;
  month_opening: number;
}

export interface KeyMetersTable {
  id: number;
  account_id: number;
  status: KeyRow['status'];
  expires_at_ms: number | null;
  quota: number | null;
  quota_period: KeyRow['quotaPeriod'];
  quota_used: number;
  quota_held: number;
  quota_period_start_ms: number;
  limits: string;
  rates: string;
  last_used_at_ms: number | null;
}

export interface ClaimsTable {
  key_id: number;
  name: string;
  request_id: string;
  request_hash: string;
  at_ms: number;
  is_answered: number;
}

export interface UsageTable {
  seq: number;
  request_id: string;
  at_ms: number;
  account_id: number;
  key_id: number;
  ended_by: Ending['endedBy'];
  group_name: string;
  model: string;
  outcome: UsageRecord['outcome'];
  status: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_5m_tokens: number;
  cache_write_1h_tokens: number;
  web_searches: number;
  cost: number;
  written_off: number;
  provider_cost: number | null;
  details: string;
}

export function readAccountRow(row: AccountMetersTable): AccountRow {
  return {
    id: row.id,
    enabled: row.enabled === 1,
    creditLine: row.credit_line,
    balance: row.balance,
    held: row.held,
    allowance: row.allowance,
    allowancePeriod: row.allowance_period,
    spending: { used: row.allowance_used, held: row.allowance_held, periodStartMs: row.allowance_period_start_ms },
    month: { startMs: row.month_start_ms, opening: row.month_opening },
    groups: JSON.parse(row.group_rates),
  };
}

export function readKeyRow(row: KeyMetersTable): KeyRow {
  return {
    id: row.id,
    account: row.account_id,
    status: row.status,
    expiresAtMs: row.expires_at_ms,
    quota: row.quota,
    quotaPeriod: row.quota_period,
    spending: { used: row.quota_used, held: row.quota_held, periodStartMs: row.quota_period_start_ms },
    limits: JSON.parse(row.limits),
    rates: JSON.parse(row.rates),
    lastUsedAtMs: row.last_used_at_ms,
  };
}

/** A hold of a version that knew no claims has none. */
export function readHoldRow(row: { document: string }): HoldRow {
  return { claim: null, ...JSON.parse(row.document) };
}

/** What of a hold is shown: not its checkpoint, which may be long. */
export function openHoldOf(hold: HoldRow): OpenHold {
  const { requestId, account, key, group, amount, openedAtMs, left, draft } = hold;
  return { requestId, account, key, group, amount, openedAtMs, left, draft };
}

export function readClaimRow(row: ClaimsTable): ClaimRow {
  return {
    key: row.key_id,
    name: row.name,
    requestId: row.request_id,
    requestHash: row.request_hash,
    atMs: row.at_ms,
    isAnswered: row.is_answered === 1,
  };
}

export function readLeaseRow(row: { node: string; epoch: number; expires_at_ms: number }): LeaseRow {
  return { node: row.node, epoch: row.epoch, expiresAtMs: row.expires_at_ms };
}

type Details = Pick<
  UsageRecord,
  'provider' | 'upstreamModel' | 'stream' | 'usageSource' | 'rates' | 'attempts' | 'latencyMs' | 'firstTokenMs'
> & { admittedMs?: number | null; meters?: StoredMeters };

/** Without names for what every message has, and without what it does not have. */
interface StoredMeters {
  balance: [before: number, after: number];
  quota?: StoredReading;
  allowance?: StoredReading;
}
type StoredReading = [limit: number, period: SpendingReading['period'], before: number, after: number];

/** What of a usage record nobody sums up or searches by. */
export function writeDetails(record: UsageRecord): string {
  const details: Details = {
    provider: record.provider,
    upstreamModel: record.upstreamModel,
    stream: record.stream,
    usageSource: record.usageSource,
    rates: record.rates,
    attempts: record.attempts,
    admittedMs: record.admittedMs,
    latencyMs: record.latencyMs,
    firstTokenMs: record.firstTokenMs,
    ...(record.meters !== null && { meters: writeMeters(record.meters) }),
  };
  return JSON.stringify(details);
}

function writeMeters({ balance, quota, allowance }: UsageMeters): StoredMeters {
  return {
    balance: [balance.before, balance.after],
    ...(quota !== null && { quota: writeReading(quota) }),
    ...(allowance !== null && { allowance: writeReading(allowance) }),
  };
}

function writeReading({ limit, period, before, after }: SpendingReading): StoredReading {
  return [limit, period, before, after];
}

function readMeters({ balance, quota, allowance }: StoredMeters): UsageMeters {
  const [before, after] = balance;
  return { balance: { before, after }, quota: readReading(quota), allowance: readReading(allowance) };
}

function readReading(stored: StoredReading | undefined): SpendingReading | null {
  if (stored === undefined) return null;
  const [limit, period, before, after] = stored;
  return { limit, period, before, after };
}

/** Records of before they had meters, and the time of their admission, have none. */
export function readUsageRecord(row: UsageTable): StoredUsageRecord {
  const { admittedMs = null, meters, ...details } = JSON.parse(row.details) as Details;
  return {
    seq: row.seq,
    requestId: row.request_id,
    atMs: row.at_ms,
    account: row.account_id,
    key: row.key_id,
    group: row.group_name,
    model: row.model,
    outcome: row.outcome,
    status: row.status,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWrite5mTokens: row.cache_write_5m_tokens,
    cacheWrite1hTokens: row.cache_write_1h_tokens,
    webSearches: row.web_searches,
    cost: row.cost,
    writtenOff: row.written_off,
    providerCost: row.provider_cost,
    ...details,
    admittedMs,
    meters: meters === undefined ? null : readMeters(meters),
  };
}
