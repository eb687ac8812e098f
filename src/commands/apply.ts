// `turnpike apply`: sends a file to the service and prints the changes, or every fault with its line.

import { openClient, Refused, type Row } from './admin-client.ts';
import { FileBroken, type ReadApplyFile, readApplyFile } from './apply-file.ts';
import { type Command, CommandFailed, clientFlags, type Invocation } from './command.ts';
import { columns, onePage, printObject, printRows } from './output.ts';

export const apply: Command = {
  name: 'apply',
  summary: 'Make providers, models, groups and settings match a YAML file; an invalid file changes nothing',
  positionals: ['FILE'],
  flags: {
    'dry-run': { help: 'prints what would change without changing anything' },
    prune: { help: 'also removes objects that an earlier file created and this one omits' },
    ...clientFlags,
  },
  async run(invocation) {
    try {
      const file = await readApplyFile(invocation.positionals[0] as string, invocation.world.environmentVariable);
      if (file.hasFaults) throw await findAllFaults(file, invocation);
      await printChanges(invocation, await send(file, invocation, invocation.flags['dry-run'] === true));
      return 0;
    } catch (thrown) {
      if (thrown instanceof FileBroken && invocation.json) await printFaults(invocation, thrown);
      throw thrown;
    }
  },
};

async function send(file: ReadApplyFile, invocation: Invocation, isDry: boolean): Promise<Row> {
  const client = await openClient(invocation);
  const body = { document: file.document, dry_run: isDry, prune: invocation.flags['prune'] === true };
  try {
    return await client.post('/apply', body);
  } catch (thrown) {
    if (!(thrown instanceof Refused) || thrown.faults.length === 0) throw thrown;
    throw file.broken(thrown.faults);
  }
}

/** Sends a file with faults as a dry run, so that the service's faults are reported together with them. */
async function findAllFaults(file: ReadApplyFile, invocation: Invocation): Promise<FileBroken> {
  if (!file.isWhole) return file.broken([]);
  try {
    await send(file, invocation, true);
  } catch (thrown) {
    if (thrown instanceof FileBroken) return thrown;
    if (!(thrown instanceof CommandFailed)) throw thrown;
    await invocation.world.writeError(`There may be more faults: ${thrown.message}\n`);
  }
  return file.broken([]);
}

async function printChanges(invocation: Invocation, answer: Row): Promise<void> {
  const isDry = answer['dry_run'] === true;
  if (invocation.json) return printObject(invocation, { ...answer, faults: [] }, []);
  const changes = answer['changes'] as Row[];
  if (isDry && changes.length > 0) await invocation.world.writeError('Would change (nothing was changed):\n');
  await printRows(
    invocation,
    onePage(changes),
    [...columns('action kind name'), ['MEMBERS', 'fields']],
    'Nothing to change: everything already matches the file.',
  );
}

async function printFaults(invocation: Invocation, { faults }: FileBroken): Promise<void> {
  const named = faults.map(({ line, path, message }) => ({ line, path: path.join('.'), message }));
  await printObject(invocation, { changes: [], dry_run: invocation.flags['dry-run'] === true, faults: named }, []);
}
