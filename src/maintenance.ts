// The root of what works on a data directory by itself, with or without its server: puts stores
// together with what reads them, and leaves no process behind.

import { existsSync } from 'node:fs';
import type { Config } from './config.ts';
import { type CheckReport, checkLedger } from './ledger/ledger.ts';
import { databasePath, sumLedger } from './storage/sqlite/sqlite.ts';

/** Verifies the ledger's invariants from the stored rows, whether a server runs on them or not. */
export async function checkStore(config: Config): Promise<CheckReport> {
  const path = databasePath(config.dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  return checkLedger(sumLedger(path));
}
