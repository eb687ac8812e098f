// `turnpike token …`: tokens for the admin API, of the installation or of one account. A secret is
// printed by `create` alone.

import { openClient } from './admin-client.ts';
import { type Command, clientFlags, type Invocation, WrongUsage } from './command.ts';
import { choiceFlag, textFlag, timeFlag } from './flags.ts';
import { type Column, printObject, printRows } from './output.ts';

const COLUMNS: readonly Column[] = [
  ['ID', 'id'],
  ['ROLE', 'role'],
  ['ACCOUNT', 'account'],
  ['NAME', 'name'],
  ['PREFIX', 'prefix'],
  ['STATUS', 'status'],
  ['EXPIRES', 'expires_at'],
  ['MADE BY', 'made_by'],
  ['CREATED', 'created_at'],
];

export const tokenCommands: readonly Command[] = [
  {
    name: 'token create',
    summary: 'creates a token for the admin API; its secret is shown this once',
    positionals: [],
    flags: {
      role: { value: 'ROLE', help: 'operator or viewer of the installation; owner or member of an account (needed)' },
      account: { value: 'ID', help: 'the account of an owner or a member' },
      name: { value: 'N', help: 'a name to know it by' },
      expires: { value: 'TIME', help: 'when it stops to be valid, such as 2027-01-31T00:00:00Z' },
      ...clientFlags,
    },
    run: createToken,
  },
  {
    name: 'token list',
    summary: 'lists tokens, oldest first',
    positionals: [],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      await printRows(invocation, client.pages('/tokens'), COLUMNS, 'There are no tokens.');
      return 0;
    },
  },
  {
    name: 'token revoke',
    summary: 'ends a token for good; keys that it made stay',
    positionals: ['ID'],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      const path = `/tokens/${encodeURIComponent(invocation.positionals[0] as string)}/revoke`;
      await printObject(invocation, await client.post(path, {}), COLUMNS);
      return 0;
    },
  },
];

async function createToken(invocation: Invocation): Promise<number> {
  const { flags } = invocation;
  const role = choiceFlag(flags, 'role', ['operator', 'viewer', 'owner', 'member']);
  if (role === undefined) throw new WrongUsage('--role is missing');
  const body = {
    role,
    account: textFlag(flags, 'account'),
    name: textFlag(flags, 'name'),
    expires_at: timeFlag(flags, 'expires'),
  };
  const client = await openClient(invocation);
  await printObject(invocation, await client.post('/tokens', body), [['TOKEN', 'token'], ...COLUMNS]);
  if (!invocation.json) await invocation.world.writeError('Keep the token now: it is not shown again.\n');
  return 0;
}
