// A plan of an account, from outside: its groups and limits, its windows, and who pays beyond them.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, type Caller, expectError, type Json, startWorld } from '../post-messages/world.ts';

const COST = '0.000255'; // of a message
const LEAST = '0.0015'; // more than the hold of one message, less than that of two

const world = await startWorld({
  groups: {
    default: { models: ['plain'], rpm: 1_000 },
    pro: { models: ['paired', 'plain'], rpm: 1_000 },
  },
  plans: {
    pro: { title: 'Pro', windows: { '5h': LEAST, month: '40' }, groups: ['pro'], limits: { rpm: 7 }, is_offered: true },
    every: { title: 'Every group', windows: { day: '1.00' } },
  },
});
afterAll(() => world.stop());
beforeEach(() => world.upstream.play(scripts.good()));

const planOf = ({ account }: Caller) => world.admin('GET', `/accounts/${account}/plan`);
const change = ({ account }: Caller, body: Json) => world.admin('PATCH', `/accounts/${account}/plan`, body);
const balanceOf = async ({ account }: Caller) => (await world.admin('GET', `/accounts/${account}`))['balance'];
const windowOf = (plan: Json, length: string) =>
  (plan['windows'] as Json[]).find((window) => window['length'] === length);
const send = ({ secret }: Caller, members: Json = {}) => world.post(secret, bodyOf(members));
const readKey = async ({ secret }: Caller) =>
  (await (await fetch(`${world.url}/v1/key`, { headers: { 'x-api-key': secret } })).json()) as Json;

test('a plan adds its group, replaces its limits and pays before the wallet', async () => {
  const caller = await world.makeKey({ credit: '10.00' });
  expect((await send(caller, { model: 'paired' })).status).toBe(400); // of no group of the account
  await change(caller, { plan: 'pro' });
  const answer = await send(caller, { model: 'paired' });
  expect([answer.status, answer.headers.get('anthropic-ratelimit-requests-limit')]).toEqual([200, '7']);
  const plan = await planOf(caller);
  expect(plan).toMatchObject({ plan: 'pro', title: 'Pro', overflow: true, groups: ['pro'], ends_at: null });
  expect(windowOf(plan, '5h')).toMatchObject({ limit: LEAST, used: COST, held: '0' });
  expect(windowOf(plan, 'month')).toMatchObject({ limit: '40.00', used: COST });
  expect(await balanceOf(caller)).toBe('10.00');
  const key = await readKey(caller);
  expect(key).toMatchObject({ groups: ['pro', 'default'], plan: { name: 'pro', windows: plan['windows'] } });
});

test('beyond a window the wallet pays, or the message is refused with the window and its end', async () => {
  const caller = await world.makeKey({ credit: '10.00' });
  await change(caller, { plan: 'pro' });
  const long = { model: 'paired', max_tokens: 90 }; // at most 0.0017: more than the window
  expect((await send(caller, long)).status).toBe(200);
  await change(caller, { overflow: false });
  await expectError(
    await send(caller, long),
    400,
    'billing_error',
    'insufficient_user_quota',
    /^The allowance of the plan for 5 hours is too low until \d{4}-.*Z: this request may cost up to .* choose another plan/,
  );
  expect((await send(caller, { model: 'plain', max_tokens: 8 })).status).toBe(200);
});

test('an owner may change who pays beyond the plan, and nothing else of it', async () => {
  const caller = await world.makeKey({ credit: '10.00' });
  await change(caller, { plan: 'every' });
  const { token } = await world.admin('POST', '/tokens', { role: 'owner', account: caller.account });
  const asOwner = (body: Json) =>
    fetch(`${world.url}/api/v1/accounts/${caller.account}/plan`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect(((await (await asOwner({ overflow: false })).json()) as Json)['overflow']).toBe(false);
  for (const body of [{ plan: 'pro' }, { plan: null }, { ends_at: null }])
    expect([body, (await asOwner(body)).status]).toEqual([body, 400]);
  expect(await planOf(caller)).toMatchObject({ plan: 'every', overflow: false });
});

test('a plan that ends gives its groups and allowance back at that time', async () => {
  const caller = await world.makeKey({ credit: '10.00' });
  await change(caller, { plan: 'pro', ends_at: new Date(Date.now() + 1_500).toISOString() });
  expect((await send(caller, { model: 'paired' })).status).toBe(200);
  await Bun.sleep(1_600);
  expect((await send(caller, { model: 'paired' })).status).toBe(400);
  expect((await send(caller)).status).toBe(200);
  expect(await planOf(caller)).toMatchObject({ plan: null, windows: [] });
});

test('a change of the plan in the file reaches the accounts that have it, and what is used stays used', async () => {
  const caller = await world.makeKey({ credit: '10.00' });
  await change(caller, { plan: 'every' });
  await send(caller);
  const plans = { every: { title: 'Every group', windows: { day: '2.00', week: '5.00' } } };
  await world.admin('POST', '/apply', { document: { plans } });
  let plan = await planOf(caller);
  for (; (plan['windows'] as Json[]).length < 2; plan = await planOf(caller)) await Bun.sleep(10); // in the background
  expect(windowOf(plan, 'day')).toMatchObject({ limit: '2.00', used: COST });
  expect(windowOf(plan, 'week')).toMatchObject({ limit: '5.00' });
  expect(await world.check()).toMatchObject({ ok: true });
});
