// Service tiers in every front: sold where the model has rates, the group allows it and a route serves it; billed by the tier
// that served; refused by name otherwise.

import { describe, expect, test } from 'bun:test';
import { PRICED_TIERS, parseExactly } from '../../../src/wire/wire.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney } from '../post-messages/world.ts';
import { fronts } from './drivers/drivers.ts';
import type { FrontDriver, Json } from './front-driver.ts';
import { expectError, post, sentOf, sharedFronts } from './front-world.ts';

const world = await sharedFronts();
const at = { base_url: world.upstream.url, private_network: true, api_key: 'key' };
const plain = { input: '0', output: '10' };
const tiers = {
  fast: { input: '0', output: '20' },
  flex: { input: '0', output: '5' },
  ultrafast: { input: '0', output: '60' },
};
const inside = [{ provider: 'tiers-inside', model: 'sandbox-echo' }];
await world.admin('POST', '/apply', {
  document: {
    providers: {
      'tiers-inside': { kind: 'sandbox' },
      'tiers-gemini': { kind: 'gemini', ...at },
      'tiers-anthropic': { kind: 'anthropic', ...at },
      'tiers-responses': { kind: 'openai-responses', ...at },
    },
    models: {
      'tiers-all': { price: { ...plain, ...tiers }, routes: inside },
      'tiers-none': { price: plain, routes: inside },
      'tiers-google': { price: { ...plain, ...tiers }, routes: [{ provider: 'tiers-gemini', model: 'm' }] },
      'tiers-responses': { price: plain, routes: [{ provider: 'tiers-responses', model: 'm' }] },
      'tiers-mixed': {
        price: { ...plain, ...tiers },
        routes: [
          { provider: 'tiers-anthropic', model: 'm' },
          { provider: 'tiers-gemini', model: 'm', priority: 1 },
        ],
      },
    },
    groups: {
      'tiers-flex': { models: ['*'], tiers: ['flex'] },
      'tiers-closed': { models: ['*'], tiers: [] },
    },
  },
});

/** How a front asks for a tier; null: its protocol has no word for it. */
function asking({ hasOpenAiHeaders }: FrontDriver, tier: string): { field: string; members: Json } | null {
  const word = tier === 'fast' ? 'priority' : tier;
  if (hasOpenAiHeaders) return { field: 'service_tier', members: { service_tier: word } };
  return tier === 'ultrafast' ? null : { field: 'serviceTier', members: { serviceTier: word } };
}

/** 10 output tokens, and the tier that served. */
const ofGoogle = (serviceTier: string) =>
  scripts.json(
    JSON.stringify({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
      modelVersion: 'm',
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 10, totalTokenCount: 15, serviceTier },
    }),
  );

