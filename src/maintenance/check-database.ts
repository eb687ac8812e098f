// The database and the ledger in it: there, ours, of this version, whole, balanced, and not of the future.

import type { Finding } from '../commands/commands.ts';
import { bounds } from '../config.ts';
import type { DatabaseFacts, Facts } from './facts.ts';

const RESTORE = 'Restore the last backup (docs/operating.md, "Backup and restore").';

export function checkDatabase(facts: Facts): Finding[] {
  const { database, directory, dataDirectory, postgres, isStoreKnown } = facts;
  if (postgres !== null) return database === null ? [] : [...checkBooks(database), ...checkClock(facts)];
  if (directory === null || !isStoreKnown) return [];
  if (database === null)
    return [
      {
        severity: 'error',
        code: 'database_missing',
        subject: `directory ${dataDirectory}`,
        message: 'There is no turnpike.db in it: no service was ever started here, or its database is gone.',
        remedy: `Name the right directory with --data, or start the service to begin anew. If it is gone: ${RESTORE}`,
      },
    ];
  return [...checkVersion(database), ...checkFile(database), ...checkBooks(database), ...checkClock(facts)];
}

function checkVersion({ version, survey, subject }: DatabaseFacts): Finding[] {
  const failure =
    'failure' in version ? version.failure : survey !== null && 'failure' in survey ? survey.failure : null;
  if (failure !== null)
    return [
      {
        severity: 'error',
        code: 'database_unreadable',
        subject,
        message: `It cannot be read as a database of this service (${failure}): the service does not start on it.`,
        remedy: `See that its user may read the file. If it is damaged: ${RESTORE}`,
      },
    ];
  if ('failure' in version || version.is.stored === version.is.known) return [];
  const { stored, known } = version.is;
  if (stored > known)
    return [
      {
        severity: 'error',
        code: 'database_of_later_version',
        subject,
        message: `Its tables are of version ${stored}, this program knows versions up to ${known}: it will not open them.`,
        remedy: 'Run the release that made them, or a later one; or restore a backup from before the upgrade.',
      },
    ];
  return [
    {
      severity: 'warning',
      code: 'database_of_earlier_version',
      subject,
      message: `Its tables are of version ${stored}; this program brings them to version ${known} at its next start. What is in them was not looked at.`,
      remedy: 'Take a backup, then start this release.',
    },
  ];
}

function checkFile({ fileFaults, subject }: DatabaseFacts): Finding[] {
  if (fileFaults === null || fileFaults.length === 0) return [];
  return [
    {
      severity: 'error',
      code: 'database_broken',
      subject,
      message: `The file is damaged (${fileFaults.slice(0, 3).join('; ')}): what it says is not to be relied on.`,
      remedy: `Stop the service, keep a copy of the directory, look at the disk. ${RESTORE}`,
    },
  ];
}

function checkBooks({ ledger, subject }: DatabaseFacts): Finding[] {
  if (ledger === null) return [];
  const faults = 'failure' in ledger ? [ledger.failure] : ledger.is.faults;
  if (faults.length === 0) return [];
  const more = faults.length > 3 ? ` (and ${faults.length - 3} more: "turnpike check")` : '';
  return [
    {
      severity: 'error',
      code: 'ledger_out_of_balance',
      subject,
      message: `An invariant of the ledger does not hold: ${faults.slice(0, 3).join('; ')}${more}. Some balance or bill is wrong.`,
      remedy:
        'Keep a backup of this state and report it: this is a fault of the service, or someone changed what is stored.',
    },
  ];
}

/** In PostgreSQL times are the database's. */
function checkClock({ database, postgres, nowMs: nowHereMs }: Facts): Finding[] {
  const nowMs = postgres !== null && 'is' in postgres.server ? postgres.server.is.nowMs : nowHereMs;
  const newestAtMs = database?.survey != null && 'is' in database.survey ? database.survey.is.newestAtMs : null;
  if (newestAtMs === null || nowMs >= newestAtMs - bounds.clockBehindMsMax) return [];
  return [
    {
      severity: 'error',
      code: 'clock_behind',
      subject: 'clock',
      message: `The clock of ${postgres === null ? 'this machine' : 'the database'} says ${instant(nowMs)}, and the newest record is of ${instant(newestAtMs)}: limits, periods and expiries go by the clock.`,
      remedy: 'Set the clock (NTP). If the newest record is of the future, a clock was ahead when it was made.',
    },
  ];
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString();
}
