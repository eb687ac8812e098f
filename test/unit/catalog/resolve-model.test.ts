// The model, group and routes that a caller gets for a name. Every refusal has the same text.

import { describe, expect, test } from 'bun:test';
import { buildCatalog, listOffers, resolveModel } from '../../../src/catalog/catalog.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { apply, catalogOf, unseal } from './support.ts';

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
const catalog = buildCatalog(
  apply([], file).filter((entry) => entry.name !== 'gone'),
  unseal,
);
const caller = (groups: string[], keyModels: string[] | null = null) => ({ account: 1, groups, keyModels });

function refusal(name: string, who: Parameters<typeof resolveModel>[1]): TurnpikeError {
  try {
    resolveModel(catalog, who, name);
  } catch (thrown) {
    if (thrown instanceof TurnpikeError) return thrown;
  }
  throw new Error('the request was not refused');
}

describe('resolveModel', () => {
  test('an alias leads to the model under its own name', () => {
    expect(resolveModel(catalog, caller(['all']), 'a-latest').model.name).toBe('claude-a');
  });

  test('the first group that offers the model sets its price', () => {
    expect(resolveModel(catalog, caller(['other', 'cheap', 'all']), 'claude-a').group.name).toBe('cheap');
    expect(resolveModel(catalog, caller(['all', 'cheap']), 'claude-a').group.name).toBe('all');
    expect(resolveModel(catalog, caller(['no-such-group', 'all']), 'claude-a').group.name).toBe('all');
  });

  test("scopes match the model's own name, so an alias grants nothing", () => {
    expect(resolveModel(catalog, caller(['all'], ['claude-*']), 'open').model.name).toBe('claude-a');
    expect(refusal('open', caller(['all'], ['open'])).code).toBe('model_not_found');
  });

  test('routes to removed providers are left out', () => {
    const offer = resolveModel(catalog, caller(['all']), 'gpt-b');
    expect(offer.routes.map((route) => route.upstreamModel)).toEqual(['b-upstream']);
  });

  test('a model that is unknown, out of scope or without a route is refused with the same text', () => {
    const words = (name: string) => `model: ${name}: the model does not exist, or this key does not have access to it`;
    expect(refusal('foo', caller(['all'])).message).toBe(words('foo'));
    expect(refusal('gpt-b', caller(['all'], ['claude-*'])).message).toBe(words('gpt-b'));
    expect(refusal('gpt-b', caller(['cheap'])).message).toBe(words('gpt-b'));
    expect(refusal('claude-a', caller([])).message).toBe(words('claude-a'));
    expect(refusal('claude-a', caller(['all'], [])).message).toBe(words('claude-a'));
    expect(refusal('stranded', caller(['all'])).message).toBe(words('stranded'));
    expect(refusal('foo', caller(['all']))).toMatchObject({ code: 'model_not_found', status: 400, retry: false });
  });

  test('names with a meaning in JavaScript are unknown models', () => {
    for (const name of ['__proto__', 'constructor', 'toString', ''])
      expect(refusal(name, caller(['all'])).code).toBe('model_not_found');
    expect(refusal('x'.repeat(10_000), caller(['all'])).message.length).toBeLessThan(400);
  });
});

test('a listing has exactly the models that the caller may use', () => {
  const names = (groups: string[], keyModels: string[] | null = null) =>
    listOffers(catalog, caller(groups, keyModels)).map((offer) => offer.model.name);
  expect(names(['all'])).toEqual(['claude-a', 'gpt-b']);
  expect(names(['other'])).toEqual(['gpt-b']);
  expect(names(['all'], ['*-a'])).toEqual(['claude-a']);
  expect(names([])).toEqual([]);
});

describe('a model of embeddings', () => {
  const catalog = catalogOf({
    providers: { openai: { kind: 'anthropic' } },
    models: {
      small: {
        serves: 'embeddings',
        price: { input: '0.02' },
        routes: [{ provider: 'openai', cost: { input: '0.01' } }],
      },
      chat: { price: { input: '1', output: '2' }, routes: [{ provider: 'openai' }] },
    },
    groups: { default: { models: ['*'] } },
  });
  const scope = { account: 1, keyModels: null, groups: ['default'] };

  test('has an input rate only, and is not sold for messages, nor a model of messages for embeddings', () => {
    expect(catalog.models.get('small')?.price.standard).toMatchObject({ input: 20_000_000_000n, output: 0n });
    expect(catalog.models.get('small')?.routes[0]?.cost?.standard.output).toBe(0n);
    expect(() => resolveModel(catalog, scope, 'small')).toThrow('small: the model does not exist');
    expect(() => resolveModel(catalog, scope, 'chat', 'embeddings')).toThrow('chat: the model does not exist');
    expect(resolveModel(catalog, scope, 'small', 'embeddings').model.name).toBe('small');
    const namesOf = (serves?: 'messages' | 'embeddings') =>
      listOffers(catalog, scope, serves).map(({ model }) => model.name);
    expect([namesOf('messages'), namesOf('embeddings'), namesOf()]).toEqual([['chat'], ['small'], ['small', 'chat']]);
  });
});
