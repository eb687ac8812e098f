// Recalculating the cost of a message from records of a real service: every kind of price and counter, refunds, and
// inconsistent records.

import { afterAll, describe, expect, test } from 'bun:test';
import { calculatePrice, type Priced } from '../../console/features/requests/calculate-price.ts';
import type { ReceiptShape } from '../../src/admin-api/shapes.ts';
import { bodyOf, sharedWorld } from '../contract/post-messages/world.ts';
import { makeRandom } from '../support/random.ts';
import { scripts } from '../support/scripted-upstream.ts';

const MESSAGES = 120;
const SEED = 4711;
const routes = [{ provider: 'first', model: 'upstream-model' }];
const world = await sharedWorld({
  models: {
    plain_price: { price: { input: '3', output: '15' }, routes },
    every_rate: {
      price: {
        ...{ input: '3', output: '15', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6' },
        long_context: { above: 1_000, input: '6', output: '22.5', cache_read: '0.6' },
        fast: { input: '30', output: '150' },
        web_search_per_thousand: '10',
      },
      routes,
    },
    finest: {
      price: { input: '0.000000000001', output: '0.000001', web_search_per_thousand: '0.000000000001' },
      routes,
    },
    odd: { price: { input: '1.234567890123', output: '7.777777777777', web_search_per_thousand: '9.99' }, routes },
    gift: { price: { input: '0', output: '0', web_search_per_thousand: '0' }, routes },
  },
  groups: {
    default: { models: ['*'], multiplier: '1' },
    cheap: { models: ['*'], multiplier: '0.333333' },
    dear: { models: ['*'], multiplier: '1.7' },
  },
});
afterAll(() => world.stop());

const models = ['plain_price', 'every_rate', 'finest', 'odd', 'gift'];
const groups = ['default', 'cheap', 'dear'];

test(`the recalculated cost is exact for every kind of price (${MESSAGES} messages, seed ${SEED})`, async () => {
  const random = makeRandom(SEED);
  const below = (most: number) => Math.floor(random() * most);
  const secrets = await Promise.all(
    groups.map(async (group) => (await world.makeKey({ credit: '1000', groups: [group] })).secret),
  );
  const met = new Set<string>();
  for (let at = 0; at < MESSAGES; at++) {
    const secret = secrets[at % groups.length] as string;
    const receipt = await receiptOf(secret, models[below(models.length)] as string, below);
    const price = calculatePrice(receipt);
    if (price === null) throw new Error(`no price was calculated from ${JSON.stringify(receipt.rates)}`);
    expect(price).toMatchObject({ isVerified: true, refunded: '0', cost: price.afterRounding });
    expect<unknown>(price.lines).toEqual(linesOf(receipt));
    expect(price.beforeRounding).toBe(receipt.price?.before_rounding ?? 'no price');
    for (const { part } of price.lines) met.add(part);
    met.add(receipt.rates['tier'] ?? '');
  }
  for (const shape of ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'web_search'])
    expect(met).toContain(shape);
  for (const tier of ['standard', 'long_context', 'fast']) expect(met).toContain(tier);
});

/** The price lines of the service in the format of the console. */
function linesOf({ price }: ReceiptShape) {
  return price?.parts.map((part) => ({ ...part, per: part.part === 'web_search' ? 'thousand' : 'million' }));
}

/** Sends a message whose provider reports random usage, and returns its record. */
async function receiptOf(secret: string, model: string, below: (most: number) => number): Promise<ReceiptShape> {
  const [short, long] = [below(3) * below(400), below(3) * below(400)];
  const mayBeFast = model === 'every_rate' && below(3) === 0;
  const usage = {
    input_tokens: below(1_500),
    output_tokens: below(60),
    cache_read_input_tokens: below(2) * below(900),
    cache_creation_input_tokens: short + long,
    cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    ...(mayBeFast && { speed: 'fast' }),
    ...(model !== 'plain_price' && { server_tool_use: { web_search_requests: below(4) } }),
  };
  world.upstream.play(scripts.message({ usage }));
  const answer = await world.post(
    secret,
    bodyOf({
      model,
      ...(mayBeFast && { speed: 'fast' }),
      ...(model !== 'plain_price' && { tools: [{ type: 'web_search_20260601', name: 'web_search', max_uses: 5 }] }),
    }),
  );
  expect({ status: answer.status, text: await answer.text() }).toMatchObject({ status: 200 });
  return recordOf(answer.headers.get('request-id') as string);
}

async function recordOf(requestId: string): Promise<ReceiptShape> {
  return (await world.admin('GET', `/usage/${requestId}`)) as unknown as ReceiptShape;
}

test('the refunded amount is the difference between price and cost', async () => {
  const { secret } = await world.makeKey();
  world.upstream.play(scripts.good());
  const requestId = (await world.post(secret, bodyOf())).headers.get('request-id') as string;
  await world.admin('POST', `/usage/${requestId}/refunds`, { amount: '0.0001' });
  expect(calculatePrice(await recordOf(requestId))).toMatchObject({
    afterRounding: '0.000255',
    refunded: '0.0001',
    cost: '0.000155',
    isVerified: true,
  });
});

describe('an inconsistent record', () => {
  const record: Priced = {
    input_tokens: 100,
    output_tokens: 10,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    web_searches: 0,
    units: {},
    rates: { multiplier: '0.333333', input: '3', output: '15' },
    cost: '0.00015',
  };

  test('is not verified if its cost is a billionth of a dollar too high', () => {
    expect(calculatePrice(record)).toMatchObject({ isVerified: true, beforeRounding: '0.00014999985' });
    expect(calculatePrice({ ...record, cost: '0.000150001' })).toMatchObject({
      isVerified: false,
      refunded: '-0.000000001',
    });
  });

  test('is not recalculated if a rate is missing', () => {
    expect(calculatePrice({ ...record, web_searches: 1 })).toBeNull();
    expect(calculatePrice({ ...record, rates: {} } as unknown as Priced)).toBeNull();
  });

  test('is summed exactly beyond the range of floating point', () => {
    const large = {
      ...record,
      input_tokens: 9_007_199_254_740_991,
      rates: { ...record.rates, multiplier: '1' },
    } as Priced;
    expect(calculatePrice(large)?.beforeRounding).toBe('27021597764.223123');
  });
});
