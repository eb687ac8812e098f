// `turnpike key …`: keys, their scopes and limits. A secret is printed by `create` and `rotate` alone.

import { type AdminClient, openClient } from './admin-client.ts';
import { type Command, clientFlags, type Flag, type Invocation, requireChange, WrongUsage } from './command.ts';
import {
  addressesFlag,
  amountFlag,
  choiceFlag,
  durationFlag,
  limitFlag,
  listFlag,
  originsFlag,
  orNull,
  textFlag,
  timeFlag,
} from './flags.ts';
import { type Column, printObject, printRows } from './output.ts';

const PERIODS = ['total', 'day', 'week', 'month'] as const;
const KEEP_IT = 'Keep the key now: it is not shown again.\n';
const COLUMNS: readonly Column[] = [
  ['ID', 'id'],
  ['ACCOUNT', 'account'],
  ['NAME', 'name'],
  ['PREFIX', 'prefix'],
  ['STATUS', 'status'],
  ['GROUPS', 'groups'],
  ['MODELS', (row) => row['models'] ?? 'all'],
  [
    'QUOTA',
    (row) => (row['quota'] === null ? null : `${row['quota_used']} of ${row['quota']} (${row['quota_period']})`),
  ],
  ['LAST USED', 'last_used_at'],
];
const DETAILS: readonly Column[] = [
  ...COLUMNS,
  ['REQUESTS/MIN', 'rpm'],
  ['INPUT TOKENS/MIN', 'input_tpm'],
  ['OUTPUT TOKENS/MIN', 'output_tpm'],
  ['CONCURRENCY', 'concurrency'],
  ['ORIGINS', (row) => row['origins'] ?? 'any'],
  ['ADDRESSES', (row) => row['addresses'] ?? 'any'],
  ['EXPIRES', 'expires_at'],
  ['CREATED', 'created_at'],
];

export const keyCommands: readonly Command[] = [
  {
    name: 'key create',
    summary: 'creates a key; its secret is shown this once',
    positionals: [],
    flags: {
      account: { value: 'ID', help: 'the account that pays (needed)' },
      name: { value: 'N', help: 'a name to know it by' },
      group: { value: 'G[,G2]', help: "its groups in order, among the account's (default: all of them)" },
      models: { value: 'A,B*', help: 'the models that it may use; * stands for any characters' },
      quota: { value: 'AMOUNT', help: 'the most that it may use' },
      'quota-period': {
        value: 'PERIOD',
        help: 'total, day, week or month: when the quota begins anew (default: total)',
      },
      rpm: { value: 'N', help: 'requests a minute' },
      'input-tpm': { value: 'N', help: 'input tokens a minute' },
      'output-tpm': { value: 'N', help: 'output tokens a minute' },
      concurrency: { value: 'N', help: 'messages at once' },
      expires: { value: 'TIME', help: 'when it stops to be valid, such as 2027-01-31T00:00:00Z' },
      origins: { value: 'A,B', help: 'the browser origins that may use it, such as https://app.example.com' },
      addresses: { value: 'CIDR,…', help: 'the addresses that may use it, such as 203.0.113.0/24' },
      ...clientFlags,
    },
    run: createKey,
  },
  {
    name: 'key list',
    summary: 'lists keys, oldest first',
    positionals: [],
    flags: { account: { value: 'ID', help: 'only the keys of this account' }, ...clientFlags },
    async run(invocation) {
      const account = textFlag(invocation.flags, 'account');
      const client = await openClient(invocation);
      await printRows(invocation, client.pages('/keys', { account }), COLUMNS, 'There are no keys.');
      return 0;
    },
  },
  onOne('show', 'shows a key, without its secret', {}, (client, path) => client.get(path)),
  {
    name: 'key update',
    summary: 'changes a key; what is not named stays as it is',
    positionals: ['ID'],
    flags: {
      name: { value: 'N', help: 'a name to know it by' },
      group: { value: 'G[,G2]', help: "its groups in order, among the account's; any for all of them" },
      models: { value: 'A,B*', help: 'the models that it may use; any for all of its groups' },
      quota: { value: 'AMOUNT', help: 'the most that it may use; none for no such limit' },
      'quota-period': { value: 'PERIOD', help: 'total, day, week or month: when the quota begins anew' },
      rpm: { value: 'N', help: 'requests a minute; none for no limit' },
      'input-tpm': { value: 'N', help: 'input tokens a minute; none for no limit' },
      'output-tpm': { value: 'N', help: 'output tokens a minute; none for no limit' },
      concurrency: { value: 'N', help: 'messages at once; none for no limit' },
      expires: { value: 'TIME', help: 'when it stops to be valid, such as 2027-01-31T00:00:00Z; none for never' },
      origins: { value: 'A,B', help: 'the browser origins that may use it; any for all' },
      addresses: { value: 'CIDR,…', help: 'the addresses that may use it; any for all' },
      ...clientFlags,
    },
    run: updateKey,
  },
  onOne('disable', 'disables a key: it answers 401', {}, (client, path) => client.patch(path, { status: 'disabled' })),
  onOne('enable', 'enables a key again', {}, (client, path) => client.patch(path, { status: 'enabled' })),
  onOne(
    'revoke',
    'ends a key for good; messages that run may finish',
    { now: { help: 'ends its running messages too' } },
    (client, path, { flags }) => client.post(`${path}/revoke`, { now: flags['now'] === true }),
  ),
  {
    name: 'key rotate',
    summary: 'gives a key another secret; it is shown this once',
    positionals: ['ID'],
    flags: {
      grace: { value: 'TIME', help: 'how long the secret of before still opens it, such as 1h or 0s (default: 24h)' },
      ...clientFlags,
    },
    run: rotateKey,
  },
];

