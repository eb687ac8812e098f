// What a server of PostgreSQL must be able to do beside its work: clean up, write its log away, number its transactions.

import type { Finding } from '../commands/commands.ts';
import { bounds } from '../config.ts';
import type { ActivityState, ServerState } from '../storage/postgres/postgres.ts';
import type { PostgresFacts } from './facts.ts';

const MILLION = 1_000_000;

export function checkUpkeep({ activity }: PostgresFacts, server: ServerState, subject: string): Finding[] {
  if (activity === null) return [];
  if ('failure' in activity)
    return [
      {
        severity: 'warning',
        code: 'server_not_examined',
        subject,
        message: `What goes on at its server could not be looked at (${activity.failure}).`,
        remedy: 'Make the role a member of pg_monitor, or look yourself: pg_stat_activity, pg_stat_user_tables.',
      },
    ];
  return [
    ...checkOpenTransactions(activity.is, subject),
    ...checkLog(activity.is, server, subject),
    ...checkVacuum(activity.is, server, subject),
    ...checkAge(activity.is, subject),
  ];
}

function checkOpenTransactions({ longTransactions, preparedTransactions }: ActivityState, subject: string): Finding[] {
  const harm =
    'What was deleted since cannot be cleared away, so that tables which change with every message grow and slow down.';
  const findings: Finding[] = [];
  if (longTransactions.length > 0)
    findings.push({
      severity: 'warning',
      code: 'transaction_long_open',
      subject,
      message: `Transactions have been open for long: ${longTransactions
        .map(
          ({ pid, application, seconds, isIdle }) =>
            `${application || 'a session'} (process ${pid}, ${inMinutes(seconds)}${isIdle ? ', idle' : ''})`,
        )
        .join(', ')}. ${harm}`,
      remedy:
        'Let their programs end them, or SELECT pg_terminate_backend(PROCESS). Reports over long times belong on a standby.',
    });
  if (preparedTransactions.length > 0)
    findings.push({
      severity: 'warning',
      code: 'prepared_transaction_left',
      subject,
      message: `Prepared transactions were left, for no node makes any: ${preparedTransactions.map(({ name, seconds }) => `"${name}" (${inMinutes(seconds)})`).join(', ')}. ${harm} They outlast a restart.`,
      remedy: "ROLLBACK PREPARED 'NAME', in the database that it is of.",
    });
  return findings;
}

function checkLog(activity: ActivityState, { settings }: ServerState, subject: string): Finding[] {
  const findings: Finding[] = [];
  if (settings['synchronous_standby_names'] && activity.standbys.synchronous === 0)
    findings.push({
      severity: 'error',
      code: 'standby_missing',
      subject,
      message: `Commits wait for a standby (synchronous_standby_names = ${settings['synchronous_standby_names']}), and none of those is connected: nothing is committed, and messages are refused with store_unavailable.`,
      remedy:
        'Bring the standby back, or let commits go on without it: ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf().',
    });
  if (activity.idleSlots.length > 0)
    findings.push({
      severity: 'warning',
      code: 'replication_slot_idle',
      subject,
      message: `Nobody reads from these replication slots: ${activity.idleSlots.join(', ')}. Their log is kept until somebody does, and fills the disk of the server (max_slot_wal_keep_size bounds it).`,
      remedy: "Bring back who reads from it, or SELECT pg_drop_replication_slot('NAME').",
    });
  if (isArchivedToNowhere(settings) || (settings['archive_mode'] !== 'off' && activity.isArchivingFailing))
    findings.push({
      severity: 'warning',
      code: 'archiving_fails',
      subject,
      message:
        'Its log is to be archived, and is not: the last try failed, or archive_command is empty. Backups end before it, and the log fills the disk of the server.',
      remedy: "See the server's log for why, and pg_stat_archiver for since when.",
    });
  return findings;
}

function isArchivedToNowhere(settings: ServerState['settings']): boolean {
  return settings['archive_mode'] !== 'off' && !settings['archive_command'] && !settings['archive_library'];
}

function checkVacuum(activity: ActivityState, { settings }: ServerState, subject: string): Finding[] {
  const isOff = settings['autovacuum'] === 'off' || settings['track_counts'] === 'off';
  const findings: Finding[] = [];
  if (isOff || activity.notVacuumed.length > 0)
    findings.push({
      severity: 'error',
      code: 'autovacuum_off',
      subject,
      message: `Nobody clears away what was deleted (${isOff ? 'autovacuum or track_counts is off' : `autovacuum_enabled is off for ${activity.notVacuumed.join(', ')}`}): tables that change with every message grow without end, and slow down.`,
      remedy: isOff
        ? 'ALTER SYSTEM RESET autovacuum; ALTER SYSTEM RESET track_counts; SELECT pg_reload_conf().'
        : 'Take that setting from the table: RESET (autovacuum_enabled).',
    });
  if (activity.deadRows.length > 0)
    findings.push({
      severity: 'warning',
      code: 'dead_rows',
      subject,
      message: `The vacuum does not keep up: ${activity.deadRows.map(({ table, dead, live }) => `${table} has ${dead} dead rows beside ${live}`).join(', ')}.`,
      remedy:
        'Look for what keeps it from its work (transactions that are long open, idle slots), then VACUUM (ANALYZE) TABLE; give it more time (autovacuum_vacuum_cost_limit).',
    });
  return findings;
}

function checkAge({ transactionAge: age }: ActivityState, subject: string): Finding[] {
  if (age < bounds.transactionAgeHigh) return [];
  return [
    {
      severity: age >= bounds.transactionAgeMost ? 'error' : 'warning',
      code: 'transaction_ids_run_out',
      subject,
      message: `Its oldest transaction is ${Math.floor(age / MILLION)} million back: at 2,100 million the server takes no more writes.`,
      remedy:
        'End what keeps the vacuum from its work (transactions that are long open, idle slots), then VACUUM (FREEZE) as superuser.',
    },
  ];
}

function inMinutes(seconds: number): string {
  return `${Math.floor(seconds / 60)} minutes`;
}
