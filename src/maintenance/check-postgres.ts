// A database of PostgreSQL: that it can be reached, and that its server and the sessions on it are such that nodes can rely on them.

import { isPrivateAddress } from '../base/private-address.ts';
import type { Finding } from '../commands/commands.ts';
import { bounds } from '../config.ts';
import type { DatabaseFailure, ServerState } from '../storage/postgres/postgres.ts';
import { checkNodes } from './check-nodes.ts';
import { checkPostgresTables, unreadable } from './check-postgres-tables.ts';
import { checkUpkeep } from './check-upkeep.ts';
import type { Facts, PostgresFacts } from './facts.ts';

const VERSION_LEAST = 14;
const DAY_MS = 24 * 60 * 60 * 1000;

export function checkPostgres(facts: Facts): Finding[] {
  const { postgres } = facts;
  if (postgres === null) return [];
  const subject = `database ${postgres.name}`;
  if ('failure' in postgres.server) return [notHad(postgres.server.failure, subject)];
  const server = postgres.server.is;
  return [
    ...checkKind(server, subject),
    ...checkDurability(server, subject),
    ...checkSessions(postgres, subject),
    ...checkClocks(server),
    ...checkPostgresTables(postgres, server, subject),
    ...checkSurvey(facts),
    ...checkNodes(postgres, server, subject),
    ...checkUpkeep(postgres, server, subject),
  ];
}

/** What stands in tables may not be read although the tables themselves are seen. */
function checkSurvey({ database }: Facts): Finding[] {
  if (database?.survey == null || 'is' in database.survey) return [];
  return [unreadable(database.survey.failure, database.subject)];
}

const NOT_HAD: Readonly<Record<DatabaseFailure['kind'], Pick<Finding, 'code' | 'remedy'>>> = {
  unreachable: {
    code: 'database_unreachable',
    remedy:
      'See that PostgreSQL runs there, that it listens to other machines where it is on one (listen_addresses), and that the address in TURNPIKE_DATABASE_URL is right: special characters in its password are percent-encoded.',
  },
  refused: {
    code: 'database_refused',
    remedy:
      'Mend role, password or database in TURNPIKE_DATABASE_URL, or let the role in (pg_hba.conf). With too many connections: raise max_connections, or end others. A server that starts, stops or recovers takes connections when it is done.',
  },
  tls: {
    code: 'database_tls_failed',
    remedy:
      'Give the server a certificate that is trusted here and that has its name (ssl, ssl_cert_file), or ask for less: sslmode in the address is disable, prefer, require, verify-ca or verify-full.',
  },
  failed: { code: 'database_failed', remedy: "See the server's own log." },
};

function notHad({ kind, words }: DatabaseFailure, subject: string): Finding {
  const message = `It cannot be used (${words}): nodes answer every message with store_unavailable, or do not start. Nothing in it was looked at.`;
  return { severity: 'error', subject, message, ...NOT_HAD[kind] };
}

function checkKind(server: ServerState, subject: string): Finding[] {
  const findings: Finding[] = [];
  if (server.version < VERSION_LEAST * 10_000)
    findings.push({
      severity: 'error',
      code: 'server_too_old',
      subject,
      message: `Its server is of version ${Math.floor(server.version / 10_000)}, and ${VERSION_LEAST} is the least that nodes work on.`,
      remedy: 'Upgrade PostgreSQL (pg_upgrade, or pg_dump and pg_restore).',
    });
  if (server.isStandby)
    findings.push({
      severity: 'error',
      code: 'server_is_standby',
      subject,
      message: 'Its server is a standby, or still recovers: nothing can be written, so that no message is admitted.',
      remedy:
        'Name the primary in TURNPIKE_DATABASE_URL, or an address that leads to it; where the primary is gone, promote this one (pg_ctl promote).',
    });
  else if (server.settings['default_transaction_read_only'] === 'on')
    findings.push({
      severity: 'error',
      code: 'database_read_only',
      subject,
      message:
        'Transactions here only read unless they ask for more (default_transaction_read_only): nothing is written.',
      remedy:
        'ALTER DATABASE or ALTER ROLE … RESET default_transaction_read_only, wherever it was set; and find out why it was.',
    });
  if (server.encoding !== 'UTF8')
    findings.push({
      severity: 'error',
      code: 'database_encoding',
      subject,
      message: `Its encoding is ${server.encoding}: names and notes in other scripts are refused, or stored as something else.`,
      remedy: "Make a database with ENCODING 'UTF8' and move what is here into it (pg_dump, pg_restore).",
    });
  return [...findings, ...checkTransport(server, subject)];
}

function checkTransport({ isEncrypted, serverAddress }: ServerState, subject: string): Finding[] {
  if (isEncrypted || serverAddress === null || isPrivateAddress(serverAddress)) return [];
  return [
    {
      severity: 'warning',
      code: 'database_without_tls',
      subject,
      message: `The connection to ${serverAddress} is not encrypted, and that is no address of a private network: whoever is between can read and change what goes over it.`,
      remedy: 'Add sslmode=verify-full to the address in TURNPIKE_DATABASE_URL, or go through a private network.',
    },
  ];
}

