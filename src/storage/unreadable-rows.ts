// Finds stored values that this program cannot read: each row on its own, so that one never hides another.

import { parseWholeNumber } from '../base/checked-number.ts';
import { formatId, type IdKind } from '../base/ids.ts';

/** A column with a document, and its reader. */
export interface StoredColumn {
  table: string;
  /** An SQL expression that identifies the row. */
  key: string;
  column: string;
  /** The rows that have it, as an SQL condition; null: all whose column has a value. */
  where: string | null;
  /** Throws an error that says why the text cannot be read. */
  read(text: string): unknown;
}

export interface StoredText {
  key: string;
  stored: string;
}

/** Rows of a statement, in pieces. */
export type ReadPieces = (text: string) => AsyncIterable<StoredText[]> | Iterable<StoredText[]>;

/** The most that are named of one column. */
export const UNREADABLE_MAX = 100;

/** SQLSTATE of a wait for a lock, and of a statement that takes too long: they say nothing about the rows. */
const TIMED_OUT = ['55P03', '57014'];

/** A sentence for each value that cannot be read. Never throws for what is stored, only if a table cannot be read in time. */
export async function findUnreadable(columns: readonly StoredColumn[], readPieces: ReadPieces): Promise<string[]> {
  const faults: string[] = [];
  for (const column of columns) faults.push(...(await findIn(column, readPieces)));
  return faults;
}

async function findIn(of: StoredColumn, readPieces: ReadPieces): Promise<string[]> {
  const { table, key, column, where } = of;
  const faults: string[] = [];
  const condition = where === null ? '' : ` AND ${where}`;
  try {
    const text = `SELECT CAST(${key} AS text) AS key, ${column} AS stored FROM ${table} WHERE ${column} IS NOT NULL${condition}`;
    for await (const piece of readPieces(text)) {
      for (const row of piece) {
        const reason = faults.length < UNREADABLE_MAX ? reasonOf(of, row) : null;
        if (reason !== null)
          faults.push(`${table} ${nameOf(table, row.key)}: its ${column} cannot be read, because ${reason}`);
      }
      if (faults.length >= UNREADABLE_MAX) return [...faults, `${table}: more of its rows cannot be read`];
    }
  } catch (failure) {
    if (TIMED_OUT.includes(String((failure as { errno?: unknown }).errno))) throw failure;
    faults.push(`${table}: its rows cannot be read (${messageOf(failure)})`); // a damaged page
  }
  return faults;
}

function reasonOf({ read }: StoredColumn, { stored }: StoredText): string | null {
  try {
    read(stored);
    return null;
  } catch (failure) {
    return messageOf(failure);
  }
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

const KINDS: Readonly<Record<string, IdKind>> = {
  accounts: 'acct',
  agent_grants: 'agent',
  account_meters: 'acct',
  billing: 'acct',
  code_batches: 'batch',
  deliveries: 'dlv',
  destinations: 'dest',
  directory_groups: 'dgrp',
  events: 'evt',
  exports: 'exp',
  keys: 'key',
  key_meters: 'key',
  person_meters: 'person',
  people: 'person',
  scim_users: 'scimuser',
  scim_groups: 'scimgroup',
  payments: 'pay',
  tokens: 'tok',
};

/** The id that operators see, where there is one. */
function nameOf(table: string, key: string): string {
  const kind = KINDS[table];
  const number = parseWholeNumber(key);
  return kind === undefined || number === null ? key : formatId(kind, number);
}
