// `turnpike person`: persons and their one-time links.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
});
afterEach(() => world[Symbol.dispose]());

const secretOf = (link: unknown) => String(link).split('#')[1];
const purposeOf = (link: unknown) =>
  world.installation.ask('POST', '/api/v1/invitations/show', { secret: secretOf(link) });

test('a person is invited with a link to the console, listed without it, disabled and enabled', async () => {
  const invited = await world.runJson('person', 'invite', '--role', 'viewer', '--name', 'Ada', 'Ada@example.com');
  const { link, link_secret: secret, ...person } = invited;
  expect(link).toBe(`${world.url}/console/invitation#${secret}`);
  expect((await purposeOf(link)).body).toMatchObject({ email: 'ada@example.com', purpose: 'invitation' });
  expect(person).toMatchObject({ email: 'ada@example.com', role: 'viewer', name: 'Ada', status: 'invited' });
  expect(await world.runJson('person', 'list')).toEqual([{ ...person, consents: [] }] as never);
  const disabled = await world.runJson('person', 'disable', String(person['id']));
  expect(disabled).toEqual({ ...person, status: 'disabled', disabled_by: 'installation', link_expires_at: null });
  expect((await purposeOf(link)).status).toBe(404);
  expect((await world.runJson('person', 'enable', String(person['id'])))['status']).toBe('enabled');
  const { out } = await world.run('person', 'list');
  expect(out).toMatch(/^ID +EMAIL .*\nperson_\w{9} +ada@example\.com +viewer /);
});

test('a person who lost their password gets a new link, which is shown only once', async () => {
  const { id: account } = await world.runJson('account', 'create', 'acme');
  const of = ['--role', 'owner', '--account', String(account)];
  const { id } = await world.runJson('person', 'invite', ...of, 'ada@example.com');
  await world.runJson('person', 'enable', String(id));
  const { out, error } = await world.run('person', 'link', String(id));
  const [, link] = /^LINK +(http\S+\/console\/invitation#tk-inv-\w{49})$/m.exec(out) ?? [];
  expect((await purposeOf(link)).body).toMatchObject({ purpose: 'recovery', account: { id: account } });
  expect(error).toContain('not shown again');
});

test('links lead to the configured public address', async () => {
  world.installation.publicOrigin = 'https://turnpike.example.com';
  const { link } = await world.runJson('person', 'invite', '--role', 'operator', 'ada@example.com');
  expect(String(link)).toStartWith('https://turnpike.example.com/console/invitation#tk-inv-');
});

test('invalid arguments of a person command are wrong usage, and send no request', async () => {
  for (const call of [
    ['invite', 'ada@example.com'],
    ['invite', '--role', 'root', 'ada@example.com'],
    ['invite', '--role', 'viewer'],
    ['disable'],
    ['list', 'x'],
  ])
    expect([call, (await world.run('person', ...call)).exitCode]).toEqual([call, 2]);
  expect(world.requests).toEqual([]);
  const refused = await world.run('person', 'invite', '--role', 'viewer', 'nobody');
  expect([refused.exitCode, refused.error]).toEqual([1, expect.stringContaining('email: must be an email address')]);
});

const run = (file: string, ...flags: string[]) =>
  world.run('person', 'import', world.writeFile('people.csv', file), ...flags);

test('the people of a CSV file are invited, in the order of its columns or by their names', async () => {
  const { id: account } = await world.runJson('account', 'create', 'acme');
  const plain = `ada@example.com,owner,${account}\r\nbob@example.com\n`;
  const invited = await run(plain, '--role', 'member', '--account', String(account));
  expect(invited.out).toMatch(/^EMAIL +RESULT +LINK\nada@example\.com +invited +http\S+#tk-inv-\w{49}\nbob@/);
  expect([invited.exitCode, invited.error]).toEqual([0, expect.stringContaining('not shown again')]);
  const named = 'Name,Email,Role\n"Cy ""the"" Third, Jr.",cy@example.com,viewer\n\n';
  expect((await run(named)).exitCode).toBe(0);
  const people = (await world.runJson('person', 'list')) as unknown as Record<string, unknown>[];
  expect(people.map(({ email, role, account: of, name }) => [email, role, of, name]).toSorted()).toEqual([
    ['ada@example.com', 'owner', account, ''],
    ['bob@example.com', 'member', account, ''],
    ['cy@example.com', 'viewer', null, 'Cy "the" Third, Jr.'],
  ]);
});

test('a refused row is printed with its reason, and the command fails', async () => {
  const { exitCode, out } = await run('ada@example.com,viewer\nnobody,viewer\n');
  expect(exitCode).toBe(1);
  expect(out).toMatch(/ada@example\.com +invited .*\nnobody +email: must be an email address/);
});

test('a file of many people is sent in parts', async () => {
  const rows = Array.from({ length: 150 }, (_, at) => `p${at}@example.com,viewer`);
  expect((await run(rows.join('\n'))).exitCode).toBe(0);
  expect(world.requests.filter((request) => request === 'POST /api/v1/people/import')).toHaveLength(2);
});

test.each([
  ['email,department\na@example.com,x\n', 'line 1: the column "department"'],
  ['a@example.com,viewer\nb@example.com,viewer,,B,more\n', 'line 2: has more than 4 columns'],
  ['a@example.com,"viewer\n', 'line 1: is not CSV'],
])('a file that cannot be read is refused with its line, before a request: %j', async (file, words) => {
  const { exitCode, error } = await run(file);
  expect([exitCode, error]).toEqual([1, expect.stringContaining(words)]);
  expect(world.requests).toEqual([]);
});

test('a person’s budget is set by window, removed, and returned to the default', async () => {
  const { body: account } = await world.installation.ask('POST', '/api/v1/accounts', { name: 'acme' });
  const id = String(account['id']);
  const person = await world.runJson('person', 'invite', 'max@example.com', '--role', 'member', '--account', id);
  const budget = (verb: string, ...given: string[]) => world.runJson('person', `${verb}-budget`, ...given);
  const set = await budget('set', String(person['id']), '--limits', 'day=5,month=50.5', '--stops', 'no');
  expect(set['budgets']).toMatchObject([
    {
      ...{ account: id, is_default: false, stops: false },
      limits: [
        { window: 'day', limit: '5.00' },
        { window: 'month', limit: '50.50' },
      ],
    },
  ]);
  const { out } = await world.run('person', 'budget', String(person['id']));
  expect(out).toContain(`${id}: 0 of 5.00 per day, warns only`);
  expect((await budget('set', String(person['id']), '--limits', 'any'))['budgets']).toMatchObject([
    { is_default: false, stops: null, limits: [] },
  ]);
  expect((await budget('reset', String(person['id'])))['budgets']).toMatchObject([{ is_default: true, limits: [] }]);
  const refused = await world.run('person', 'set-budget', String(person['id']), '--limits', 'hour=5');
  expect(refused.error).toContain('must be 5h, day, week or month');
});
