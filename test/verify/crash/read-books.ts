// Reads the service's books over its admin API, each row once.

import { parseUsd } from '../../../src/base/money.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

export interface UsageRow {
  request_id: string;
  model: string;
  outcome: string;
  status: number;
  usage_source: string;
  input_tokens: number;
  output_tokens: number;
  cost: string;
  written_off: string;
}

export interface EntryRow {
  seq: number;
  kind: string;
  change: string;
  reference: string | null;
}

export interface AccountRow {
  balance: string;
  held: string;
}

/** All rows of one data directory so far. */
export interface Books {
  /** By request id. */
  records: Map<string, UsageRow>;
  /** By account, then by number. */
  entries: Map<string, Map<number, EntryRow>>;
  /** Current values. */
  accounts: Map<string, AccountRow>;
}

export function emptyBooks(accounts: readonly string[]): Books {
  return {
    records: new Map(),
    entries: new Map(accounts.map((account) => [account, new Map()])),
    accounts: new Map(),
  };
}

const CLOCK_SLACK_MS = 1_000;

/** Reads new rows, and returns the ids of new records. */
export async function readBooks(turnpike: Turnpike, books: Books, sinceMs: number): Promise<string[]> {
  const since = new Date(sinceMs - CLOCK_SLACK_MS).toISOString();
  const fresh: string[] = [];
  for (const record of await readAll<UsageRow>(turnpike, `/usage?since=${since}`)) {
    if (!books.records.has(record.request_id)) fresh.push(record.request_id);
    books.records.set(record.request_id, record);
  }
  for (const [account, entries] of books.entries) {
    for (const entry of await readAll<EntryRow>(turnpike, `/accounts/${account}/entries?since=${since}`))
      entries.set(entry.seq, entry);
    books.accounts.set(account, (await turnpike.admin('GET', `/accounts/${account}`)) as unknown as AccountRow);
  }
  return fresh;
}

/** Converts an amount of the admin API to nanodollars. */
export function nano(amount: string): number {
  return parseUsd(amount) as number;
}

async function readAll<Row>(turnpike: Turnpike, path: string): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: unknown = null;
  do {
    const page = await turnpike.admin('GET', `${path}&limit=1000${cursor === null ? '' : `&cursor=${cursor}`}`);
    rows.push(...(page['data'] as Row[]));
    cursor = page['next_cursor'];
  } while (cursor !== null);
  return rows;
}
