// Verifies the ledger from the stored rows, whichever database they are in, with its service running or not.

import { existsSync } from 'node:fs';
import { BrokenInvariant } from '../base/assert.ts';
import type { Config } from '../config.ts';
import { type CheckReport, checkLedger } from '../ledger/ledger.ts';
import * as postgres from '../storage/postgres/postgres.ts';
import { databasePath, readStoredVersion, sumLedger } from '../storage/sqlite/sqlite.ts';

/** Throws for a database that is not there, of another version or damaged: nothing is known of it then. */
export async function checkStore({ databaseUrl, dataDirectory }: Config): Promise<CheckReport> {
  return databaseUrl === null ? checkFile(databasePath(dataDirectory)) : await checkDatabase(databaseUrl);
}

function checkFile(path: string): CheckReport {
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  try {
    const { stored, known } = readStoredVersion(path);
    if (stored === known) return checkLedger(sumLedger(path));
    throw new Error(otherVersion(stored, known));
  } catch (cause) {
    if (cause instanceof BrokenInvariant) throw cause;
    throw new Error(`the database ${path} cannot be checked: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
}

/** Where a later release made tables that still serve this one, they are verified as far as this one knows them. */
async function checkDatabase(url: string): Promise<CheckReport> {
  try {
    const { stored, leastKnown, known } = await postgres.readTablesVersion(url);
    if (stored === 0) throw new Error('it has no tables of this service: the first start of the service makes them');
    if (stored < known || leastKnown > known) throw new Error(otherVersion(stored, known));
    return checkLedger(await postgres.sumLedger(url));
  } catch (cause) {
    if (cause instanceof BrokenInvariant) throw cause;
    const { words } = postgres.describeDatabaseFailure(cause, url);
    throw new Error(
      `the database ${postgres.nameDatabase(url)} (TURNPIKE_DATABASE_URL or --database) cannot be checked: ${words}`,
      { cause },
    );
  }
}

function otherVersion(stored: number, known: number): string {
  return `its tables are of version ${stored}, this program knows version ${known}: ${stored > known ? 'use the release that made them' : 'a start of the service brings them up'}`;
}
