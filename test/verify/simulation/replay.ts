// Repeats the commits of an in-memory run on another store: batch by batch, by the same processes at the same times.
// Each batch must give the same answers and changes, and all of them the same rows.

import { isDeepStrictEqual } from 'node:util';
import { type Bundle, type Changes, checkLedger, type LedgerSums } from '../../../src/ledger/ledger.ts';
import type { Decided } from './postgres-nodes.ts';
import type { Process } from './scheduler.ts';
import type { Recording } from './simulate.ts';
import { memoryRows, type StoredRows } from './stored-rows.ts';

/** A store that is asked the same once more, by as many nodes as it has. */
export interface Follower {
  readonly nodes: number;
  clear(): Promise<void> | void;
  /** Another process is this node from now on. */
  crash(node: number): Promise<void> | void;
  ask(node: number, bundles: readonly Bundle[], nowMs: number): Promise<Decided> | Decided;
  rows(): Promise<StoredRows> | StoredRows;
  sums(): Promise<LedgerSums> | LedgerSums;
}

/** Null, or where the store is not as memory was. */
export async function replay({ commits, tables }: Recording, follower: Follower): Promise<string | null> {
  const nodeOf = assignNodes(follower);
  await follower.clear();
  for (const [index, { process, nowMs, bundles, answers, changes }] of commits.entries()) {
    const decided = await follower.ask(await nodeOf(process), bundles, nowMs);
    const unlike = findUnlike({ answers, changes }, decided);
    if (unlike !== null) return `batch ${index} at ${nowMs}: ${unlike}\n${JSON.stringify(bundles)}`;
  }
  const rows = findUnlikeRows(memoryRows(tables), await follower.rows());
  if (rows !== null) return `in the end: ${rows}`;
  const { faults } = checkLedger(await follower.sums());
  return faults.length === 0 ? null : `in the end: ${faults.join('; ')}`;
}

/** Each process is a node of its own; where there are fewer nodes, it takes the place of an earlier one, which has died then. */
function assignNodes(follower: Follower): (process: Process) => Promise<number> {
  const places = new Map<Process, number>();
  return async (process) => {
    const known = places.get(process);
    if (known !== undefined) return known;
    const place = places.size % follower.nodes;
    if (places.size >= follower.nodes) await follower.crash(place);
    places.set(process, place);
    return place;
  };
}

/** In words, with both; null where they are the same. */
export function findUnlike(one: Decided, other: Decided): string | null {
  if (!isDeepStrictEqual(one.answers, other.answers)) return describe('the answers', one.answers, other.answers);
  for (const name of Object.keys(one.changes) as (keyof Changes)[])
    if (!isDeepStrictEqual(one.changes[name], other.changes[name]))
      return describe(`the changed ${name}`, one.changes[name], other.changes[name]);
  return null;
}

export function findUnlikeRows(one: StoredRows, other: StoredRows): string | null {
  for (const name of Object.keys(one) as (keyof StoredRows)[]) {
    const [mine, theirs] = [one[name], other[name]];
    const at = mine.findIndex((row, place) => !isDeepStrictEqual(row, theirs[place]));
    if (at >= 0) return describe(`row ${at} of ${name}`, mine[at], theirs[at]);
    if (mine.length !== theirs.length) return describe(`the number of ${name}`, mine.length, theirs.length);
  }
  return null;
}

function describe(what: string, one: unknown, other: unknown): string {
  return `${what} in memory: ${print(one)}, in the store: ${print(other)}`;
}

function print(value: unknown): string {
  return JSON.stringify(value, (_, part) => (part instanceof Map ? [...part] : part));
}
