// Which model, group and routes a caller gets for a name, and that every refusal says the same.

import { describe, expect, test } from 'bun:test';
import { buildCatalogue, listOffers, orderRoutes, type Route, resolveModel } from '../../src/catalog/catalog.ts';
import { TurnpikeError } from '../../src/errors.ts';
import { apply, catalogueOf, unseal } from './support.ts';

const price = { input: '1', output: '2' };
const routes = [{ provider: 'sandbox' }];
const file = {
  providers: { sandbox: { kind: 'sandbox' }, gone: { kind: 'sandbox' } },
  models: {
    'claude-a': { aliases: ['a-latest', 'open'], price, routes },
    'gpt-b': { price, routes: [{ provider: 'gone' }, { provider: 'sandbox', model: 'b-upstream' }] },
    stranded: { price, routes: [{ provider: 'gone' }] },
  },
  groups: { all: { models: ['*'] }, cheap: { models: ['claude-*'], multiplier: '0.5' }, other: { models: ['gpt-*'] } },
};
const catalogue = buildCatalogue(
  apply([], file).filter((entry) => entry.name !== 'gone'),
  unseal,
);
const caller = (groups: string[], keyModels: string[] | null = null) => ({ groups, keyModels });

function refusal(name: string, who: Parameters<typeof resolveModel>[1]): TurnpikeError {
  try {
    resolveModel(catalogue, who, name);
  } catch (thrown) {
    if (thrown instanceof TurnpikeError) return thrown;
  }
  throw new Error('it was not refused');
}

describe('resolveModel', () => {
  test('an alias leads to the model under its own name', () => {
    expect(resolveModel(catalogue, caller(['all']), 'a-latest').model.name).toBe('claude-a');
  });

  test('the first group that offers the model sets its price', () => {
    expect(resolveModel(catalogue, caller(['other', 'cheap', 'all']), 'claude-a').group.name).toBe('cheap');
    expect(resolveModel(catalogue, caller(['all', 'cheap']), 'claude-a').group.name).toBe('all');
    expect(resolveModel(catalogue, caller(['no-such-group', 'all']), 'claude-a').group.name).toBe('all');
  });

  test("scopes match the model's own name, so an alias opens nothing", () => {
    expect(resolveModel(catalogue, caller(['all'], ['claude-*']), 'open').model.name).toBe('claude-a');
    expect(refusal('open', caller(['all'], ['open'])).code).toBe('model_not_found');
  });

  test('routes to providers that are gone are left out', () => {
    const offer = resolveModel(catalogue, caller(['all']), 'gpt-b');
    expect(offer.routes.map((route) => route.upstreamModel)).toEqual(['b-upstream']);
  });

  test('unknown, out of scope and without a route are refused in the same words', () => {
    const words = (name: string) => `model: ${name}: there is no such model, or this key may not use it`;
    expect(refusal('foo', caller(['all'])).message).toBe(words('foo'));
    expect(refusal('gpt-b', caller(['all'], ['claude-*'])).message).toBe(words('gpt-b'));
    expect(refusal('gpt-b', caller(['cheap'])).message).toBe(words('gpt-b'));
    expect(refusal('claude-a', caller([])).message).toBe(words('claude-a'));
    expect(refusal('claude-a', caller(['all'], [])).message).toBe(words('claude-a'));
    expect(refusal('stranded', caller(['all'])).message).toBe(words('stranded'));
    expect(refusal('foo', caller(['all']))).toMatchObject({ code: 'model_not_found', status: 400, retry: false });
  });

  test('names that mean something to the language are unknown models', () => {
    for (const name of ['__proto__', 'constructor', 'toString', ''])
      expect(refusal(name, caller(['all'])).code).toBe('model_not_found');
    expect(refusal('x'.repeat(10_000), caller(['all'])).message.length).toBeLessThan(400);
  });
});

test('a listing has what the caller may buy and nothing else', () => {
  const names = (groups: string[], keyModels: string[] | null = null) =>
    listOffers(catalogue, caller(groups, keyModels)).map((offer) => offer.model.name);
  expect(names(['all'])).toEqual(['claude-a', 'gpt-b']);
  expect(names(['other'])).toEqual(['gpt-b']);
  expect(names(['all'], ['*-a'])).toEqual(['claude-a']);
  expect(names([])).toEqual([]);
});

describe('orderRoutes', () => {
  const route = (provider: string, priority: number, weight: number): Route => ({
    provider,
    upstreamModel: 'm',
    priority,
    weight,
    concurrency: null,
    cost: null,
  });
  const order = (from: Route[], random: () => number) =>
    orderRoutes(from, random)
      .map((one) => one.provider)
      .join(' ');

  test('lower priorities come first, whatever the lot says', () => {
    const from = [route('c', 2, 9), route('a', 0, 1), route('b', 1, 5)];
    for (const lot of [0, 0.5, 0.999]) expect(order(from, () => lot)).toBe('a b c');
  });

  test('every route stays in, and the routes given stay as they are', () => {
    const from = Object.freeze([route('a', 0, 1), route('b', 0, 0), route('c', 0, 3)]);
    expect(order(from as Route[], () => 0.999)).toBe('c a b');
    expect(order(from as Route[], () => 0)).toBe('a c b');
  });

  test('a route is first as often as its share of the weight', () => {
    let step = 0;
    const random = () => (step++ * 0.618033988749895) % 1;
    let first = 0;
    for (let round = 0; round < 4_000; round++)
      if (orderRoutes([route('a', 0, 3), route('b', 0, 1)], random)[0]?.provider === 'a') first++;
    expect(first).toBeGreaterThan(2_950);
    expect(first).toBeLessThan(3_050);
  });

  test('routes of weight 0 come last of their priority', () => {
    expect(order([route('spare', 0, 0), route('a', 0, 1), route('later', 1, 1)], () => 0)).toBe('a spare later');
    expect(order([route('x', 0, 0), route('y', 0, 0)], () => 0.9)).toBe('x y');
  });
});

test('a catalogue can be read only', () => {
  const models = catalogueOf(file).models as Map<string, unknown>;
  expect(() => models.set('x', {})).toThrow();
  expect(() => models.clear()).toThrow();
  expect(models.size).toBe(3);
  expect(() => Object.assign(models.get('claude-a') as object, { name: 'b' })).toThrow();
});
