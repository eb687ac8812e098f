// Lists and searches of usage records, newest first, each by the index of its scope.

import { integerOf } from '../base/checked-number.ts';
import { nextTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type StoredUsageRecord, systemAccounts } from '../ledger/ledger.ts';
import type { ChargedMessage, UsagePage, UsageStore } from '../reports/reports.ts';
import { isOfActor, keysOfActor } from './keys-of-actor.ts';
import {
  Bindings,
  comparePositions,
  type IndexRange,
  numbers,
  type Position,
  type PositionRow,
  pageStarts,
  type SqlReader,
} from './sql-reader.ts';
import { changeOf, OF_MESSAGE_LATER, readText, readUsageRecord, type UsageTable, usageColumns } from './tables.ts';

/** The records that a query covers. */
export type UsageScope =
  | { of: 'all' }
  | { of: 'accounts'; accounts: readonly number[] }
  | { of: 'keys'; keys: readonly number[] };

/** The owner of the records that one index finds; null for all records. */
export type ScopeOwner = { column: 'account_id' | 'key_id'; id: number } | null;
export type UsageOwner = ScopeOwner | { column: 'session'; id: string };

/** The owners of a scope, each with different records. */
export function ownersOf(scope: UsageScope): ScopeOwner[] {
  if (scope.of === 'all') return [null];
  return scope.of === 'accounts'
    ? scope.accounts.map((id) => ({ column: 'account_id', id }))
    : scope.keys.map((id) => ({ column: 'key_id', id }));
}

export interface ScopeFilter {
  account: number | null;
  below?: boolean;
  key: number | null;
  madeBy: string | null;
}

/** Finds the scope of a query. It has no keys if the filters contradict each other. */
export function usageScopes(on: SqlReader): (filter: ScopeFilter) => Promise<UsageScope> {
  const findKey = on.prepare<{ account_id: number; person_id: number | null; made_by: string | null }>(
    `SELECT ${numbers(on, 'account_id', 'person_id')}, r.made_by FROM keys r WHERE r.id = $1`,
  );
  const findBelow = on.prepare<{ id: number }>(
    `WITH RECURSIVE ${BELOW} SELECT ${on.number('b.id')} AS id FROM below b LIMIT $2`,
  );
  return async ({ account, below = false, key, madeBy }) => {
    const accounts = account === null ? null : [account];
    if (accounts !== null && below) accounts.push(...(await listBelow(findBelow, accounts[0] as number)));
    const isAmong = (id: number) => accounts === null || accounts.includes(id);
    if (key !== null) {
      const [found] = await findKey(key);
      const matches = found !== undefined && isAmong(found.account_id) && (madeBy === null || isOfActor(found, madeBy));
      return { of: 'keys', keys: matches ? [key] : [] };
    }
    if (madeBy === null) return accounts === null ? { of: 'all' } : { of: 'accounts', accounts };
    const keys = await listKeysOf(on, madeBy);
    return {
      of: 'keys',
      keys: keys.filter((one) => isAmong(one.account_id)).map(({ id }) => id),
    };
  };
}

/** The ids of the accounts below $1, on every level, by the index of the accounts of a parent. SQLite keeps the order of a CROSS JOIN. */
export const BELOW = `below (id, level) AS (
  SELECT a.id, 1 FROM accounts a WHERE a.parent_id = $1
  UNION ALL
  SELECT a.id, b.level + 1 FROM below b CROSS JOIN accounts a WHERE a.parent_id = b.id AND b.level < ${bounds.accountChainMax})`;

/** Throws invalid_request if there are too many to add up: a sum without some of them would be wrong. */
async function listBelow(
  find: (account: number, limit: number) => Promise<{ id: number }[]>,
  account: number,
): Promise<number[]> {
  const found = await find(account, bounds.accountsBelowReadMax + 1);
  if (found.length <= bounds.accountsBelowReadMax) return found.map(({ id }) => id);
  const words = `There are more than ${bounds.accountsBelowReadMax} accounts below this one: request one of them (account).`;
  throw new TurnpikeError('invalid_request', words);
}

