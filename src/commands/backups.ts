// `turnpike backup` and `turnpike restore`. A backup is recorded in the service, so that its age is a metric, and so is a failure.

import { bounds } from '../config/config.ts';
import { openClient } from './admin-client.ts';
import {
  type BackupReport,
  type Command,
  clientFlags,
  dataFlag,
  type Invocation,
  listenToSignals,
  type RestoreReport,
  storeFlags,
  WrongUsage,
} from './command.ts';
import { ask } from './data-directory.ts';
import { textFlag, time } from './flags.ts';
import { columns, printObject } from './output.ts';

const backup: Command = {
  name: 'backup',
  summary: 'Write a consistent copy of a SQLite store to a new file; works with the server running or stopped',
  positionals: ['[FILE]'],
  flags: {
    ...clientFlags,
    ...storeFlags,
    record: { help: 'makes no copy, but records in the service that another program has made a backup' },
    'taken-at': { value: 'TIME', help: 'with --record: the backup has every change before this time (default: now)' },
  },
  async run(invocation) {
    const { positionals, flags } = invocation;
    const takenAt = textFlag(flags, 'taken-at');
    if (flags['record'] === true) {
      if (positionals.length > 0) throw new WrongUsage('--record makes no copy: leave out FILE');
      return await recordOther(invocation, takenAt === undefined ? {} : { taken_at: time(takenAt, '--taken-at') });
    }
    if (takenAt !== undefined) throw new WrongUsage('--taken-at needs --record');
    if (positionals[0] === undefined) throw new WrongUsage('FILE is missing');
    return await copy(invocation, positionals[0]);
  },
};

async function recordOther(invocation: Invocation, body: { taken_at?: string }): Promise<number> {
  const client = await openClient(invocation);
  await printObject(invocation, await client.post('/backups', body), [['LAST TAKEN AT', 'last_taken_at']]);
  return 0;
}

async function copy(invocation: Invocation, file: string): Promise<number> {
  const { world } = invocation;
  const controller = new AbortController();
  const report = await ask(invocation, async (maintenance, config) => {
    using _signals = listenToSignals(() => controller.abort()); // so that an unfinished copy is removed
    return await maintenance.backUp(config, file, controller.signal);
  }).catch(async (failure) => {
    if (!controller.signal.aborted) await reportFailure(invocation, String((failure as Error).message));
    throw failure;
  });
  const isGood = report.check?.ok !== false;
  if (!isGood) await reportFailure(invocation, 'the ledger of the copy violates invariants');
  const unrecorded = isGood ? await record(invocation, report) : null;
  await printObject(invocation, { ...report }, [
    ...columns('file'),
    ['SIGN-IN FILE', 'sign_in_file'],
    ...columns('checksum_file bytes'),
    ['TAKEN AT', 'taken_at'],
    ['LEDGER OK', () => (report.check === null ? null : report.check.ok ? 'yes' : 'no')],
    ...columns('secret'),
  ]);
  for (const line of backupAdvice(report)) await world.writeError(`${line}\n`);
  if (unrecorded !== null) await world.writeError(`${unrecorded}\n`);
  return isGood ? 0 : 1;
}

/** Tells the service, if one runs, when the backup was taken. Resolves to why it could not, which is no failure of the backup. */
async function record(invocation: Invocation, { taken_at }: BackupReport): Promise<string | null> {
  try {
    await (await openClient(invocation)).post('/backups', { taken_at });
    return null;
  } catch (failure) {
    return `The backup is made, but it does not count for the metric of its age: ${(failure as Error).message}`;
  }
}

/** Tells the service, if one runs, so that it reports the failure as an event. */
async function reportFailure(invocation: Invocation, reason: string): Promise<void> {
  try {
    const client = await openClient(invocation);
    await client.post('/backup-failures', {
      reason: reason.replace(/\p{Cc}+/gu, ' ').slice(0, bounds.nameCharactersMax),
    });
  } catch {
    // The command itself fails, and says why.
  }
}

