// `turnpike provider-bill`: sets where the bills of providers come from, imports them, and lists what they differ by.

import { readFile, stat } from 'node:fs/promises';
import { bounds } from '../config/config.ts';
import { openClient, type Row } from './admin-client.ts';
import { type ApiCommand, apiCommand, flagsOf } from './api-command.ts';
import { type Command, CommandFailed, clientFlags, type Invocation, WrongUsage } from './command.ts';
import { readFields, textFlag } from './flags.ts';
import { type Column, columns, onePage, printObject, printRows } from './output.ts';

const billColumns: readonly Column[] = [
  ...columns('id billed ours difference'),
  ...columns('parts.rounding parts.tiers parts.cancelled parts.beside parts.unknown_price parts.unexplained'),
];
const sourceColumns = columns('provider kind base_url has_credential schedule');
const sourceDetails: readonly Column[] = [
  ...sourceColumns,
  ['MODELS', ({ models }) => Object.entries(models as Row).map(([name, model]) => `${name}=${model}`)],
];

export const billTable: readonly ApiCommand[] = [
  apiCommand('provider-bill list', 'provider-bill-list', billColumns, {
    isLimited: true,
    whenEmpty: 'No bills match.',
  }),
  apiCommand('provider-bill show ID', 'provider-bill-show', printBill),
  apiCommand('provider-bill sources', 'provider-bill-source-list', sourceColumns),
  apiCommand('provider-bill fetch PROVIDER', 'provider-bill-fetch', printImport, {
    send: (client, path, body) => client.postSlowly(path, body),
  }),
];

/** One line for each model and feature. */
async function printBill(invocation: Invocation, bill: Row): Promise<number> {
  if (invocation.json) {
    await printObject(invocation, bill, []);
    return 0;
  }
  await printObject(invocation, bill, [...billColumns, ...columns('messages from imported_at imported_by')]);
  const rows = (bill['models'] as Row[]).flatMap(({ model, features }) =>
    (features as Row[]).map((row) => ({ ...row, model: model || '(none)' })),
  );
  await invocation.world.write('\n');
  const shown = columns('model feature billed ours difference billed_quantity our_quantity');
  await printRows(invocation, onePage(rows), shown, 'Nothing was billed or recorded.');
  return 0;
}

async function printImport(invocation: Invocation, { data }: Row): Promise<number> {
  await printRows(invocation, onePage(data as Row[]), billColumns, 'The bill has no days.');
  return 0;
}

const {
  provider: _provider,
  kind: _kind,
  credential: _credential,
  ...sourceFlags
} = flagsOf('provider-bill-source-set');

const configure: Command = {
  name: 'provider-bill configure',
  summary: 'Set where the bill of a provider comes from; KIND is anthropic, openai or aws',
  positionals: ['PROVIDER', 'KIND'],
  flags: {
    'credential-file': {
      value: 'FILE',
      help: 'has an admin key of Anthropic or OpenAI, or for aws JSON with accessKeyId and secretAccessKey (default: as before)',
    },
    models: {
      value: 'LIST',
      help: 'names on the bill with those at the provider: "Claude4.6Sonnet=anthropic.claude…,…"',
    },
    ...sourceFlags,
    ...clientFlags,
  },
  async run(invocation) {
    const { positionals, flags } = invocation;
    const [provider, kind] = positionals;
    const file = textFlag(flags, 'credential-file');
    const models = textFlag(flags, 'models');
    const body = {
      ...{ provider, kind },
      ...readFields(sourceFlags, flags),
      ...(file !== undefined && { credential: await readCredential(file) }),
      ...(models !== undefined && { models: namesIn(models) }),
    };
    const client = await openClient(invocation);
    await printObject(invocation, await client.post('/provider-bill-sources', body), sourceDetails);
    return 0;
  },
};

async function readCredential(path: string): Promise<string> {
  return (await readSmall(path)).trim();
}

async function readSmall(path: string): Promise<string> {
  try {
    if ((await stat(path)).size > bounds.billCellCharactersMax)
      throw new Error(`it is larger than ${bounds.billCellCharactersMax} bytes`);
    return await readFile(path, 'utf8');
  } catch (thrown) {
    throw new CommandFailed(`cannot read ${path}: ${(thrown as Error).message}`);
  }
}

function namesIn(list: string): Row {
  const pairs = list.split(',').map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1 || at === pair.length - 1) throw new WrongUsage('--models must be NAME=MODEL, separated by commas');
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
  });
  return Object.fromEntries(pairs);
}

const importFile: Command = {
  name: 'provider-bill import',
  summary: 'Import a bill as CSV, in the format of its source; its days replace earlier imports',
  positionals: ['PROVIDER', 'FILE'],
  flags: clientFlags,
  async run(invocation) {
    const [provider = '', file = ''] = invocation.positionals;
    const client = await openClient(invocation);
    const answer = await client.upload(`/provider-bill-sources/${encodeURIComponent(provider)}/import`, file);
    return printImport(invocation, answer);
  },
};

export const billCommands: readonly Command[] = [...billTable, configure, importFile];
