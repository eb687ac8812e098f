// The root of what works on a data directory by itself, with or without its server: puts stores
// together with what reads them, and leaves no process behind.

import { existsSync } from 'node:fs';
import { BrokenInvariant } from '../base/assert.ts';
import type { Maintenance } from '../commands/commands.ts';
import type { Config } from '../config.ts';
import { type CheckReport, checkLedger } from '../ledger/ledger.ts';
import { databasePath, readStoredVersion, sumLedger } from '../storage/sqlite/sqlite.ts';
import { backUp } from './back-up.ts';
import { forgetPreviousSecret, rotateSecret, secretStatus } from './change-secret.ts';
import { diagnose } from './diagnose.ts';
import { gatherFacts } from './gather-facts.ts';

/**
 * Verifies the ledger's invariants from the stored rows, whether a server runs on them or not. Throws
 * for a database that is not there, of another version or damaged: nothing is known of it then.
 */
export async function checkStore(config: Config): Promise<CheckReport> {
  const path = databasePath(config.dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  try {
    const { stored, known } = readStoredVersion(path);
    if (stored === known) return checkLedger(sumLedger(path));
    throw new Error(
      `its tables are of version ${stored}, this program knows version ${known}: ${stored > known ? 'use the release that made them' : 'a start of the service brings them up'}`,
    );
  } catch (cause) {
    if (cause instanceof BrokenInvariant) throw cause;
    throw new Error(`the database ${path} cannot be checked: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
}

/** What the commands ask for, on the clock of this machine. */
export const maintenance: Maintenance = {
  backUp,
  diagnose: async (config, settingFaults, service) => diagnose(gatherFacts(config, settingFaults, service, Date.now())),
  secretStatus: async (config) => secretStatus(config, Date.now()),
  rotateSecret: async (config, isForced) => rotateSecret(config, isForced, Date.now()),
  forgetPreviousSecret: async (config, isForced) => forgetPreviousSecret(config, isForced, Date.now()),
};
