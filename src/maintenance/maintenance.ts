// The root of what works on a data directory by itself, with or without its server: puts stores
// together with what reads them, and leaves no process behind.

import { existsSync } from 'node:fs';
import type { Maintenance } from '../commands/commands.ts';
import type { Config } from '../config.ts';
import { type CheckReport, checkLedger } from '../ledger/ledger.ts';
import { databasePath, sumLedger } from '../storage/sqlite/sqlite.ts';
import { backUp } from './back-up.ts';
import { forgetPreviousSecret, rotateSecret, secretStatus } from './change-secret.ts';
import { diagnose } from './diagnose.ts';
import { gatherFacts } from './gather-facts.ts';

/** Verifies the ledger's invariants from the stored rows, whether a server runs on them or not. */
export async function checkStore(config: Config): Promise<CheckReport> {
  const path = databasePath(config.dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  return checkLedger(sumLedger(path));
}

/** What the commands ask for, on the clock of this machine. */
export const maintenance: Maintenance = {
  backUp,
  diagnose: async (config, settingFaults, service) => diagnose(gatherFacts(config, settingFaults, service, Date.now())),
  secretStatus: async (config) => secretStatus(config, Date.now()),
  rotateSecret: async (config, isForced) => rotateSecret(config, isForced, Date.now()),
  forgetPreviousSecret: async (config, isForced) => forgetPreviousSecret(config, isForced, Date.now()),
};
