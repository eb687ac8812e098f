// The diagnosis: every check over the facts, each a function of them alone.

import type { Diagnosis, Finding } from '../commands/commands.ts';
import { checkAccounts } from './check-accounts.ts';
import { checkCatalogue } from './check-catalogue.ts';
import { checkDatabase } from './check-database.ts';
import { checkDirectory } from './check-directory.ts';
import { checkProcess } from './check-process.ts';
import { checkSecret } from './check-secret.ts';
import { checkService } from './check-service.ts';
import type { Facts } from './facts.ts';

const CHECKS: readonly ((facts: Facts) => Finding[])[] = [
  checkDirectory,
  checkSecret,
  checkDatabase,
  checkCatalogue,
  checkAccounts,
  checkProcess,
  checkService,
];

/** What is wrong, errors first; and what was left out. */
export function diagnose(facts: Facts): Diagnosis {
  const findings = CHECKS.flatMap((check) => check(facts));
  const ofSeverity = (severity: Finding['severity']) => findings.filter((finding) => finding.severity === severity);
  return { findings: [...ofSeverity('error'), ...ofSeverity('warning')], notes: notesOn(facts) };
}

function notesOn({ database }: Facts): string[] {
  if (database === null || database.fileFaults !== null || 'failure' in database.version) return [];
  const gib = (database.bytes / 1024 ** 3).toFixed(1);
  return [
    `The database has ${gib} GiB: its file and ledger were not verified here. "turnpike check" does, and takes a while.`,
  ];
}