function backupAdvice({ check: checked, secret, previous_secret: previous, sign_in_file: signIn }: BackupReport) {
  return [
    secret === null
      ? `The copy cannot be used without the installation's secret, which was not found here. Back up the secret that the service uses (TURNPIKE_SECRET, or the file "secret" in its data directory).`
      : `The copy cannot be used without the installation's secret. Back up the secret too, in another place: ${secretPlace(secret)}.`,
    ...(previous === null ? [] : [`The previous secret is still needed as well: ${secretPlace(previous)}.`]),
    `To restore: "turnpike restore FILE --secret SECRET_FILE --data DIRECTORY", with ${signIn === null ? 'the checksum file' : 'the sign-in file and the checksum file'} beside the copy.`,
    ...(checked === null
      ? [
          'The copy has the tables of an earlier version, which are not checked; "turnpike restore" migrates and checks them.',
        ]
      : []),
    ...(checked?.faults ?? []),
    ...(checked?.ok === false
      ? ['The copy is identical to the store, but its ledger violates the invariants above: keep your earlier backups.']
      : []),
  ];
}

function secretPlace(source: string): string {
  return source.startsWith('file:') ? `the file ${source.slice('file:'.length)}` : `the variable ${source}`;
}

const restore: Command = {
  name: 'restore',
  summary: 'Restore a backup of a SQLite store into an empty data directory, verified and complete, or not at all',
  positionals: ['FILE'],
  flags: {
    ...dataFlag,
    secret: { value: 'FILE', help: "the installation's secret, which is copied, too (default: TURNPIKE_SECRET)" },
    'previous-secret': { value: 'FILE', help: 'the previous secret, if the backup still needs it' },
  },
  async run(invocation) {
    const { world, positionals, flags } = invocation;
    const report = await ask(invocation, (maintenance, config) => {
      const [secret, previousSecret] = [textFlag(flags, 'secret'), textFlag(flags, 'previous-secret')];
      if (secret !== undefined && config.secretBase64 !== null)
        throw new WrongUsage('--secret and TURNPIKE_SECRET are two secrets: give one');
      const files = { secret: secret ?? null, previousSecret: previousSecret ?? null };
      return maintenance.restore(config, { backup: positionals[0] ?? '', ...files });
    });
    const { check } = report;
    await printObject(invocation, { ...report }, [
      ...columns('data file'),
      ['SIGN-IN FILE', 'sign_in_file'],
      ['CHECKSUMS', () => (report.checksum_verified ? 'verified' : 'none')],
      ['NEWEST CHANGE', 'newest_at'],
      ['ACCOUNTS', () => check.accounts],
      ['ENTRIES', () => check.entries],
      ['OPEN HOLDS', () => check.open_holds],
      ['LEDGER OK', () => 'yes'],
      ...columns('secret'),
    ]);
    for (const line of restoreAdvice(report)) await world.writeError(`${line}\n`);
    return 0;
  },
};

function restoreAdvice(report: RestoreReport): string[] {
  const { newest_at: newestAt, check, migrated_from: migratedFrom } = report;
  return [
    ...(newestAt === null ? [] : [`Changes after ${newestAt} are missing: messages, keys, credits, revocations.`]),
    ...(check.open_holds === 0
      ? []
      : [
          `Open holds: ${check.open_holds}. The start of the service ends those of messages, which are charged up to their last checkpoint, or not at all. Reserves of batches stay.`,
        ]),
    ...(migratedFrom === null ? [] : [`The tables were migrated from version ${migratedFrom}.`]),
    ...(report.checksum_verified
      ? []
      : ['There is no checksum file beside the backup: a change of single bytes may be unnoticed.']),
    ...(report.sign_in_file === null
      ? [
          'There is no sign-in file beside the backup: if people had passwords, they need new links ("turnpike person link ID").',
        ]
      : []),
    ...(report.has_payments && newestAt !== null
      ? [
          `Payments after it are at the payment provider only: once the service runs, compare with "turnpike payments check --since ${newestAt}".`,
        ]
      : []),
    `Start the service with "turnpike serve --data ${report.data}".`,
  ];
}

export const backupCommands: readonly Command[] = [backup, restore];
