// Checks the database, SQLite or PostgreSQL: reachable, of this version, complete, undamaged, its ledger balanced, and not
// ahead of the clock.

import type { Finding } from '../commands/commands.ts';
import { bounds } from '../config/config.ts';
import type { CheckReport } from '../ledger/ledger.ts';
import {
  type DatabaseFailure,
  describeMissing,
  listed,
  type RoleState,
  type TablesState,
} from '../storage/postgres/postgres.ts';
import { type CommitLoss, describeLoss, findCommitLoss } from '../storage/sqlite/sqlite.ts';
import {
  type DatabaseFacts,
  error,
  type Facts,
  type Findings,
  failureOf,
  known,
  type PostgresFacts,
  SERVER_VERSION_LEAST,
  warning,
} from './facts.ts';

const RESTORE = 'Restore the last backup (docs/operating.md, "Backup and restore").';

export function* checkDatabase(facts: Facts): Findings {
  const { database, directory, dataDirectory, postgres, isStoreKnown, commitLoss } = facts;
  if (postgres !== null) yield* checkPostgres(postgres, database);
  else if (directory === null || !isStoreKnown) return;
  else if (database === null && commitLoss === null)
    yield error('database_missing', `directory ${dataDirectory}`, {
      message: 'It has no turnpike.db: the service was never started here, or its database was lost.',
      remedy: `Specify the correct directory with --data, or start the service to create a new one. If it was lost: ${RESTORE}`,
    });
  else if (database !== null) yield* checkFile(database);
  if (commitLoss !== null) yield* describeCommitLoss(commitLoss, dataDirectory);
  if (database !== null) yield* checkBooks(database);
  yield* checkClock(facts);
}

function* describeCommitLoss(loss: CommitLoss, dataDirectory: string): Findings {
  const { fault, remedy } = describeLoss(loss);
  yield error('commits_lost', `directory ${dataDirectory}`, {
    message: `${fault}. Answers that clients got are not billed, and changes are undone. The service does not start.`,
    remedy,
  });
}

/** Adds the loss of commits to a report on rows, which are as consistent as they were earlier. */
export function withLoss(path: string, report: CheckReport): CheckReport {
  const loss = findCommitLoss(path);
  return loss === null ? report : { ...report, ok: false, faults: [describeLoss(loss).fault, ...report.faults] };
}

function* checkFile({ version, survey, subject, fileFaults }: DatabaseFacts): Findings {
  const failure = failureOf(version, survey);
  if (failure !== null)
    yield error('database_unreadable', subject, {
      message: `It cannot be read as a database of this service (${failure}): the service does not start.`,
      remedy: `Check that the user of the service can read the file. If it is damaged: ${RESTORE}`,
    });
  else if ('is' in version)
    yield* checkVersion({ ...version.is, leastKnown: version.is.stored }, subject, 'start this release');
  if (fileFaults !== null && fileFaults.length > 0)
    yield error('database_broken', subject, {
      message: `The file is damaged (${fileFaults.slice(0, 3).join('; ')}): its content cannot be trusted.`,
      remedy: `Stop the service, keep a copy of the directory, check the disk. ${RESTORE}`,
    });
}

function* checkVersion(version: TablesState['version'], subject: string, start: string): Findings {
  const { stored, leastKnown, known } = version;
  if (leastKnown > known)
    yield error('database_of_later_version', subject, {
      message: `Its tables have version ${stored}; this release supports versions up to ${known}.`,
      remedy: 'Run the release that wrote them, or a later one; or restore a backup from before the upgrade.',
    });
  else if (stored < known)
    yield warning('database_of_earlier_version', subject, {
      message: `Its tables have version ${stored}; this release uses version ${known}. Their content was not checked.`,
      remedy: `Take a backup, then ${start}. If it refuses this version, its error names the build to start first.`,
    });
}

