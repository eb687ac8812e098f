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
  expect(await world.runJson('person', 'list')).toEqual([person] as never);
  const disabled = await world.runJson('person', 'disable', String(person['id']));
  expect(disabled).toEqual({ ...person, status: 'disabled', link_expires_at: null });
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