async function listKeysOf(on: SqlReader, madeBy: string): Promise<{ id: number; account_id: number }[]> {
  const bindings = new Bindings();
  const { column, index, value, where } = keysOfActor(madeBy);
  const range = on.range(
    {
      table: 'keys',
      index,
      equal: [[column, bindings.add(value)]],
      order: ['created_at_ms', 'id'],
      direction: 'ASC',
      after: [],
      upTo: [],
      where,
    },
    bindings,
  );
  const text = `SELECT ${numbers(on, 'id', 'account_id')} ${range} LIMIT ${bindings.add(bounds.reportKeysMax + 1)}`;
  const keys = await on.read<{ id: number; account_id: number }>(text, ...bindings.values);
  if (keys.length <= bounds.reportKeysMax) return keys;
  throw new TurnpikeError(
    'invalid_request',
    `You have more than ${bounds.reportKeysMax} keys: request the usage of one of them (key).`,
  );
}

/** The records of one index: all of an owner, or those with an outcome other than completed. */
export interface UsageSource {
  owner: UsageOwner;
  outcome: UsagePage['outcome'];
}

/** Records of one source, from the newest, or from the oldest with `untilMs`. */
export interface UsageRange extends UsageSource {
  sinceMs: number;
  untilMs?: number;
  start: Position;
  /** The last position; by default the last record until `sinceMs` or `untilMs`. */
  end?: Position | null;
  where?: readonly string[];
}

/** The clauses of a range of usage records `r`. */
export function usageRange(on: SqlReader, bindings: Bindings, range: UsageRange): string {
  const { owner, outcome, sinceMs, untilMs, start, end = null, where = [] } = range;
  const [lastMs] = end ?? [untilMs ?? sinceMs];
  return recordsBetween(on, bindings, {
    owner: owner === null ? null : [owner.column, bindings.add(owner.id)],
    outcome,
    direction: untilMs === undefined ? 'DESC' : 'ASC',
    after: start.map((value) => bindings.add(value)),
    upTo: (end ?? [lastMs]).map((value) => bindings.add(value)),
    times: [Math.min(lastMs, start[0]), Math.max(lastMs, start[0])],
    where,
  });
}

interface BoundRange extends Pick<IndexRange, 'after' | 'upTo' | 'times' | 'where'> {
  owner: readonly [column: 'account_id' | 'key_id' | 'session', id: string] | null;
  outcome: UsagePage['outcome'];
  /** By default from the newest. */
  direction?: IndexRange['direction'];
}

/** The same, with the owner and the positions as expressions. */
export function recordsBetween(
  on: SqlReader,
  bindings: Bindings,
  { owner, outcome, direction = 'DESC', where = [], ...range }: BoundRange,
): string {
  const suffix = owner === null ? '' : `_of_${owner[0].replace('_id', '')}`;
  const index = outcome === null ? `usage${suffix || '_in_order'}` : `cut_usage${suffix}`;
  const equal = owner === null ? [] : [owner];
  const order = ['at_ms', 'seq'];
  const ofIndex = owner?.[0] === 'session' ? ['r.session IS NOT NULL', ...where] : where;
  const records = { ...range, table: 'usage_records', index, order, direction } as const;
  if (outcome === null) return on.range({ ...records, equal, where: ofIndex }, bindings);
  const isOutcome = ['outcome', bindings.add(outcome)] as const;
  return on.range(
    { ...records, equal: [...equal, isOutcome], where: ["r.outcome <> 'completed'", ...where] },
    bindings,
  );
}

/** The columns of a UsageTable. */
export function usageColumnsOn(on: SqlReader): string {
  return `${numbers(on, 'seq')}, ${readText('r', usageColumns, on.number)}`;
}

