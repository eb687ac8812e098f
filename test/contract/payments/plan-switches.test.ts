// A holder who changes between two plans of one price, whose windows have other lengths, in the whole service.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';
import { bodyOf, type Caller, type Json, startWorld, type World } from '../post-messages/world.ts';

const stripe = new ScriptedStripe();
const prices = { burst: stripe.addPrice(2_000).id, steady: stripe.addPrice(2_000).id };
let world: World;
let caller: Caller;
let token: string;
let stopStripe: () => Promise<void>;

beforeAll(async () => {
  const listening = await stripe.listen();
  stopStripe = listening.stop;
  const shared = { price: '20', groups: ['pro'], is_offered: true };
  world = await startWorld(
    {
      groups: { default: { models: ['plain'] }, pro: { models: ['paired'] } },
      plans: {
        burst: { ...shared, title: 'Burst', windows: { '5h': '0.02', week: '0.02' }, stripe_price: prices.burst },
        steady: { ...shared, title: 'Steady', windows: { month: '0.05' }, stripe_price: prices.steady },
      },
    },
    {
      TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
      TURNPIKE_STRIPE_SECRET_KEY: stripe.secretKey,
      TURNPIKE_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
      TURNPIKE_STRIPE_API_URL: listening.url,
    },
  );
  caller = await world.makeKey({ credit: '0' });
  token = String((await world.admin('POST', '/tokens', { role: 'owner', account: caller.account }))['token']);
});
afterAll(async () => {
  await world.stop();
  await stopStripe();
});

/** As the owner of the account. */
async function ask(method: string, path: string, body?: Json): Promise<Json> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${world.url}/api/v1/accounts/${caller.account}${path}`, init);
  expect([method, path, response.status]).toEqual([method, path, 200]);
  return (await response.json()) as Json;
}

/** Buys the plan, or changes to it. */
async function buy(plan: string): Promise<void> {
  const { url } = await ask('POST', '/subscription', { plan });
  const session = [...stripe.state.sessions.values()].find((one) => url !== null && one.url === url);
  if (session !== undefined) stripe.payCheckout(session.id);
  const events = stripe.takeEvents().toReversed();
  expect(await stripe.deliver(events, `${world.url}/webhooks/stripe`, { concurrency: 8 })).toEqual([]);
  expect(await ask('GET', '/plan')).toMatchObject({ plan });
}

/** Sends messages until the plan pays for none. Returns how many were answered. */
async function useUp(): Promise<number> {
  for (let count = 0; ; count++) {
    const response = await world.post(caller.secret, bodyOf({ model: 'paired' }));
    await response.arrayBuffer();
    if (response.status !== 200) return count;
  }
}

const used = async () => ((await ask('GET', '/plan'))['windows'] as Json[]).map((window) => window['used']);

test('changes between plans of one price give each window once, however often they are made', async () => {
  await buy('burst');
  expect(await useUp()).toBeGreaterThan(0);
  const ofBurst = await used();
  await buy('steady');
  expect(await useUp()).toBeGreaterThan(0);
  const ofSteady = await used();
  for (let turn = 0; turn < 3; turn++) {
    await buy('burst');
    expect([await useUp(), await used()]).toEqual([0, ofBurst]);
    await buy('steady');
    expect([await useUp(), await used()]).toEqual([0, ofSteady]);
  }
});
