// `turnpike backup`: a consistent, verified copy of the store, taken while it serves, and what is
// needed beside it.

import { type Command, type Invocation, storeFlags } from './command.ts';
import { inWords } from './failure-words.ts';
import { storeOf } from './flags.ts';
import type { BackupReport } from './maintenance.ts';
import { printObject } from './output.ts';

export const backup: Command = {
  name: 'backup',
  summary: 'writes a consistent copy of a SQLite store to a new file; works with the server running or stopped',
  positionals: ['FILE'],
  flags: storeFlags,
  async run(invocation) {
    const { flags, world, positionals } = invocation;
    const config = world.readConfig(storeOf(flags));
    const maintenance = await world.maintain();
    const report = await stoppable((signal) => maintenance.backUp(config, positionals[0] ?? '', signal)).catch(inWords);
    await printObject(invocation, { ...report }, [
      ['FILE', 'file'],
      ['SIGN-IN FILE', 'sign_in_file'],
      ['BYTES', 'bytes'],
      ['TAKEN AT', 'taken_at'],
      ['LEDGER OK', () => (report.check === null ? null : report.check.ok ? 'yes' : 'no')],
      ['SECRET', 'secret'],
    ]);
    await sayWhatElse(invocation, report);
    return report.check?.ok === false ? 1 : 0;
  },
};

/** Runs what a signal is to end in order: so that it can clear away what it began. */
async function stoppable<Value>(run: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  try {
    return await run(controller.signal);
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}

async function sayWhatElse({ world }: Invocation, report: BackupReport): Promise<void> {
  const { check, secret, previous_secret: previous, sign_in_file: signIn } = report;
  const lines = [
    secret === null
      ? 'It is of no use without the secret of the installation, which was not found here: keep it where the service gets it from (TURNPIKE_SECRET, or the file "secret" in its data directory).'
      : `It is of no use without the secret of the installation. Keep that too, in another place: ${placeInWords(secret)}.`,
    ...(previous === null ? [] : [`The secret before it is still needed as well: ${placeInWords(previous)}.`]),
    `To restore: put the copy as turnpike.db${signIn === null ? '' : ', the file of who signs in as sign-in.db'} and the secret as "secret" into an empty directory, then "turnpike check" and "turnpike serve" with --data.`,
    ...(check === null
      ? ['Its tables are of an earlier version: "turnpike check" can look at them once a start has brought them up.']
      : []),
    ...(check?.faults ?? []),
    ...(check?.ok === false
      ? ['The copy is as the store is, and its ledger is not in order: keep the backups of before.']
      : []),
  ];
  for (const line of lines) await world.writeError(`${line}\n`);
}

function placeInWords(source: string): string {
  return source.startsWith('file:') ? `the file ${source.slice('file:'.length)}` : `the variable ${source}`;
}