export function usageLists(on: SqlReader): Pick<UsageStore, 'listUsage' | 'listCharged'> {
  const scopeOf = usageScopes(on);
  const startOf = pageStarts(on, 'usage_records');
  return {
    async listUsage(page) {
      const scope = await scopeOf(page);
      const start = await startOf(page);
      const [owner, ...more] = ownersOf(scope);
      if (owner === undefined) return [];
      if (more.length > 0) return readInPieces(await mergeOwners(on, [owner, ...more], page, start));
      const { outcome, limit } = page;
      const range: UsageRange = { owner, outcome, sinceMs: page.sinceMs ?? 0, start };
      return readInPieces(await listRange(on, range, limit));
    },
    async listCharged({ account, before, sinceMs, untilMs, limit }) {
      const bindings = new Bindings();
      const start = await startOf({ before, sinceMs, untilMs });
      const owner = { column: 'account_id', id: account } as const;
      const rows = usageRange(on, bindings, { owner, outcome: null, sinceMs, start });
      const columns = `${usageColumnsOn(on)}, (${GIVEN_BACK}) AS given_back`;
      const text = `SELECT ${columns} ${rows} LIMIT ${bindings.add(limit)}`;
      return inPieces(await on.read<ChargedTable>(text, ...bindings.values), readCharged);
    },
  };
}

type ChargedTable = UsageTable & { given_back: string | null };

/** Amounts that balance, plan and write-offs got back for the message `r` since its end; NULL if nothing was. */
const GIVEN_BACK = `SELECT ${['account_id', systemAccounts.plans, systemAccounts.writeOffs]
  .map((party) => `SUM(${changeOf(party)})`)
  .join(" || ' ' || ")}
  FROM entries WHERE reference = r.request_id AND ${OF_MESSAGE_LATER} GROUP BY reference`;

/** A record has its present amounts: what was given back since had been paid at the end. */
function readCharged({ given_back: givenBack, ...row }: ChargedTable): ChargedMessage {
  const { rates: _rates, attempts: _attempts, meters: _meters, error: _error, ...record } = readUsageRecord(row);
  const { seq, atMs, cost, planPaid, writtenOff } = record;
  const [balance = 0, plan = 0, writeOffs = 0] = givenBack === null ? [] : givenBack.split(' ').map(integerOf);
  return {
    seq,
    atMs,
    record,
    balancePaid: cost - writtenOff - planPaid + balance,
    planPaid: planPaid + plan,
    writtenOff: writtenOff + writeOffs,
  };
}

function listRange(on: SqlReader, range: UsageRange, limit: number): Promise<UsageTable[]> {
  const bindings = new Bindings();
  const rows = usageRange(on, bindings, range);
  return on.read(`SELECT ${usageColumnsOn(on)} ${rows} LIMIT ${bindings.add(limit)}`, ...bindings.values);
}

export function readInPieces(rows: readonly UsageTable[]): Promise<StoredUsageRecord[]> {
  return inPieces(rows, readUsageRecord);
}

/** With pauses: there may be many rows, and messages wait for this thread. */
async function inPieces<Row, Value>(rows: readonly Row[], read: (row: Row) => Value): Promise<Value[]> {
  const values: Value[] = [];
  for (let at = 0; at < rows.length; at += bounds.rowsAtOnce) {
    if (at > 0) await nextTurn();
    values.push(...rows.slice(at, at + bounds.rowsAtOnce).map(read));
  }
  return values;
}

/** The position of a record in the list of its owner. */
interface OwnedPosition extends PositionRow {
  owner_id: number;
}

/** The records of one page of several keys, or accounts, together. */
async function mergeOwners(
  on: SqlReader,
  owners: readonly UsageOwner[],
  page: UsagePage,
  [atMs, seq]: Position,
): Promise<UsageTable[]> {
  const { limit } = page;
  const column = owners[0]?.column ?? 'key_id';
  let asked: OwnedPosition[] = owners.map((owner) => ({
    owner_id: typeof owner?.id === 'number' ? owner.id : 0, // several owners are keys or accounts, never sessions
    at_ms: atMs,
    seq,
  }));
  let shown: OwnedPosition[] = [];
  // The loop ends: an owner is queried again only if all its rows are on the page, with twice the limit.
  for (let share = Math.ceil(limit / asked.length); asked.length > 0; share *= 2) {
    const found = await findPositions(on, column, asked, page, share);
    shown = [...shown, ...found].sort(compareRows).slice(0, limit);
    const last = shown.length < limit ? null : (shown.at(-1) as OwnedPosition);
    asked = lastOfFull(found, share).filter((position) => last === null || compareRows(position, last) < 0);
  }
  return readPositions(on, shown);
}

