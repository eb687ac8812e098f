// Which model, group and routes a caller gets for a name, and that every refusal says the same.

import { describe, expect, test } from 'bun:test';
import { buildCatalogue, listOffers, resolveModel } from '../../src/catalog/catalog.ts';
import { TurnpikeError } from '../../src/errors.ts';
import { apply, unseal } from './support.ts';

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
const caller = (groups: string[], keyModels: string[] | null = null) => ({ account: 1, groups, keyModels });

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
