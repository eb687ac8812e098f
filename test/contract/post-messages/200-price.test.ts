// The cost of a response: every count at its own rate, with the multiplier of the group, rounded up once per request.
// The calculation is beside each case, in millionths of a dollar.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney, type Json, sharedWorld } from './world.ts';

const CACHED = { input: '3', output: '15', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6' };
const LONG = {
  above: 1_000,
  input: '6',
  output: '22.5',
  cache_read: '0.6',
  cache_write_5m: '7.5',
  cache_write_1h: '12',
};
const world = await sharedWorld({
  models: {
    cached: {
      price: { ...CACHED, long_context: LONG, fast: { input: '30', output: '150' }, web_search_per_thousand: '10' },
      routes: [{ provider: 'first', model: 'upstream-model', cost: { input: '2', output: '10', cache_read: '0.2' } }],
    },
    bare: { price: { input: '3', output: '15' }, routes: [{ provider: 'first' }] },
    fine: { price: { input: '0.000001', output: '0.000001' }, routes: [{ provider: 'first' }] },
    gift: { price: { input: '0', output: '0' }, routes: [{ provider: 'first' }] },
  },
  groups: {
    vip: { models: ['cached', 'paired'], multiplier: '0.8' },
    odd: { models: ['*'], multiplier: '0.333333' },
  },
});
afterAll(() => world.stop());

/** Sends a message whose provider reports this usage, streamed and not streamed. */
async function charge(usage: Json, expected: Json, members: Json = {}, key: Json = {}, account: Json = {}) {
  for (const stream of [false, true]) {
    const { output_tokens, ...input } = usage;
    world.upstream.play(
      stream
        ? scripts.stream({ usage: { ...input, output_tokens: 1 }, finalUsage: { output_tokens } })
        : scripts.message({ usage }),
    );
    const caller = await world.makeKey(account, key);
    const response = await world.post(caller.secret, bodyOf({ model: 'cached', stream, ...members }));
    expect(response.status).toBe(200);
    await response.text();
    await expectMoney(world, caller, [{ usage_source: 'reported', outcome: 'completed', ...expected }]);
  }
}

test('input and output have their own rates', async () => {
  // 100 × 3 + 10 × 15 = 450
  await charge({ input_tokens: 100, output_tokens: 10 }, { cost: '0.00045' });
});

test('cache reads and cache writes of both lifetimes have their own rates', async () => {
  // 10 × 3 + 10 × 15 + 200 × 0.3 + 40 × 3.75 + 30 × 6 = 30 + 150 + 60 + 150 + 180 = 570
  await charge(
    {
      input_tokens: 10,
      output_tokens: 10,
      cache_read_input_tokens: 200,
      cache_creation_input_tokens: 70,
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 30 },
    },
    {
      cost: '0.00057',
      input_tokens: 10,
      cache_read_input_tokens: 200,
      cache_creation_input_tokens: 70,
      cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 30 },
    },
  );
});

test('cache writes without a lifetime are billed as five-minute writes', async () => {
  // 10 × 3 + 10 × 15 + 40 × 3.75 = 330
  await charge({ input_tokens: 10, output_tokens: 10, cache_creation_input_tokens: 40 }, { cost: '0.00033' });
});

test('cache rates that a model does not set are equal to its input rate', async () => {
  // (10 + 20 + 30) × 3 + 10 × 15 = 330
  await charge(
    { input_tokens: 10, output_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 30 },
    { cost: '0.00033' },
    { model: 'bare' },
  );
});

test('a prompt above the long-context threshold is billed at the long-context rates in full; cached tokens count toward the threshold', async () => {
  // Prompt of 1,000 tokens: 900 × 3 + 100 × 0.3 + 10 × 15 = 2,880
  await charge({ input_tokens: 900, output_tokens: 10, cache_read_input_tokens: 100 }, { cost: '0.00288' });
  // One token more: 901 × 6 + 100 × 0.6 + 10 × 22.5 = 5,691
  await charge({ input_tokens: 901, output_tokens: 10, cache_read_input_tokens: 100 }, { cost: '0.005691' });
});

test('the multiplier of the group that sells the model applies, and the record has the group and the rates', async () => {
  // 450 × 0.8 = 360
  await charge(
    { input_tokens: 100, output_tokens: 10 },
    { cost: '0.00036', group: 'vip', rates: { multiplier: '0.8', input: '3', output: '15', tier: 'standard' } },
    {},
    { groups: ['vip'] },
    { groups: ['vip', 'default'] },
  );
});

test('a cost is rounded up once, to a whole billionth', async () => {
  // (100 × 3 + 10 × 15) × 0.333333 = 149.99985 millionths: 149,999.85 billionths become 150,000
  await charge(
    { input_tokens: 100, output_tokens: 10 },
    { cost: '0.00015', group: 'odd' },
    {},
    {},
    { groups: ['odd'] },
  );
  // 25 tokens at a millionth of a millionth each: 0.025 billionths, rounded up to one.
  await charge({ input_tokens: 15, output_tokens: 10 }, { cost: '0.000000001' }, { model: 'fine' });
});

test('fast output costs the fast rates if the provider reports that it was fast', async () => {
  // 100 × 30 + 10 × 150 = 4,500; served as standard: 450
  await charge({ input_tokens: 100, output_tokens: 10, speed: 'fast' }, { cost: '0.0045' }, { speed: 'fast' });
  await charge({ input_tokens: 100, output_tokens: 10, speed: 'standard' }, { cost: '0.00045' }, { speed: 'fast' });
});

test('web searches are priced per thousand', async () => {
  // 450 + 3 × 10,000,000 / 1,000 = 30,450
  await charge(
    { input_tokens: 100, output_tokens: 10, server_tool_use: { web_search_requests: 3 } },
    { cost: '0.03045', web_searches: 3 },
    { tools: [{ type: 'web_search_20260601', name: 'web_search', max_uses: 5 }] },
  );
});

test('the operator’s cost is in the record if the route defines it', async () => {
  // 100 × 2 + 50 × 0.2 + 10 × 10 = 310
  await charge(
    { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 50 },
    { cost: '0.000465', provider_cost: '0.00031' },
  );
  await charge({ input_tokens: 100, output_tokens: 10 }, { cost: '0.00045', provider_cost: null }, { model: 'bare' });
});

test('an account without balance can use a free model, and the message is recorded', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey({ credit: '0' });
  expect((await world.post(caller.secret, bodyOf({ model: 'gift' }))).status).toBe(200);
  await expectMoney(world, caller, [{ cost: '0', input_tokens: 25, output_tokens: 12 }], '0');
});
