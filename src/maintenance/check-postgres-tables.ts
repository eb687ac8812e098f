// The tables in a database of PostgreSQL: there, of a version that this program works on, guarded, and with the months they need.

import type { Finding } from '../commands/commands.ts';
import { monthsAhead, type ServerState, type TablesState } from '../storage/postgres/postgres.ts';
import type { PostgresFacts } from './facts.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const RESTORE = 'Restore the last backup (docs/operating.md, "Backup and restore").';

export function checkPostgresTables({ tables }: PostgresFacts, server: ServerState, subject: string): Finding[] {
  if (tables === null) return [];
  if ('failure' in tables) return [unreadable(tables.failure, subject)];
  const { version, missing } = tables.is;
  const schema = checkSchema(server, tables.is, subject);
  if (version.stored === 0) return [...schema, noTables(subject)];
  return [
    ...schema,
    ...checkVersion(tables.is, subject),
    ...(missing.length > 0 && version.stored >= version.known ? [lostTables(missing, subject)] : []),
    ...checkGuards(tables.is, subject),
    ...checkMonths(tables.is, server.nowMs, subject),
  ];
}

export function unreadable(failure: string, subject: string): Finding {
  return {
    severity: 'error',
    code: 'database_unreadable',
    subject,
    message: `Its tables cannot be read (${failure}): nodes cannot work with them.`,
    remedy:
      'Let the role of TURNPIKE_DATABASE_URL be the owner of the tables (REASSIGN OWNED BY … TO …). Where it took too long, see who locks them: pg_locks, pg_blocking_pids.',
  };
}

/** Months are tables too: they are made and dropped as long as nodes run. */
function checkSchema({ schema, mayMakeTables }: ServerState, tables: TablesState, subject: string): Finding[] {
  if (schema === null)
    return [
      {
        severity: 'error',
        code: 'schema_missing',
        subject,
        message: 'The search_path of the role names no schema that is there: tables can be neither made nor found.',
        remedy: 'ALTER ROLE … SET search_path = public, or make the schema that it names.',
      },
    ];
  const findings: Finding[] = [];
  if (!mayMakeTables || (tables.version.stored > 0 && !tables.isOwner))
    findings.push({
      severity: 'error',
      code: 'tables_not_owned',
      subject,
      message: `The role may not make tables in the schema "${schema}", or is not the owner of those that are there: nodes make and drop one for each month of usage, and new versions change them.`,
      remedy: `Make the role the owner of what is there (REASSIGN OWNED BY … TO …), and let it make tables (GRANT CREATE ON SCHEMA ${schema} TO …).`,
    });
  if (tables.otherSchemas.length > 0)
    findings.push({
      severity: 'warning',
      code: 'another_installation',
      subject,
      message: `Another installation has tables in the same database (schema ${tables.otherSchemas.join(', ')}): their nodes wait for each other's locks, and a search_path that changes shows the one the money of the other.`,
      remedy: 'Give each installation a database of its own, or drop what is left of an old one.',
    });
  return findings;
}

function noTables(subject: string): Finding {
  return {
    severity: 'error',
    code: 'tables_missing',
    subject,
    message:
      'There are no tables of this service in it: no node was ever started on it, or they are in another database or schema.',
    remedy: `Name the right database with TURNPIKE_DATABASE_URL or --database, or start a node to begin anew. If they are gone: ${RESTORE}`,
  };
}

function lostTables(missing: readonly string[], subject: string): Finding {
  return {
    severity: 'error',
    code: 'tables_missing',
    subject,
    message: `Some tables are not there: ${missing.join(', ')}. Nodes fail whenever they ask for them.`,
    remedy: RESTORE,
  };
}

function checkVersion({ version: { stored, leastKnown, known } }: TablesState, subject: string): Finding[] {
  if (leastKnown > known)
    return [
      {
        severity: 'error',
        code: 'database_of_later_version',
        subject,
        message: `Its tables are of version ${stored}, this program knows versions up to ${known}: it will not open them.`,
        remedy: 'Run the release that made them, or a later one; or restore a backup from before the upgrade.',
      },
    ];
  if (stored >= known) return [];
  return [
    {
      severity: 'warning',
      code: 'database_of_earlier_version',
      subject,
      message: `Its tables are of version ${stored}; a node of this release brings them to version ${known} when it starts. What is in them was not looked at.`,
      remedy: 'Take a backup, then restart the nodes one by one with this release.',
    },
  ];
}

function checkGuards({ guardsOff }: TablesState, subject: string): Finding[] {
  if (guardsOff.length === 0) return [];
  return [
    {
      severity: 'error',
      code: 'guards_missing',
      subject,
      message: `What keeps journal and audit from being changed is gone or switched off: ${guardsOff.join(', ')}. Nothing would refuse such a change now.`,
      remedy:
        'Switch it on again (ENABLE TRIGGER, of its table); where it is gone, restore it from a backup. Find out who did it, and run "turnpike check".',
    },
  ];
}

/** A batch that finds its month missing makes it, and waits for that; nodes that run have made all ahead. */
function checkMonths({ months, nodes, usageKeptSinceMs }: TablesState, nowMs: number, subject: string): Finding[] {
  const findings: Finding[] = [];
  const lacking = monthsAhead(nowMs).filter((month) => !months.includes(month));
  if (nodes.alive > 0 && lacking.length > 0)
    findings.push({
      severity: 'warning',
      code: 'usage_months_missing',
      subject,
      message: `Months of usage that begin soon have no table yet (${lacking.join(', ')}): nodes make them ahead, at their start and every hour, and did not. The first message of a month will make it, and wait.`,
      remedy: 'See the log of the nodes (store_not_tended), and whether the role may make tables.',
    });
  const overdue = months.filter((month) => usageKeptSinceMs !== null && endOf(month) < usageKeptSinceMs - DAY_MS);
  if (nodes.alive > 0 && overdue.length > 0)
    findings.push({
      severity: 'warning',
      code: 'usage_months_overdue',
      subject,
      message: `Months of usage that are kept no longer are still there (${overdue.join(', ')}): a table is dropped when nobody uses it for a moment, and somebody does all the while.`,
      remedy:
        'End transactions that are long open (pg_stat_activity), and see the log of the nodes (store_not_tended).',
    });
  return findings;
}

/** When a month such as 202611 ends. */
function endOf(month: number): number {
  return Date.UTC(Math.floor(month / 100), month % 100, 1);
}
