// `turnpike check`: opens the store itself and verifies every invariant of the ledger.

import { type Command, CommandFailed, type Invocation, storeFlags } from './command.ts';
import { inWords } from './failure-words.ts';
import { storeOf } from './flags.ts';
import { printObject } from './output.ts';

export const check: Command = {
  name: 'check',
  summary: 'verifies every ledger invariant from the stored rows; works with the server running or stopped',
  positionals: [],
  flags: storeFlags,
  async run(invocation) {
    const { flags, world, json } = invocation;
    const config = world.readConfig(storeOf(flags));
    const report = await world.checkStore(config).catch((thrown) => cannotCheck(invocation, thrown));
    await printObject(invocation, { ...report }, [
      ['OK', (row) => (row['ok'] ? 'yes' : 'no')],
      ['ACCOUNTS', 'accounts'],
      ['ENTRIES', 'entries'],
      ['OPEN HOLDS', 'open_holds'],
      ['USAGE SINCE', (row) => row['usage_since'] ?? 'ever'],
      ['JOURNAL SINCE', (row) => row['journal_since'] ?? 'ever'],
      ['FAULTS', () => report.faults.length],
    ]);
    if (!json) for (const fault of report.faults) await world.writeError(`${fault}\n`);
    return report.ok ? 0 : 1;
  },
};

/** A store that is not there or not ours is not in order either: whoever reads JSON is told in the same shape. */
async function cannotCheck(invocation: Invocation, thrown: unknown): Promise<never> {
  try {
    return inWords(thrown);
  } catch (failure) {
    if (failure instanceof CommandFailed && invocation.json)
      await printObject(
        invocation,
        {
          ok: false,
          accounts: 0,
          entries: 0,
          open_holds: 0,
          usage_since: null,
          journal_since: null,
          faults: [failure.message],
        },
        [],
      );
    throw failure;
  }
}
