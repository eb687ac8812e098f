// `turnpike provider …`: from where models come, and whether they are there. Credentials are not shown.

import { openClient, type Row } from './admin-client.ts';
import { type Command, clientFlags, type Invocation } from './command.ts';
import { listCommand } from './list-command.ts';
import { type Column, printObject } from './output.ts';

const COLUMNS: readonly Column[] = [
  ['NAME', 'name'],
  ['KIND', 'kind'],
  ['BASE URL', 'base_url'],
  ['CREDENTIAL', (row) => (row['has_credential'] ? 'yes' : 'no')],
];
const UP: Column = ['UP', (row) => upText(row['health'] as Row | null)];
const DETAILS: readonly Column[] = [
  ...COLUMNS,
  ['MODELS', 'models'],
  UP,
  ['LAST SUCCESS', (row) => (row['health'] as Row | null)?.['last_success_at']],
  ['LAST FAILURE', (row) => (row['health'] as Row | null)?.['last_failure_at']],
];
const TEST: readonly Column[] = [
  ['PROVIDER', 'provider'],
  ['OK', (row) => (row['ok'] ? 'yes' : 'no')],
  ['STATUS', 'status'],
  ['MS', 'ms'],
  ['FAULT', 'fault'],
  ['MODELS', 'models'],
  ['MESSAGE', 'message'],
];

export const providerCommands: readonly Command[] = [
  listCommand(
    {
      name: 'provider list',
      summary: 'lists the providers',
      whenEmpty: 'There are no providers: add some with "turnpike apply".',
    },
    '/providers',
    [...COLUMNS, ['MODELS', (row) => (row['models'] as string[]).length], UP],
  ),
  {
    name: 'provider show',
    summary: 'shows a provider, without its credential, and the models that have a route to it',
    positionals: ['NAME'],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      await printObject(invocation, await client.get(pathOf(invocation)), DETAILS);
      return 0;
    },
  },
  {
    name: 'provider test',
    summary: 'asks a provider whether it is there and takes the credential; costs nothing; exit code 1 when not',
    positionals: ['NAME'],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      const result = await client.post(`${pathOf(invocation)}/test`, {});
      await printObject(invocation, result, TEST);
      return result['ok'] === true ? 0 : 1;
    },
  },
];

function pathOf({ positionals }: Invocation): string {
  return `/providers/${encodeURIComponent(positionals[0] as string)}`;
}

function upText(health: Row | null): string | null {
  if (health === null) return null;
  return health['up'] === true ? 'yes' : 'no';
}