describe.each(fronts)('%s', (_, front) => {
  const ask = (secret: string, model: string, members: Json) => post(front, world, secret, { model, members });

  test.each([...PRICED_TIERS])(
    'the tier %s is billed by its rates where it is sold, and else refused by name',
    async (tier) => {
      const asked = asking(front, tier);
      if (asked === null) return;
      const { field, members } = asked;
      const caller = await world.makeKey({ groups: ['default'] });
      const sold = await ask(caller.secret, 'tiers-all', members);
      expect({ status: sold.status, text: await sold.text() }).toMatchObject({ status: 200 });
      const streamed = await post(front, world, caller.secret, { model: 'tiers-all', members, stream: true });
      const text = await streamed.text();
      if (front.hasOpenAiHeaders) expect(text).toContain(`"service_tier":"${members['service_tier']}"`);
      const billed = { service_tier: tier, rates: { tier, output: tiers[tier].output } };
      await expectMoney(world, caller, [billed, billed]);

      const refusal = async (model: string, groups: string[]) => {
        const { secret } = await world.makeKey({ groups });
        return expectError(
          front,
          await ask(secret, model, members),
          'feature_unavailable',
          front.hasParam ? field : null,
        );
      };
      const words = (model: string, has: string) =>
        `${field}: the service tier "${tier}" is not offered for the model ${model}; it has ${has}`;
      expect(await refusal('tiers-none', ['default'])).toBe(words('tiers-none', '"standard"'));
      expect(await refusal('tiers-all', ['tiers-closed'])).toBe(words('tiers-all', '"standard"'));
      if (tier !== 'flex')
        expect(await refusal('tiers-all', ['tiers-flex'])).toBe(words('tiers-all', '"flex", "standard"'));
      if (tier === 'ultrafast')
        expect(await refusal('tiers-google', ['default'])).toBe(words('tiers-google', '"flex", "standard", "fast"'));
    },
  );

  test('the standard tier is asked for by its names, and by none', async () => {
    const caller = await world.makeKey({ groups: ['tiers-closed'] });
    const names = front.hasOpenAiHeaders
      ? ['auto', 'default', 'standard', null].map((service_tier) => ({ service_tier }))
      : ['standard', 'SERVICE_TIER_UNSPECIFIED', null].map((serviceTier) => ({ serviceTier }));
    for (const members of [{}, ...names])
      expect((await ask(caller.secret, 'tiers-all', members as Json)).status).toBe(200);
    await expectMoney(world, caller, Array(names.length + 1).fill({ service_tier: 'standard' }));
  });

  test('a tier goes to a route that serves it, and the tier that served is billed and named', async () => {
    const { members } = asking(front, 'flex') as { members: Json };
    for (const [served, cost, word] of [
      ['flex', '0.00005', 'flex'],
      ['standard', '0.0001', 'default'],
      ['priority', '0.0002', 'priority'],
    ] as const) {
      const caller = await world.makeKey();
      world.upstream.play(ofGoogle(served));
      const response = await ask(caller.secret, 'tiers-mixed', members);
      const answer = parseExactly(await response.text()) as Json;
      expect(sentOf(world)).toMatchObject({ serviceTier: 'flex' });
      await expectMoney(world, caller, [{ cost, provider: 'tiers-gemini', written_off: '0' }]);
      if (front.hasOpenAiHeaders) expect(answer['service_tier']).toBe(word);
      else expect((answer['usageMetadata'] as Json)['serviceTier']).toBe(served);
    }
  });
});

test('Messages asks for tiers by speed and service_tier', async () => {
  for (const [members, tier] of [
    [{ speed: 'fast' }, 'fast'],
    [{ service_tier: 'flex' }, 'flex'],
    [{ service_tier: 'ultrafast' }, 'ultrafast'],
  ] as [Json, keyof typeof tiers][]) {
    const caller = await world.makeKey();
    const field = Object.keys(members)[0];
    expect((await world.post(caller.secret, bodyOf({ model: 'tiers-all', ...members }))).status).toBe(200);
    await expectMoney(world, caller, [{ service_tier: tier, rates: { tier } }]);
    const refused = await world.post(caller.secret, bodyOf({ model: 'tiers-none', ...members }));
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining(`${field}: the service tier \\"${tier}\\" is not offered for the model tiers-none`),
    ]);
  }
});

test('the hold of a cheaper tier pays for the standard one, which may be served in its place', async () => {
  const body = bodyOf({ model: 'tiers-google', service_tier: 'flex', max_tokens: 1_000 });
  const poor = await world.makeKey({ credit: '0.006' }); // enough for 1,000 tokens at the rates of flex
  const refused = await world.post(poor.secret, body);
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('insufficient_user_quota')]);
  const payer = await world.makeKey({ credit: '0.01' });
  world.upstream.play(ofGoogle('standard'));
  expect((await world.post(payer.secret, body)).status).toBe(200);
  await expectMoney(world, payer, [{ cost: '0.0001', written_off: '0' }], '0.01');
});

test('a body of Responses has no word for a tier that its provider may not know', async () => {
  const { secret } = await world.makeKey();
  const [, front] = fronts.find(([name]) => name === 'responses') as [string, FrontDriver];
  for (const [service_tier, sent] of [
    ['default', 'default'],
    ['standard', undefined],
  ] as const) {
    const prompt = { model: 'tiers-responses', members: { service_tier } };
    await (await post(front, world, secret, prompt)).text();
    expect(sentOf(world)['service_tier']).toBe(sent);
  }
});