/** The next positions of each owner after the given one. */
async function findPositions(
  on: SqlReader,
  column: NonNullable<UsageOwner>['column'],
  asked: readonly OwnedPosition[],
  { outcome, sinceMs }: UsagePage,
  share: number,
): Promise<OwnedPosition[]> {
  const latestMs = Math.max(...asked.map((one) => one.at_ms));
  const found: OwnedPosition[] = [];
  for (let at = 0; at < asked.length; at += bounds.reportKeysAtOnce) {
    const some = asked.slice(at, at + bounds.reportKeysAtOnce).map((one) => [one.owner_id, one.at_ms, one.seq]);
    const rows = await on.readEach<OwnedPosition>(some, ([id = '', ...after], bindings) => {
      const upTo = [bindings.add(sinceMs ?? 0)];
      const times = [sinceMs ?? 0, latestMs] as const;
      const range = recordsBetween(on, bindings, { owner: [column, id], outcome, after, upTo, times });
      return `SELECT ${on.number(`r.${column}`)} AS owner_id, ${numbers(on, 'at_ms', 'seq')} ${range} LIMIT ${bindings.add(share)}`;
    });
    found.push(...rows);
  }
  return found;
}

/** The last position of each owner that returned a full share and may have more rows. */
function lastOfFull(found: readonly OwnedPosition[], share: number): OwnedPosition[] {
  const byOwner = Map.groupBy(found, (position) => position.owner_id);
  return [...byOwner.values()].flatMap((positions) =>
    positions.length < share ? [] : positions.sort(compareRows).slice(-1),
  );
}

/** Each record is looked up by its position in the order of all records, in its month. Newest first. */
export async function readPositions(on: SqlReader, positions: readonly PositionRow[]): Promise<UsageTable[]> {
  if (positions.length === 0) return [];
  const times = [Math.min, Math.max].map((of) => of(...positions.map((one) => one.at_ms))) as [number, number];
  const rows = await on.readEach<UsageTable>(
    positions.map((one) => [one.at_ms, one.seq]),
    ([atMs = '', seq = ''], bindings) => {
      const after = [atMs, `${seq} + 1`];
      const range = recordsBetween(on, bindings, { owner: null, outcome: null, after, upTo: [atMs, seq], times });
      return `SELECT ${usageColumnsOn(on)} ${range} LIMIT 1`;
    },
  );
  return rows.sort(compareRows);
}

function compareRows(one: PositionRow, other: PositionRow): number {
  return comparePositions([one.at_ms, one.seq], [other.at_ms, other.seq]);
}

/** The position of the record that is this many records after the start; null if there are fewer. */
export async function findEnd(on: SqlReader, range: UsageRange, records: number): Promise<Position | null> {
  const bindings = new Bindings();
  const rows = usageRange(on, bindings, range);
  const text = `SELECT ${numbers(on, 'at_ms', 'seq')} ${rows} LIMIT 1 OFFSET ${bindings.add(records - 1)}`;
  const [last] = await on.read<PositionRow>(text, ...bindings.values);
  return last === undefined ? null : [last.at_ms, last.seq];
}

/**
 * The nearest of the ends of these sources' shares of `records`; null if none has that many. Found before the records are read, so
 * that records that arrive meanwhile are neither missed nor read twice.
 */
export async function nearestEnd(
  on: SqlReader,
  sources: readonly UsageSource[],
  range: Omit<UsageRange, keyof UsageSource>,
  records: number,
): Promise<Position | null> {
  const share = Math.max(bounds.recordsOfKeyLeast, Math.ceil(records / sources.length));
  let nearest: Position | null = null;
  for (const source of sources) {
    const end = await findEnd(on, { ...range, ...source }, share);
    if (end === null) continue;
    const isNearer = nearest === null || comparePositions(end, nearest) < 0 === (range.untilMs === undefined);
    if (isNearer) nearest = end;
  }
  return nearest;
}
