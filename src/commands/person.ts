// `turnpike person …`: people who sign in to the console. A one-time link is printed by `invite` and `link` alone.

import { type AdminClient, openClient, type Row } from './admin-client.ts';
import { type Command, clientFlags, type Invocation, WrongUsage } from './command.ts';
import { choiceFlag, textFlag } from './flags.ts';
import { type Column, printObject, printRows } from './output.ts';

const COLUMNS: readonly Column[] = [
  ['ID', 'id'],
  ['EMAIL', 'email'],
  ['ROLE', 'role'],
  ['ACCOUNT', 'account'],
  ['NAME', 'name'],
  ['STATUS', 'status'],
  ['LINK EXPIRES', 'link_expires_at'],
  ['INVITED BY', 'made_by'],
  ['CREATED', 'created_at'],
];

const KEEP_IT = 'Give them the link, and nobody else: it is good for one time, and not shown again.\n';

export const personCommands: readonly Command[] = [
  {
    name: 'person invite',
    summary: 'invites a person; the link by which they sign in first is shown this once',
    positionals: ['EMAIL'],
    flags: {
      role: { value: 'ROLE', help: 'operator or viewer of the installation; owner or member of an account (needed)' },
      account: { value: 'ID', help: 'the account of an owner or a member' },
      name: { value: 'N', help: 'their name, until they say it themselves' },
      ...clientFlags,
    },
    run: invitePerson,
  },
  {
    name: 'person list',
    summary: 'lists people, oldest first',
    positionals: [],
    flags: clientFlags,
    async run(invocation) {
      const client = await openClient(invocation);
      await printRows(invocation, client.pages('/people'), COLUMNS, 'There are no people.');
      return 0;
    },
  },
  {
    name: 'person disable',
    summary: 'lets a person in nowhere any more; their link and sessions end',
    positionals: ['ID'],
    flags: clientFlags,
    run: (invocation) => setStatus(invocation, 'disabled'),
  },
  {
    name: 'person enable',
    summary: 'lets a person in again',
    positionals: ['ID'],
    flags: clientFlags,
    run: (invocation) => setStatus(invocation, 'enabled'),
  },
  {
    name: 'person link',
    summary: 'makes a link for a new password, which ends sessions and takes a second factor away once it is accepted',
    positionals: ['ID'],
    flags: clientFlags,
    async run(invocation) {
      return makeLink(invocation, await openClient(invocation), `${pathOf(invocation)}/link`, {});
    },
  },
];

async function invitePerson(invocation: Invocation): Promise<number> {
  const { flags, positionals } = invocation;
  const role = choiceFlag(flags, 'role', ['operator', 'viewer', 'owner', 'member']);
  if (role === undefined) throw new WrongUsage('--role is missing');
  const body = {
    email: positionals[0],
    role,
    account: textFlag(flags, 'account'),
    name: textFlag(flags, 'name'),
  };
  return makeLink(invocation, await openClient(invocation), '/people', body);
}

async function setStatus(invocation: Invocation, status: 'enabled' | 'disabled'): Promise<number> {
  const client = await openClient(invocation);
  await printObject(invocation, await client.patch(pathOf(invocation), { status }), COLUMNS);
  return 0;
}

/** The link leads to where people reach the service. Its secret stands behind the #, so that no server is told it by who opens it. */
async function makeLink(invocation: Invocation, client: AdminClient, path: string, body: Row): Promise<number> {
  const { base_url: baseUrl } = await client.get('/me'); // before: a link that was made is to be seen
  const person = await client.post(path, body);
  const link = `${baseUrl ?? client.url}/console/invitation#${person['link_secret']}`;
  await printObject(invocation, { ...person, link }, [['LINK', 'link'], ...COLUMNS]);
  if (!invocation.json) await invocation.world.writeError(KEEP_IT);
  return 0;
}

function pathOf({ positionals }: Invocation): string {
  return `/people/${encodeURIComponent(positionals[0] as string)}`;
}
