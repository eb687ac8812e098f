// `turnpike provider …`: from where models come, and whether they are there. Credentials are not shown.

import { openClient, type Row } from './admin-client.ts';
import { type Command, clientFlags, type Invocation } from './command.ts';
import { listCommand } from './list-command.ts';
import { type Column, printObject, printRows } from './output.ts';

const COLUMNS: readonly Column[] = [
  ['NAME', 'name'],
  ['KIND', 'kind'],
  ['BASE URL', 'base_url'],
  ['CREDENTIAL', (row) => (row['has_credential'] ? 'yes' : 'no')],
];
const UP: Column = ['UP', (row) => upText(row['health'] as Row | null)];
const ROUTES: Column = ['ROUTES', (row) => countStates(row['routes'] as Row[])];
const ROUTE_STATES: readonly Column[] = [
  ['MODEL', 'model'],
  ['CREDENTIAL', 'credential'],
  ['STATE', 'state'],
  ['UNTIL', 'until'],
  ['FAILURES IN A ROW', 'failures_in_a_row'],
  ['IN FLIGHT', 'in_flight'],
  ['LAST FAILURE', (row) => failureText(row['last_failure'] as Row | null)],
];
const DETAILS: readonly Column[] = [
  ...COLUMNS,
  ['CREDENTIALS', (row) => (row['credentials'] as Row[]).map(credentialText)],
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
const CREDENTIAL_TESTS: readonly Column[] = [
  ['CREDENTIAL', 'name'],
  ['OK', (row) => (row['ok'] ? 'yes' : 'no')],
  ['STATUS', 'status'],
  ['FAULT', 'fault'],
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
    [...COLUMNS, ['MODELS', (row) => (row['models'] as string[]).length], UP, ROUTES],
  ),
  {
    name: 'provider show',
    summary: 'shows a provider, whom its credentials are for, and the models that have a route to it',
    positionals: ['NAME'],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      const provider = await client.get(pathOf(invocation));
      await printWithParts(invocation, provider, DETAILS, provider['routes'] as Row[], ROUTE_STATES);
      return 0;
    },
  },
  {
    name: 'provider test',
    summary: 'asks a provider whether it is there and takes its credentials; costs nothing; exit code 1 when not',
    positionals: ['NAME'],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      const result = await client.post(`${pathOf(invocation)}/test`, {});
      const credentials = result['credentials'] as Row[];
      await printWithParts(invocation, result, TEST, credentials.length < 2 ? [] : credentials, CREDENTIAL_TESTS);
      return result['ok'] === true ? 0 : 1;
    },
  },
];

/** One object, and a table of those of its parts that have several; as JSON all of it is one value. */
async function printWithParts(
  invocation: Invocation,
  row: Row,
  columns: readonly Column[],
  parts: readonly Row[],
  partColumns: readonly Column[],
): Promise<void> {
  await printObject(invocation, row, columns);
  if (invocation.json || parts.length === 0) return;
  async function* pages() {
    yield [...parts];
  }
  await invocation.world.write('\n');
  await printRows(invocation, pages(), partColumns, '');
}

/** "acme (acct_…)", "vip (group vip)"; the name alone where it is for everyone else. */
function credentialText({ name, account, group }: Row): string {
  if (account !== null) return `${name} (${account})`;
  return group === null ? String(name) : `${name} (group ${group})`;
}

function pathOf({ positionals }: Invocation): string {
  return `/providers/${encodeURIComponent(positionals[0] as string)}`;
}

/** Such as "3 ready, 1 open". */
function countStates(routes: readonly Row[]): string | null {
  const counts = new Map<string, number>();
  for (const { state } of routes) counts.set(String(state), (counts.get(String(state)) ?? 0) + 1);
  return counts.size === 0 ? null : [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
}

function failureText(failure: Row | null): string | null {
  return failure === null ? null : `${failure['fault']} at ${failure['at']}`;
}

function upText(health: Row | null): string | null {
  if (health === null) return null;
  return health['up'] === true ? 'yes' : 'no';
}
