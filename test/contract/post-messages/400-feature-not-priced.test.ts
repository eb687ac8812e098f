// A feature that changes the price is refused if the model has no price for it, or none can be set.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, type Json, sharedWorld } from './world.ts';

const routes = [{ provider: 'first' }];
const world = await sharedWorld({
  models: {
    'all-priced': {
      price: {
        input: '3',
        output: '15',
        fast: { input: '6', output: '30' },
        web_search_per_thousand: '10',
        long_context: { above: 200_000, input: '6', output: '22.5' },
      },
      routes,
    },
  },
});
afterAll(() => world.stop());

const SEARCH = { type: 'web_search_20260601', name: 'web_search', max_uses: 2 };
const LONG = { 'anthropic-beta': 'context-1m-2025-08-07' };

const features: [string, Json, Record<string, string>][] = [
  ['web_search', { tools: [SEARCH] }, {}],
  ['long context', {}, LONG],
  ['long context', {}, { 'vendor-beta': 'a,context-1m-2025-08-07' }],
];

test.each(features)(
  '%s is refused for a model without a matching price, and accepted with one',
  async (start, members, headers) => {
    const caller = await world.makeKey();
    const refused = await world.post(caller.secret, bodyOf(members), { headers });
    expect(await expectError(refused, 400, 'invalid_request_error', 'feature_not_priced')).toStartWith(`${start}: `);
    await expectNoTrace(world, caller);
    world.upstream.play(scripts.good());
    const body = bodyOf({ model: 'all-priced', ...members });
    expect((await world.post(caller.secret, body, { headers })).status).toBe(200);
    await expectMoney(world, caller, [{ outcome: 'completed' }]);
  },
);

test.each<[string, Json]>([
  ['service_tier', { service_tier: 'priority' }],
  ['inference_geo', { inference_geo: 'us' }],
  ['speed', { speed: 'slow' }],
  ['fallbacks', { fallbacks: [{ model: 'dear' }] }],
  ['code_execution_20260601', { tools: [{ type: 'code_execution_20260601', name: 'code_execution' }] }],
])('%s is offered for no model', async (start, members) => {
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ model: 'all-priced', ...members }));
  expect(await expectError(response, 400, 'invalid_request_error', 'feature_unavailable')).toStartWith(`${start}: `);
  await expectNoTrace(world, caller);
});

test('features without effect on the price are accepted: unknown betas, standard tiers, client tools', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const members = { service_tier: 'auto', speed: 'standard', tools: [{ name: 'web_search', input_schema: {} }] };
  const headers = { 'anthropic-beta': 'beta-of-the-future-2030-01-01' };
  expect((await world.post(caller.secret, bodyOf(members), { headers })).status).toBe(200);
  await expectMoney(world, caller, [{ cost: '0.000255' }]);
});