async function rotateKey(invocation: Invocation): Promise<number> {
  const grace = durationFlag(invocation.flags, 'grace');
  const client = await openClient(invocation);
  const path = `/keys/${encodeURIComponent(invocation.positionals[0] as string)}/rotate`;
  const key = await client.post(path, { grace });
  await printObject(invocation, key, [['KEY', 'key'], ['OTHERS END', 'grace_ends_at'], ...DETAILS]);
  if (!invocation.json) await invocation.world.writeError(KEEP_IT);
  return 0;
}

async function createKey(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const account = textFlag(flags, 'account');
  if (account === undefined) throw new WrongUsage('--account is missing');
  const quota = amountFlag(flags, 'quota');
  const period = choiceFlag(flags, 'quota-period', PERIODS);
  if (period !== undefined && quota === undefined) throw new WrongUsage('--quota-period needs --quota');
  const body = {
    account,
    name: textFlag(flags, 'name'),
    groups: listFlag(flags, 'group'),
    models: listFlag(flags, 'models'),
    quota,
    quota_period: period,
    rpm: limitFlag(flags, 'rpm'),
    input_tpm: limitFlag(flags, 'input-tpm'),
    output_tpm: limitFlag(flags, 'output-tpm'),
    concurrency: limitFlag(flags, 'concurrency'),
    expires_at: timeFlag(flags, 'expires'),
    origins: originsFlag(flags, 'origins'),
    addresses: addressesFlag(flags, 'addresses'),
  };
  const client = await openClient(invocation);
  const key = await client.post('/keys', body);
  await printObject(invocation, key, [['KEY', 'key'], ...DETAILS]);
  if (!invocation.json) await invocation.world.writeError(KEEP_IT);
  return 0;
}

async function updateKey(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const limit = (name: string) => orNull(flags, name, 'none', limitFlag);
  const body = {
    name: textFlag(flags, 'name'),
    groups: orNull(flags, 'group', 'any', listFlag),
    models: orNull(flags, 'models', 'any', listFlag),
    quota: orNull(flags, 'quota', 'none', amountFlag),
    quota_period: choiceFlag(flags, 'quota-period', PERIODS),
    rpm: limit('rpm'),
    input_tpm: limit('input-tpm'),
    output_tpm: limit('output-tpm'),
    concurrency: limit('concurrency'),
    expires_at: orNull(flags, 'expires', 'none', timeFlag),
    origins: orNull(flags, 'origins', 'any', originsFlag),
    addresses: orNull(flags, 'addresses', 'any', addressesFlag),
  };
  requireChange(body);
  const client = await openClient(invocation);
  const path = `/keys/${encodeURIComponent(invocation.positionals[0] as string)}`;
  await printObject(invocation, await client.patch(path, body), DETAILS);
  return 0;
}

/** A command on the key that its one argument names. */
function onOne(
  word: string,
  summary: string,
  flags: Record<string, Flag>,
  act: (client: AdminClient, path: string, invocation: Invocation) => ReturnType<AdminClient['get']>,
): Command {
  return {
    name: `key ${word}`,
    summary,
    positionals: ['ID'],
    flags: { ...flags, ...clientFlags },
    async run(invocation) {
      const client = await openClient(invocation);
      const path = `/keys/${encodeURIComponent(invocation.positionals[0] as string)}`;
      await printObject(invocation, await act(client, path, invocation), DETAILS);
      return 0;
    },
  };
}