function checkDurability({ settings }: ServerState, subject: string): Finding[] {
  const findings: Finding[] = [];
  if (settings['fsync'] === 'off')
    findings.push({
      severity: 'error',
      code: 'fsync_off',
      subject,
      message:
        'Its server does not wait for the disk (fsync is off): when its machine fails, bills that were told are lost, and the database may be broken for good.',
      remedy:
        'ALTER SYSTEM RESET fsync; SELECT pg_reload_conf(); or take it out of postgresql.conf or its command line.',
    });
  if (settings['full_page_writes'] === 'off')
    findings.push({
      severity: 'warning',
      code: 'full_page_writes_off',
      subject,
      message:
        'full_page_writes is off: when its machine fails, pages may be left half written, unless the file system keeps that from happening (as ZFS does).',
      remedy: 'ALTER SYSTEM RESET full_page_writes; SELECT pg_reload_conf().',
    });
  if (settings['session_replication_role'] === 'replica')
    findings.push({
      severity: 'error',
      code: 'triggers_off',
      subject,
      message:
        'The role has session_replication_role = replica: no trigger guards journal and audit, and stored answers are not counted.',
      remedy: 'ALTER ROLE … RESET session_replication_role (also … IN DATABASE), then restart the nodes one by one.',
    });
  return findings;
}

function checkSessions({ sessions, server }: PostgresFacts, subject: string): Finding[] {
  if (sessions === null || 'failure' in server) return [];
  if ('failure' in sessions)
    return [
      {
        severity: 'error',
        code: 'sessions_refused',
        subject,
        message: `A session as nodes have them cannot be had (${sessions.failure}). A pooler such as PgBouncer refuses settings that it does not know.`,
        remedy: 'Name the server itself in TURNPIKE_DATABASE_URL: nodes have few connections, and keep them.',
      },
    ];
  const { isShared, settingsLost } = sessions.is;
  return [
    ...sharedSessions(isShared, subject),
    ...lostSettings(settingsLost, subject),
    ...checkLimits(server.is, subject),
  ];
}

function sharedSessions(isShared: boolean, subject: string): Finding[] {
  if (!isShared) return [];
  return [
    {
      severity: 'error',
      code: 'sessions_shared',
      subject,
      message:
        'A pooler lends its connections for single transactions: prepared statements, settings and locks of a session do not stay, and a connection that was given up cannot be ended. What such a one still does may be made after it was answered otherwise.',
      remedy:
        'Name the server itself in TURNPIKE_DATABASE_URL, or set the pooler to sessions (PgBouncer: pool_mode = session).',
    },
  ];
}

function lostSettings(settings: readonly string[], subject: string): Finding[] {
  if (settings.length === 0) return [];
  return [
    {
      severity: 'error',
      code: 'session_settings_lost',
      subject,
      message: `What nodes set for their sessions does not arrive (${settings.join(', ')}): a pooler leaves it out, so that time limits, durability or plans are others than they must be.`,
      remedy: 'Name the server itself in TURNPIKE_DATABASE_URL.',
    },
  ];
}

/** Nodes set most limits for their sessions. These they do not, or not for all. */
function checkLimits({ settings }: ServerState, subject: string): Finding[] {
  const isSet = (name: string) => settings[name] !== undefined && settings[name] !== '0';
  const limits = ['idle_session_timeout', 'statement_timeout', 'transaction_timeout'].filter(isSet);
  if (limits.length === 0) return [];
  return [
    {
      severity: 'warning',
      code: 'session_limits',
      subject,
      message: `Sessions of this role have limits of their own (${limits.map((name) => `${name} = ${settings[name]}`).join(', ')}): connections that rest are ended and made again, and what takes long is cut, such as new versions of the tables or "turnpike check".`,
      remedy: `ALTER ROLE … RESET ${limits[0]}, wherever it was set (role, database, server): nodes have limits of their own.`,
    },
  ];
}

/** Beyond a day records are not found by their ids, which tell the time of the node. */
function checkClocks({ nowMs, askedAtMs, roundTripMs }: ServerState): Finding[] {
  const aheadMs = askedAtMs - nowMs;
  if (Math.abs(aheadMs) <= bounds.clockBehindMsMax + roundTripMs) return [];
  return [
    {
      severity: Math.abs(aheadMs) >= DAY_MS ? 'error' : 'warning',
      code: 'clocks_differ',
      subject: 'clock',
      message: `This machine's clock is ${(Math.abs(aheadMs) / 1000).toFixed(1)} seconds ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's. Money, limits and leases go by the database's; ids, logs and traces by this one.`,
      remedy: 'Set both clocks by the same source (NTP).',
    },
  ];
}
