// The entry point for work on a data directory or database, whether its service runs or not. It leaves no process behind.

import { existsSync } from 'node:fs';
import { BrokenInvariant } from '../base/assert.ts';
import type { Diagnosis, Finding, Maintenance } from '../commands/commands.ts';
import type { Config } from '../config/config.ts';
import { type CheckReport, checkLedger } from '../ledger/ledger.ts';
import * as postgres from '../storage/postgres/postgres.ts';
import {
  databasePath,
  findUnreadableRows,
  readHoldsOfNodes,
  readStoredVersion,
  sumLedger,
} from '../storage/sqlite/sqlite.ts';
import { backUp } from './back-up.ts';
import { checkAccounts, checkCatalog, checkPayments } from './check-catalog.ts';
import { checkDatabase, checkSignIn, withLoss } from './check-database.ts';
import { checkDirectory } from './check-directory.ts';
import { checkSecret } from './check-secret.ts';
import { checkProcess, checkService } from './check-service.ts';
import { type Facts, type Findings, known } from './facts.ts';
import { gatherFacts } from './gather-facts.ts';
import { migrate } from './migrate.ts';
import { move, takeBack } from './move.ts';
import { findOverdueHolds } from './overdue-holds.ts';
import { restore } from './restore.ts';
import { forgetPreviousSecret, rotateSecret, secretStatus } from './secret.ts';

/** Each check is a function of the facts alone. */
const CHECKS: readonly ((facts: Facts) => Findings)[] = [
  checkDirectory,
  checkSecret,
  checkDatabase,
  checkSignIn,
  checkCatalog,
  checkPayments,
  checkAccounts,
  checkProcess,
  checkService,
];

/** The findings, errors first, and notes on what was not checked. */
export function diagnose(facts: Facts): Diagnosis {
  const findings = CHECKS.flatMap((check) => [...check(facts)]);
  const ofSeverity = (severity: Finding['severity']) => findings.filter((finding) => finding.severity === severity);
  const { postgres, dataDirectory } = facts;
  return {
    findings: [...ofSeverity('error'), ...ofSeverity('warning')],
    notes: notesOn(facts),
    place: postgres === null ? dataDirectory : `the database ${postgres.name}`,
  };
}

function notesOn({ database, postgres }: Facts): string[] {
  const notes: string[] = [];
  const { ledger = null, survey = null, fileFaults = null } = database ?? {};
  if (database !== null && ledger === null && known(survey) !== null && !fileFaults?.length)
    notes.push(
      `The database has ${(database.bytes / 1024 ** 3).toFixed(1)} GiB, so its ledger was not verified here: run "turnpike check", which takes longer.`,
    );
  if (postgres !== null && 'is' in postgres.server)
    notes.push(
      'The disks of the database server cannot be checked from here: run "df" there on its data directory and on pg_wal, and monitor them.',
    );
  const role = known(postgres?.tables)?.role;
  if (role?.owns === true)
    notes.push(
      `The role "${role.role}" owns the tables, so a node could drop the journal or its triggers. Nodes can run under a role with rights on rows only: docs/operating.md, "Roles of the database".`,
    );
  return notes;
}

/** For the commands, with the clock of this machine. */
export const maintenance: Maintenance = {
  backUp,
  restore: async (config, files) => restore(config, files),
  migrate,
  move,
  takeBack: async (config) => takeBack(config),
  diagnose: async (config, settingFaults, service) =>
    diagnose(await gatherFacts(config, settingFaults, service, Date.now())),
  secretStatus: async (config) => secretStatus(config, Date.now()),
  rotateSecret: async (config) => rotateSecret(config, Date.now()),
  forgetPreviousSecret: async (config) => forgetPreviousSecret(config, Date.now()),
};

/** Verifies the ledger from the stored rows. Throws for a database that is missing, damaged or of another version. */
export async function checkStore({ databaseUrl, dataDirectory }: Config): Promise<CheckReport> {
  return databaseUrl === null
    ? await checkFile(databasePath(dataDirectory), Date.now())
    : await checkServer(databaseUrl);
}

async function checkFile(path: string, nowMs: number): Promise<CheckReport> {
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  try {
    const { stored, known } = readStoredVersion(path);
    if (stored === known) {
      const report = withLoss(path, checkLedger(sumLedger(path)));
      return withFaults(report, [
        ...findOverdueHolds(readHoldsOfNodes(path), nowMs),
        ...(await findUnreadableRows(path)),
      ]);
    }
    throw new Error(otherVersion(stored, known));
  } catch (cause) {
    if (cause instanceof BrokenInvariant) throw cause;
    throw new Error(`the database ${path} cannot be checked: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
}

/** Tables of a later release that this one can use are verified as far as this release knows them. */
async function checkServer(url: string): Promise<CheckReport> {
  try {
    await postgres.refuseLending(url);
    const { stored, leastKnown, known } = await postgres.readTablesVersion(url);
    if (stored === 0)
      throw new Error(
        'it has no tables of this service: the first start of the service creates them, or "turnpike migrate"',
      );
    if (stored < known || leastKnown > known) throw new Error(otherVersion(stored, known));
    const report = checkLedger(await postgres.sumLedger(url));
    const ofNodes = await postgres.readHoldsOfNodes(url);
    return withFaults(report, [
      ...findOverdueHolds(ofNodes, ofNodes.nowMs),
      ...(await postgres.findUnreadableRows(url)),
    ]);
  } catch (cause) {
    if (cause instanceof BrokenInvariant) throw cause;
    const { words } = postgres.describeDatabaseFailure(cause, url);
    throw new Error(
      `the database ${postgres.nameDatabase(url)} (TURNPIKE_DATABASE_URL or --database) cannot be checked: ${words}`,
      { cause },
    );
  }
}

function withFaults(report: CheckReport, faults: readonly string[]): CheckReport {
  return faults.length === 0 ? report : { ...report, ok: false, faults: [...report.faults, ...faults] };
}

function otherVersion(stored: number, known: number): string {
  return `its tables have version ${stored}, this release uses version ${known}: ${stored > known ? 'use the release that wrote them' : 'start the service once to migrate them, or run "turnpike migrate"'}`;
}
