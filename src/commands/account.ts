// `turnpike account …`: accounts, their groups and what bounds them.

import { type AdminClient, openClient } from './admin-client.ts';
import { type Command, clientFlags, type Invocation, requireChange, WrongUsage } from './command.ts';
import { amountFlag, choiceFlag, listFlag, orNull, textFlag } from './flags.ts';
import { type Column, printObject, printRows } from './output.ts';

const COLUMNS: readonly Column[] = [
  ['ID', 'id'],
  ['NAME', 'name'],
  ['STATUS', 'status'],
  ['GROUPS', 'groups'],
  ['BALANCE', 'balance'],
  ['HELD', 'held'],
  ['AVAILABLE', 'available'],
  ['CREATED', 'created_at'],
];
const DETAILS: readonly Column[] = [
  ...COLUMNS,
  ['CREDIT LINE', 'credit_line'],
  ['ALLOWANCE', (row) => (row['allowance'] === null ? null : `${row['allowance']} (${row['allowance_period']})`)],
  ['ALLOWANCE USED', 'allowance_used'],
];

const PERIODS = ['day', 'week', 'month', 'total'] as const;

export const accountCommands: readonly Command[] = [
  {
    name: 'account create',
    summary: 'creates an account',
    positionals: ['NAME'],
    flags: {
      group: { value: 'G[,G2]', help: 'the groups that its keys may be in (default: default)' },
      credit: { value: 'AMOUNT', help: 'its first credit in USD, such as 10.00' },
      allowance: { value: 'AMOUNT', help: 'the most that it may use in a period' },
      'allowance-period': { value: 'PERIOD', help: 'day, week or month: when the allowance begins anew' },
      'credit-line': { value: 'AMOUNT', help: 'how far below zero its balance may go (default: 0)' },
      ...clientFlags,
    },
    run: createAccount,
  },
  {
    name: 'account list',
    summary: 'lists all accounts, oldest first',
    positionals: [],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      await printRows(invocation, client.pages('/accounts'), COLUMNS, 'There are no accounts.');
      return 0;
    },
  },
  onOne('show', 'shows an account', (client, path) => client.get(path)),
  {
    name: 'account update',
    summary: 'changes an account; what is not named stays as it is',
    positionals: ['ID'],
    flags: {
      name: { value: 'N', help: 'its name' },
      group: { value: 'G[,G2]', help: 'the groups that its keys may be in' },
      allowance: { value: 'AMOUNT', help: 'the most that it may use in a period; none for no such limit' },
      'allowance-period': { value: 'PERIOD', help: 'day, week, month or total: when the allowance begins anew' },
      'credit-line': { value: 'AMOUNT', help: 'how far below zero its balance may go' },
      ...clientFlags,
    },
    run: updateAccount,
  },
  onOne('disable', 'disables an account: its keys answer 401', (client, path) =>
    client.patch(path, { status: 'disabled' }),
  ),
  onOne('enable', 'enables an account again', (client, path) => client.patch(path, { status: 'enabled' })),
];

async function createAccount(invocation: Invocation): Promise<number> {
  const { flags, positionals } = invocation;
  const allowance = amountFlag(flags, 'allowance');
  const period = choiceFlag(flags, 'allowance-period', PERIODS);
  if (period !== undefined && allowance === undefined) throw new WrongUsage('--allowance-period needs --allowance');
  const body = {
    name: positionals[0],
    groups: listFlag(flags, 'group'),
    credit: amountFlag(flags, 'credit'),
    allowance,
    allowance_period: period,
    credit_line: amountFlag(flags, 'credit-line'),
  };
  const client = await openClient(invocation);
  await printObject(invocation, await client.post('/accounts', body), DETAILS);
  return 0;
}

async function updateAccount(invocation: Invocation): Promise<number> {
  const { flags, positionals } = invocation;
  const body = {
    name: textFlag(flags, 'name'),
    groups: listFlag(flags, 'group'),
    allowance: orNull(flags, 'allowance', 'none', amountFlag),
    allowance_period: choiceFlag(flags, 'allowance-period', PERIODS),
    credit_line: amountFlag(flags, 'credit-line'),
  };
  requireChange(body);
  const client = await openClient(invocation);
  const account = await client.patch(`/accounts/${encodeURIComponent(positionals[0] as string)}`, body);
  await printObject(invocation, account, DETAILS);
  return 0;
}

/** A command on the account that its one argument names. */
function onOne(
  word: string,
  summary: string,
  act: (client: AdminClient, path: string) => ReturnType<AdminClient['get']>,
): Command {
  return {
    name: `account ${word}`,
    summary,
    positionals: ['ID'],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      const account = await act(client, `/accounts/${encodeURIComponent(invocation.positionals[0] as string)}`);
      await printObject(invocation, account, DETAILS);
      return 0;
    },
  };
}