function* checkBooks(database: DatabaseFacts): Findings {
  const { ledger, subject, overdueHolds, unreadableRows } = database;
  if (overdueHolds !== null && overdueHolds.length > 0)
    yield error('holds_overdue', subject, {
      message: `Holds are open that nothing ends, and their money cannot be spent: ${firstOf(overdueHolds)}.`,
      remedy: 'See each. If their nodes were restarted less than a minute ago, run the command again.',
    });
  if (unreadableRows !== null && unreadableRows.length > 0)
    yield error('rows_unreadable', subject, {
      message: `Rows cannot be read, and requests that need them fail: ${firstOf(unreadableRows)}.`,
      remedy:
        'Run the release that wrote them, if a later one did. Otherwise someone changed them, or the data is damaged: keep a backup of this state, and restore an earlier one, or report the rows.',
    });
  if (ledger === null) return;
  const faults = 'failure' in ledger ? [ledger.failure] : ledger.is.faults;
  if (faults.length === 0) return;
  yield error('ledger_out_of_balance', subject, {
    message: `An invariant of the ledger does not hold: ${firstOf(faults)}. Some balance or bill is wrong.`,
    remedy:
      'Keep a backup of this state and report it: this is a fault of the service, or someone changed stored rows.',
  });
}

function firstOf(faults: readonly string[]): string {
  const more = faults.length > 3 ? ` (and ${faults.length - 3} more: "turnpike check")` : '';
  return faults.slice(0, 3).join('; ') + more;
}

/** With PostgreSQL, times come from the database. */
function* checkClock({ database, postgres, nowMs: nowHereMs }: Facts): Findings {
  const nowMs = postgres !== null && 'is' in postgres.server ? postgres.server.is.nowMs : nowHereMs;
  const newestAtMs = known(database?.survey)?.newestAtMs ?? null;
  if (newestAtMs === null || nowMs >= newestAtMs - bounds.clockBehindMsMax) return;
  const [now, newest] = [nowMs, newestAtMs].map((atMs) => new Date(atMs).toISOString());
  yield error('clock_behind', 'clock', {
    message: `The clock of ${postgres === null ? 'this machine' : 'the database'} says ${now}, but the newest record is from ${newest}: limits, periods and expiries depend on the clock.`,
    remedy: 'Set the clock (NTP). If the newest record is from the future, the clock was ahead when it was written.',
  });
}

function* checkPostgres({ name, server, tables }: PostgresFacts, database: DatabaseFacts | null): Findings {
  const subject = `database ${name}`;
  if ('failure' in server) return yield* describeUnreached(server.failure, subject);
  const { version, fsync } = server.is;
  if (version < SERVER_VERSION_LEAST * 10_000)
    yield error('server_too_old', subject, {
      message: `The PostgreSQL server has version ${Math.floor(version / 10_000)}; nodes need version ${SERVER_VERSION_LEAST} or later.`,
      remedy: 'Upgrade PostgreSQL (pg_upgrade, or pg_dump and pg_restore).',
    });
  if (fsync === 'off')
    yield error('fsync_off', subject, {
      message:
        'The server does not wait for the disk (fsync is off): if its machine fails, acknowledged charges are lost, and the database may be damaged beyond repair.',
      remedy:
        'ALTER SYSTEM RESET fsync; SELECT pg_reload_conf(); or remove it from postgresql.conf or the command line.',
    });
  const failure = failureOf(tables, database?.survey);
  if (failure !== null)
    yield error('database_unreadable', subject, {
      message: `Its tables cannot be read (${failure}): nodes cannot work with them.`,
      remedy:
        'Give the role of TURNPIKE_DATABASE_URL its rights: "turnpike migrate --grant ROLE", under the role that owns the tables (docs/operating.md, "Roles of the database"). If it timed out, find the session that locks them: pg_locks, pg_blocking_pids.',
    });
  const state = known(tables);
  if (state !== null) yield* checkTables(state, subject);
}

