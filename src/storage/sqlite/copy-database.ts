// Copies a database while a server may be writing to it: one consistent state, with what its log
// holds, and verifies what came of it.

import { closeSync, fsyncSync, openSync } from 'node:fs';
import type { CheckReport } from '../../ledger/ledger.ts';
import { migrations } from '../migrations/migrations.ts';
import { openForReading } from './open-database.ts';

/** What the thread of a backup is sent, and what it answers: once, when the copy is durable and verified, or could not be made. */
export interface ToBackup {
  path: string;
  target: string;
  /** Of who signs in; null where nobody ever has. Copied after the other: it has everybody whom that lets in. */
  signIn: { path: string; target: string } | null;
}
export type FromBackup = { copied: { check: CheckReport | null } } | { failed: string };

/** Which version of the tables a database has, and which this program knows. */
export interface StoredVersion {
  stored: number;
  known: number;
}

/**
 * Writes the database at `path` as of now into a new file at `target`, durable when it returns. The writer
 * goes on meanwhile; its log cannot be reused until this is done, and grows.
 */
export function copyDatabase(path: string, target: string): void {
  closeSync(openSync(target, 'wx', 0o600)); // SQLite takes an empty file, and would make it readable for others
  const database = openForReading(path);
  try {
    database.run('VACUUM INTO ?', [target]);
  } finally {
    database.close();
  }
  const file = openSync(target, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Throws for what is no database. */
export function readStoredVersion(path: string): StoredVersion {
  const database = openForReading(path);
  try {
    const { user_version } = database.query('PRAGMA user_version').get() as { user_version: number };
    return { stored: user_version, known: migrations.at(-1)?.version ?? 0 };
  } finally {
    database.close();
  }
}

const FAULTS_MAX = 20;

/** What is wrong with the file itself, page by page; empty when nothing is. It reads all of it. */
export function findFileFaults(path: string): string[] {
  const database = openForReading(path);
  try {
    const rows = database.query(`PRAGMA quick_check(${FAULTS_MAX})`).all() as { quick_check: string }[];
    return rows.map((row) => row.quick_check).filter((text) => text !== 'ok');
  } catch (failure) {
    return [failure instanceof Error ? failure.message : String(failure)];
  } finally {
    database.close();
  }
}
