// The newest records of several keys together. Each key gives its newest; those whose share stands on the page in whole are
// asked for twice as many more. So little more is read than one row of each key and what is shown.

import { bounds } from '../../config.ts';
import type { UsagePage } from '../../ledger/ledger.ts';
import type { UsageTable } from '../row-codec.ts';
import { inPage, type PageBounds } from './page-order.ts';
import type { Reader } from './read-pool.ts';
import { asNumbers, USAGE_COLUMNS } from './row-columns.ts';
import { monthOf } from './usage-months.ts';

/** Of a record in its key's list. */
interface Position {
  key_id: number;
  at_ms: number;
  seq: number;
}

type Question = { keys: readonly number[]; outcome: UsagePage['outcome']; within: PageBounds };

/** The records of one page of those keys together, newest first. */
export async function mergeKeys(reader: Reader, question: Question): Promise<UsageTable[]> {
  const [, atMs, seq, limit] = question.within;
  let asked: Position[] = question.keys.map((key) => ({ key_id: key, at_ms: atMs, seq }));
  let shown: Position[] = [];
  // It ends: who is asked again has all that it gave on the page, and gives twice as much.
  for (let share = Math.ceil(limit / asked.length); asked.length > 0; share *= 2) {
    const found = await findPositions(reader, asked, question, share);
    shown = [...shown, ...found].sort(newestFirst).slice(0, limit);
    const last = shown.length < limit ? null : (shown.at(-1) as Position);
    asked = lastOfFull(found, share).filter((position) => last === null || newestFirst(position, last) < 0);
  }
  return findRecords(reader, shown);
}

// $1 since when, $2 how many of each key, $3 and $4 the months, $5 to $7 the keys, each with the place after which its list
// goes on; $8 how the messages ended.
const positionsText = (narrowed: readonly (readonly [string, string])[], where: string) => `
  SELECT p.* FROM unnest($5::text::bigint[], $6::text::bigint[], $7::text::bigint[]) k (id, at_ms, seq)
  CROSS JOIN LATERAL (
    SELECT ${asNumbers('r', 'key_id', 'at_ms', 'seq')} FROM usage_records r
    WHERE r.month BETWEEN $3 AND $4 ${where}
      AND ${inPage(narrowed, { since: '$1', at: 'k.at_ms', seq: 'k.seq', limit: '$2' })}) p`;
const POSITIONS = positionsText([['key_id', 'k.id']], '');
const CUT_POSITIONS = positionsText(
  [
    ['key_id', 'k.id'],
    ['outcome', '$8'],
  ],
  "AND r.outcome <> 'completed'",
);

async function findPositions(
  reader: Reader,
  asked: readonly Position[],
  { outcome, within: [sinceMs, atMs] }: Question,
  share: number,
): Promise<Position[]> {
  const found: Position[] = [];
  for (let at = 0; at < asked.length; at += bounds.reportKeysAtOnce) {
    const some = asked.slice(at, at + bounds.reportKeysAtOnce);
    const columns = [some.map((one) => one.key_id), some.map((one) => one.at_ms), some.map((one) => one.seq)];
    const values = [sinceMs, share, monthOf(sinceMs), monthOf(atMs), ...columns.map(arrayOf)];
    found.push(
      ...(await (outcome === null
        ? reader.read<Position>(POSITIONS, ...values)
        : reader.read<Position>(CUT_POSITIONS, ...values, outcome))),
    );
  }
  return found;
}

/** The last position of each key that gave as many as were asked for: it may have more. */
function lastOfFull(found: readonly Position[], share: number): Position[] {
  const byKey = Map.groupBy(found, (position) => position.key_id);
  return [...byKey.values()].flatMap((positions) => {
    if (positions.length < share) return [];
    return positions.sort(newestFirst).slice(-1);
  });
}

// One look for each, by its place in the order of all: a look for all of them together may be made the other way round, record by
// record, with a plan of a time when a month was empty.
const RECORDS = `
  SELECT p.* FROM unnest($1::text::bigint[], $2::text::bigint[]) k (at_ms, seq)
  CROSS JOIN LATERAL (
    SELECT ${USAGE_COLUMNS} FROM usage_records r
    WHERE r.month BETWEEN $3 AND $4
      AND ROW(r.at_ms, r.seq) >= ROW(k.at_ms, k.seq) AND ROW(r.at_ms, r.seq) <= ROW(k.at_ms, k.seq)
    ORDER BY r.at_ms, r.seq LIMIT 1) p`;

async function findRecords(reader: Reader, positions: readonly Position[]): Promise<UsageTable[]> {
  const [newest, oldest] = [positions[0], positions.at(-1)];
  if (newest === undefined || oldest === undefined) return [];
  const places = [positions.map((one) => one.at_ms), positions.map((one) => one.seq)].map(arrayOf);
  const months = [monthOf(oldest.at_ms), monthOf(newest.at_ms)];
  const rows = await reader.read<UsageTable>(RECORDS, ...places, ...months);
  return rows.sort(newestFirst);
}

/** As PostgreSQL writes an array of numbers. */
function arrayOf(values: readonly number[]): string {
  return `{${values.join(',')}}`;
}

function newestFirst(one: Pick<Position, 'at_ms' | 'seq'>, other: Pick<Position, 'at_ms' | 'seq'>): number {
  return other.at_ms - one.at_ms || other.seq - one.seq;
}
