// `turnpike apply`: sends a file to the service and says what changed, or every fault with its line.

import { type AdminClient, openClient, Refused, type Row } from './admin-client.ts';
import { FileBroken, type ReadApplyFile, readApplyFile } from './apply-file.ts';
import { type Command, clientFlags, type Invocation } from './command.ts';
import { printObject, printRows } from './output.ts';

export const apply: Command = {
  name: 'apply',
  summary: 'makes providers, models, groups and settings match a YAML file; a wrong file changes nothing',
  positionals: ['FILE'],
  flags: {
    'dry-run': { help: 'says what would change, and changes nothing' },
    prune: { help: 'also removes what an earlier file made and this one does not have' },
    ...clientFlags,
  },
  async run(invocation) {
    try {
      const file = await readApplyFile(invocation.positionals[0] as string, invocation.world.environmentVariable);
      const client = await openClient(invocation);
      await printChanges(invocation, await send(client, file, invocation));
      return 0;
    } catch (thrown) {
      if (thrown instanceof FileBroken && invocation.json) await printFaults(invocation, thrown);
      throw thrown;
    }
  },
};

async function send(client: AdminClient, file: ReadApplyFile, { flags }: Invocation): Promise<Row> {
  const body = { document: file.document, dry_run: flags['dry-run'] === true, prune: flags['prune'] === true };
  try {
    return await client.post('/apply', body);
  } catch (thrown) {
    if (!(thrown instanceof Refused) || thrown.faults.length === 0) throw thrown;
    throw file.broken(thrown.faults);
  }
}

async function printChanges(invocation: Invocation, answer: Row): Promise<void> {
  const isDry = answer['dry_run'] === true;
  if (invocation.json) return printObject(invocation, { ...answer, faults: [] }, []);
  const changes = answer['changes'] as Row[];
  if (isDry && changes.length > 0) await invocation.world.writeError('Would change (nothing was changed):\n');
  await printRows(
    invocation,
    (async function* () {
      yield changes;
    })(),
    [
      ['ACTION', 'action'],
      ['KIND', 'kind'],
      ['NAME', 'name'],
      ['MEMBERS', 'fields'],
    ],
    'Nothing to change: everything is as the file says.',
  );
}

async function printFaults(invocation: Invocation, { faults }: FileBroken): Promise<void> {
  const named = faults.map(({ line, path, message }) => ({ line, path: path.join('.'), message }));
  await printObject(invocation, { changes: [], dry_run: invocation.flags['dry-run'] === true, faults: named }, []);
}
