// The diagnosis: every check over the facts, each a function of them alone.

import type { Diagnosis, Finding } from '../commands/commands.ts';
import { checkAccounts } from './check-accounts.ts';
import { checkCatalogue } from './check-catalogue.ts';
import { checkDatabase } from './check-database.ts';
import { checkDirectory } from './check-directory.ts';
import { checkPostgres } from './check-postgres.ts';
import { checkProcess } from './check-process.ts';
import { checkSecret } from './check-secret.ts';
import { checkService } from './check-service.ts';
import { checkSignIn } from './check-sign-in.ts';
import type { DatabaseFacts, Facts, PostgresFacts } from './facts.ts';

const CHECKS: readonly ((facts: Facts) => Finding[])[] = [
  checkDirectory,
  checkSecret,
  checkPostgres,
  checkDatabase,
  checkSignIn,
  checkCatalogue,
  checkAccounts,
  checkProcess,
  checkService,
];

/** What is wrong, errors first; and what was left out. */
export function diagnose(facts: Facts): Diagnosis {
  const findings = CHECKS.flatMap((check) => check(facts));
  const ofSeverity = (severity: Finding['severity']) => findings.filter((finding) => finding.severity === severity);
  const { postgres, dataDirectory } = facts;
  return {
    findings: [...ofSeverity('error'), ...ofSeverity('warning')],
    notes: notesOn(facts),
    place: postgres === null ? dataDirectory : `the database ${postgres.name}`,
  };
}

function notesOn({ database, postgres }: Facts): string[] {
  return [...(database === null ? [] : notesOnSize(database)), ...(postgres === null ? [] : notesOnServer(postgres))];
}

function notesOnSize({ bytes, fileFaults, ledger, survey }: DatabaseFacts): string[] {
  if (ledger !== null || survey === null || 'failure' in survey || (fileFaults ?? []).length > 0) return [];
  const gib = (bytes / 1024 ** 3).toFixed(1);
  return [`The database has ${gib} GiB: it was not verified here. "turnpike check" does, and takes a while.`];
}

/** What no connection to a server tells. */
function notesOnServer({ server, activity }: PostgresFacts): string[] {
  if ('failure' in server) return [];
  const standbys = activity !== null && 'is' in activity ? activity.is.standbys.all : 0;
  const disk =
    'How full the disks of the database server are cannot be seen from here: look there ("df" on its data directory and on pg_wal), and let something watch it.';
  if (standbys === 0 || server.is.settings['synchronous_standby_names']) return [disk];
  return [
    disk,
    'Commits wait for no standby (synchronous_standby_names is empty): where one takes over, the last of what was told may be lost.',
  ];
}
