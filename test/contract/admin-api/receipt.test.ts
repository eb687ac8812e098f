// The cost and meters in the record of a message: from the JSON alone, the cost can be recalculated exactly, line by
// line.

import { beforeAll, expect, test } from 'bun:test';
import { type ModelPrice, priceMessage, type Rates, rateRecord } from '../../../src/catalog/catalog.ts';
import { makeRandom } from '../../support/random.ts';
import { type Installation, type Json, makeAccount, makeInstallation, makeKey, useKey } from './installation.ts';

const random = makeRandom(7);
const draw = (n: number) => Math.floor(random() * n);
const chance = (one: number) => draw(one) === 0;

let installation: Installation;
let ask: Installation['ask'];
let account: Json;
let key: Json;
beforeAll(async () => {
  installation = await makeInstallation();
  ask = installation.ask;
  account = await makeAccount(installation, { credit: '5000000.00' });
  key = await makeKey(installation, account['id']);
});

const drawRate = () => BigInt(draw(3)) * BigInt(draw(2 ** 31)) * BigInt(10 ** draw(5));
const drawRates = (): Rates => ({
  input: drawRate(),
  output: drawRate(),
  cacheRead: drawRate(),
  cacheWrite5m: drawRate(),
  cacheWrite1h: drawRate(),
});
const drawCount = () => (chance(3) ? 0 : draw(200_000));

function drawBill() {
  const price: ModelPrice = {
    standard: drawRates(),
    longContext: chance(2) ? { aboveTokens: 200_000, rates: drawRates() } : null,
    tiers: { fast: { standard: drawRates(), longContext: null } },
    fromMs: 0,
    next: null,
    webSearchPerThousand: chance(4) ? null : drawRate(),
  };
  const counts = {
    input: drawCount(),
    output: drawCount(),
    cacheRead: drawCount(),
    cacheWrite5m: drawCount(),
    cacheWrite1h: drawCount(),
    webSearches: chance(2) ? 0 : draw(20),
  };
  const multiplier = chance(3) ? 1_000_000n : BigInt(draw(3_000_000));
  const speed = chance(4) ? 'fast' : 'standard';
  return {
    inputTokens: counts.input,
    outputTokens: counts.output,
    cacheReadTokens: counts.cacheRead,
    cacheWrite5mTokens: counts.cacheWrite5m,
    cacheWrite1hTokens: counts.cacheWrite1h,
    webSearches: counts.webSearches,
    cost: priceMessage(price, counts, multiplier, speed),
    rates: rateRecord(price, counts, multiplier, speed),
  };
}

/** A decimal in units of 10^-24. */
function exactly(text: unknown): bigint {
  const [whole = '', fraction = ''] = String(text).split('.');
  return BigInt(whole + fraction.padEnd(24, '0'));
}

const UNIT = 10n ** 24n;
const NANO = 10n ** 15n;

/** The rule of docs/admin-api.md, applied to the JSON alone; in nanodollars. */
function recalculateCost(body: Json): bigint {
  const rates = body['rates'] as Record<string, string>;
  const written = body['cache_creation'] as Json;
  const parts: [count: unknown, rate: string | undefined, per: bigint][] = [
    [body['input_tokens'], rates['input'], 1_000_000n],
    [body['output_tokens'], rates['output'], 1_000_000n],
    [body['cache_read_input_tokens'], rates['cache_read'], 1_000_000n],
    [written['ephemeral_5m_input_tokens'], rates['cache_write_5m'], 1_000_000n],
    [written['ephemeral_1h_input_tokens'], rates['cache_write_1h'], 1_000_000n],
    [body['web_searches'], rates['web_search_per_thousand'] ?? '0', 1_000n],
  ];
  const sum = parts.reduce((total, [count, rate, per]) => total + (BigInt(Number(count)) * exactly(rate)) / per, 0n);
  const cost = sum * exactly(rates['multiplier']);
  return (cost + UNIT * NANO - 1n) / (UNIT * NANO);
}

test('the cost is the product of rates, counts and multiplier, rounded up once, minus refunds', async () => {
  let roundedUp = 0;
  let tiers = new Set<unknown>();
  for (let at = 0; at < 300; at++) {
    const [requestId] = await useKey(installation, key, 1, drawBill());
    const path = `/api/v1/usage/${requestId}`;
    const { body } = await ask('GET', path);
    expect(exactly(body['cost']) / NANO).toBe(recalculateCost(body));
    const price = body['price'] as Json;
    const parts = (price['parts'] as Json[]).reduce((sum, part) => sum + exactly(part['amount']), 0n);
    expect((parts * exactly(price['multiplier'])) / UNIT).toBe(exactly(price['before_rounding']));
    expect([price['after_rounding'], price['given_back']]).toEqual([body['cost'], '0']);
    if (exactly(price['before_rounding']) < exactly(body['cost'])) roundedUp++;
    tiers = tiers.add((body['rates'] as Json)['tier']);
    if (!chance(5) || body['cost'] === '0') continue;
    const back = await ask('POST', `${path}/refunds`, chance(2) ? {} : { amount: '0.000000001' });
    const after = (await ask('GET', path)).body;
    expect(exactly(after['cost'])).toBe(recalculateCost(after) * NANO - exactly(back.body['amount']));
    expect((after['price'] as Json)['given_back']).toBe(back.body['amount']);
  }
  expect(roundedUp).toBeGreaterThan(30);
  expect([...tiers].toSorted()).toEqual(['fast', 'long_context', 'standard']);
});

test('the record has the balance, the quota and the allowance before and after the message; a member sees only the quota of their key', async () => {
  const { body: made } = await ask('POST', '/api/v1/accounts', {
    name: 'beta',
    credit: '10.00',
    allowance: '5.00',
    allowance_period: 'month',
  });
  const token = (await ask('POST', '/api/v1/tokens', { role: 'member', account: made['id'] })).body['token'];
  const asMember = { authorization: `Bearer ${token}` };
  const terms = { account: made['id'], quota: '1.00', quota_period: 'day' };
  const { body: own } = await ask('POST', '/api/v1/keys', terms, asMember);
  const [, requestId] = await useKey(installation, own, 2);
  const path = `/api/v1/usage/${requestId}`;
  const quota = { limit: '1.00', period: 'day', before: '0.001', after: '0.002' };
  expect((await ask('GET', path)).body['meters']).toEqual({
    balance: { before: '9.999', after: '9.998' },
    quota,
    allowance: { limit: '5.00', period: 'month', before: '0.001', after: '0.002' },
  });
  const seen = { balance: null, quota, allowance: null };
  expect((await ask('GET', path, undefined, asMember)).body['meters']).toEqual(seen);
  const { body: list } = await ask('GET', '/api/v1/usage', undefined, asMember);
  expect((list['data'] as Json[])[0]?.['meters']).toEqual(seen);
});