const UNREACHED: Readonly<Record<DatabaseFailure['kind'], Pick<Finding, 'code' | 'remedy'>>> = {
  unreachable: {
    code: 'database_unreachable',
    remedy:
      'Check that PostgreSQL runs there, that it listens on that address (listen_addresses), and that the address in TURNPIKE_DATABASE_URL is correct: special characters in its password are percent-encoded.',
  },
  refused: {
    code: 'database_refused',
    remedy:
      'Correct the role, password or database in TURNPIKE_DATABASE_URL, or allow the role in pg_hba.conf. If there are too many connections, raise max_connections or close some. If the server is starting, stopping or recovering, wait until it accepts connections.',
  },
  tls: {
    code: 'database_tls_failed',
    remedy:
      'Give the server a certificate that this machine trusts and that matches its host name (ssl, ssl_cert_file), or set a less strict sslmode in the address: disable, prefer, require, verify-ca or verify-full.',
  },
  failed: {
    code: 'database_failed',
    remedy: "Connect nodes to the server itself instead of a pooler. Otherwise see the server's log.",
  },
};

function* describeUnreached({ kind, words }: DatabaseFailure, subject: string): Findings {
  const { code, remedy } = UNREACHED[kind];
  yield error(code, subject, {
    message: `It cannot be used (${words}): nodes refuse every message with store_unavailable, or do not start. Its content was not checked.`,
    remedy,
  });
}

function* checkTables(tables: TablesState, subject: string): Findings {
  const { version, missing, guardsOff, nodesAlive, role } = tables;
  if (version.stored === 0) {
    yield error('tables_missing', subject, {
      message:
        'It has no tables of this service: no node was ever started on it, or the tables are in another database or schema.',
      remedy: `Specify the correct database with TURNPIKE_DATABASE_URL or --database, or create the tables: start a node whose role may, or run "turnpike migrate". If they were lost: ${RESTORE}`,
    });
    return;
  }
  const start =
    role === null || role.owns
      ? 'restart the nodes one by one with this release'
      : `run "turnpike migrate" of this release under the role that owns the tables (${role.owner}), and restart the nodes one by one`;
  yield* checkVersion(version, subject, start);
  if (missing.length > 0 && version.stored >= version.known)
    yield error('tables_missing', subject, {
      message: `Some tables are missing: ${missing.join(', ')}. Nodes fail whenever they use them.`,
      remedy: RESTORE,
    });
  else if (role !== null && version.stored >= version.known) yield* checkRights(role, subject);
  if (guardsOff.length > 0)
    yield error('guards_missing', subject, {
      message: `Triggers that protect the journal and the audit log from changes are missing or disabled: ${guardsOff.join(', ')}. Such changes are no longer refused.`,
      remedy:
        'Enable the trigger again (ENABLE TRIGGER), or restore a missing one from a backup. Find out who did it, and run "turnpike check".',
    });
  if (nodesAlive === 0)
    yield warning('service_not_running', subject, {
      message: 'No node has a lease on this database: no message is answered.',
      remedy: 'turnpike serve',
    });
}

function* checkRights({ role, missing, excess }: RoleState, subject: string): Findings {
  if (missing.length > 0)
    yield error('rights_missing', subject, {
      message: `Nodes cannot work: ${describeMissing(role, missing)}.`,
      remedy: `turnpike migrate --grant ${role}`,
    });
  if (excess.length > 0)
    yield warning('rights_excessive', subject, {
      message: `The role "${role}" does not own the tables, but has rights that no node needs: ${listed(excess)}. With them, the journal, the audit log or the tables can be changed.`,
      remedy:
        'REVOKE them from the role, from PUBLIC and from the roles that it belongs to, then run "turnpike migrate --grant ROLE", which also verifies it.',
    });
}

/** The sign-in database is a file of its own. */
export function* checkSignIn({ dataDirectory, signInFaults }: Facts): Findings {
  if (signInFaults.length === 0) return;
  yield error('sign_in_broken', `file ${dataDirectory}/sign-in.db`, {
    message: `The file is damaged (${signInFaults.slice(0, 3).join('; ')}): people may not be able to sign in to the console. Messages, keys and tokens do not depend on it.`,
    remedy:
      'Stop the service, check the disk, and restore the file from the last backup; or remove it with its -wal and -shm files, start the service, and give people new links ("turnpike person link ID").',
  });
}
