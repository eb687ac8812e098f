// The row of a hold: columns for what is summed and searched, and all of it as JSON. The only place that writes and reads that JSON.

import { isWholeNumber } from '../base/checked-number.ts';
import { beganAtMs } from '../base/ids.ts';
import { type AttemptRecord, type HoldRow, NO_ATTRIBUTION, type UsageRecord } from '../ledger/ledger.ts';
import {
  DocumentUnreadable,
  flag,
  list,
  map,
  membersOf,
  nullable,
  number,
  object,
  optional,
  parseJson,
  text,
  whole,
  words,
} from './document-shape.ts';
import { endpoint, outcome, period, unitCounts, usageSource } from './usage-details.ts';

export interface HoldsTable {
  request_id: string;
  account_id: number;
  key_id: number;
  amount: number;
  document: string;
}

/** The version of the JSON that this program writes. A program reads all versions up to its own. */
const VERSION = 2;

type Meters = NonNullable<UsageRecord['meters']>;

const reading = object<NonNullable<Meters['quota']>>({ limit: whole, period, before: whole, after: whole });
const usageRecord = object<Omit<UsageRecord, 'totalsLackGroup'>>({
  requestId: text,
  atMs: whole,
  account: whole,
  above: list(whole),
  payer: whole,
  key: whole,
  person: nullable(whole),
  group: text,
  model: text,
  provider: nullable(text),
  upstreamModel: nullable(text),
  stream: flag,
  outcome,
  status: whole,
  inputTokens: whole,
  outputTokens: whole,
  cacheReadTokens: whole,
  cacheWrite5mTokens: whole,
  cacheWrite1hTokens: whole,
  webSearches: whole,
  usageSource,
  cost: whole,
  writtenOff: whole,
  planPaid: whole,
  providerCost: nullable(whole),
  rates: map(text),
  attempts: list(
    object<AttemptRecord>({
      provider: text,
      model: text,
      credential: optional(nullable(text)),
      result: text,
      status: nullable(whole),
      reason: optional(nullable(text)),
      startedMs: optional(nullable(number)),
      ms: number,
    }),
  ),
  error: nullable(object<NonNullable<UsageRecord['error']>>({ code: text, message: text })),
  admittedMs: nullable(number),
  latencyMs: number,
  firstTokenMs: nullable(number),
  meters: nullable(
    object<Meters>({
      balance: object<Meters['balance']>({ before: whole, after: whole }),
      quota: nullable(reading),
      allowance: nullable(reading),
    }),
  ),
  tags: map(text),
  session: nullable(text),
  agent: nullable(text),
  tagSet: nullable(whole),
  endpoint: optional(endpoint),
  units: optional(object<NonNullable<UsageRecord['units']>>({ counts: unitCounts, image: nullable(text) })),
  unitCosts: optional(unitCounts),
});

type StoredHold = Omit<HoldRow, 'unreadable'> & { v: typeof VERSION };

export const holdShape = object<StoredHold>({
  v: words(VERSION),
  requestId: text,
  account: whole,
  above: list(whole),
  payer: whole,
  key: whole,
  person: nullable(whole),
  group: text,
  amount: whole,
  fromPlan: whole,
  openedAtMs: whole,
  owner: object<HoldRow['owner']>({ node: text, epoch: whole }),
  left: flag,
  claim: nullable(text),
  checkpoint: nullable(usageRecord),
  draft: object<HoldRow['draft']>({
    model: text,
    stream: flag,
    tags: optional(map(text)),
    session: optional(nullable(text)),
    agent: optional(nullable(text)),
    tagSet: optional(nullable(whole)),
  }),
});

export function writeHold(hold: HoldRow): string {
  return JSON.stringify({ v: VERSION, ...hold });
}

/**
 * The hold of a row, with defaults for what earlier versions did not store: version 0 has no number, and lacks members. A row that
 * cannot be read becomes a hold with what its columns say, and `unreadable`.
 */
export function readHold(row: HoldsTable): HoldRow {
  try {
    return readDocument(row.document);
  } catch (failure) {
    if (!(failure instanceof DocumentUnreadable)) throw failure;
    return {
      requestId: row.request_id,
      account: row.account_id,
      key: row.key_id,
      amount: row.amount,
      ...NOT_IN_VERSION_0,
      ...alone(row.account_id),
      group: '',
      openedAtMs: beganAtMs(row.request_id) ?? 0,
      owner: { node: '', epoch: 0 },
      left: false,
      draft: { model: '', stream: false },
      unreadable: failure.message,
    };
  }
}

const NOT_IN_VERSION_0 = { fromPlan: 0, claim: null, checkpoint: null };
/** Before version 2, no account was above another, and no key was a person's. */
function alone(account: number) {
  return { above: [], payer: account, person: null };
}

const NOT_IN_EARLIER_CHECKPOINTS = { error: null, planPaid: 0, meters: null, admittedMs: null, ...NO_ATTRIBUTION };

/** Throws DocumentUnreadable. */
export function readDocument(json: string): HoldRow {
  const { v = 0, ...stored } = membersOf(parseJson(json)) as Partial<HoldRow> & { v?: number };
  if (!isWholeNumber(v) || v > VERSION) throw new DocumentUnreadable(`a later release wrote it, in version ${v}`);
  const chain = alone(stored.account ?? 0);
  const checkpoint = stored.checkpoint && { ...NOT_IN_EARLIER_CHECKPOINTS, ...chain, ...stored.checkpoint };
  const { v: _, ...hold } = holdShape.read(
    { v: VERSION, ...NOT_IN_VERSION_0, ...chain, ...stored, ...(checkpoint && { checkpoint }) },
    '',
  );
  if (hold.openedAtMs <= 0) throw new DocumentUnreadable('openedAtMs is missing');
  if (hold.fromPlan > hold.amount) throw new DocumentUnreadable('fromPlan is more than amount');
  return hold;
}
