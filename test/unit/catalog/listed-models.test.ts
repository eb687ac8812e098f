// Entries with `*`: which names they sell, at which price and over which routes; and the faults of such entries in a file.

import { describe, expect, test } from 'bun:test';
import {
  type CallerScope,
  CatalogHolder,
  type ModelList,
  patternOf,
  planApply,
  resolveModel,
} from '../../../src/catalog/catalog.ts';
import { bounds } from '../../../src/config/config.ts';
import { apply, NOW_MS, planOptions, unseal } from './support.ts';

const BASE_URL = 'http://127.0.0.1:11434/v1';
const provider = { kind: 'openai', base_url: BASE_URL, private_network: true };
const priceOf = (input: string) => ({ input, output: '0' });
const file = {
  providers: { ollama: provider, other: provider, sandbox: { kind: 'sandbox' } },
  models: {
    'ollama/exact': { aliases: ['ollama/alias'], price: priceOf('1'), routes: [{ provider: 'ollama' }] },
    'ollama/*': {
      price: priceOf('2'),
      routes: [
        { provider: 'ollama', model: '*' },
        { provider: 'other', model: '*', priority: 1 },
      ],
    },
    'ollama/*-embed': {
      serves: 'embeddings',
      price: { input: '3' },
      routes: [{ provider: 'ollama', model: '*-embed' }],
    },
    'ollama/big-*': { price: priceOf('4'), routes: [{ provider: 'other', model: 'big-*' }] },
    'vendor/*': { price: priceOf('5'), routes: [{ provider: 'other' }] },
  },
  groups: { all: { models: ['*'] }, some: { models: ['ollama/q*'] } },
};
const everything: CallerScope = { account: 1, keyModels: null, groups: ['all'] };

function holderWith(names: Record<string, string[]>, given: object = file): CatalogHolder {
  const holder = new CatalogHolder(apply([], given), unseal, () => NOW_MS);
  for (const [name, list] of Object.entries(names)) holder.setList(name, listOf(list));
  return holder;
}

function listOf(names: readonly string[], baseUrl = BASE_URL): ModelList {
  return { kind: 'openai', baseUrl, credential: null, names };
}

const named = ({ current }: CatalogHolder) =>
  [...current.models.keys()].filter((name) => name !== 'ollama/exact').sort();
const sold = ({ current }: CatalogHolder, name: string, caller = everything) => {
  const { model, routes } = resolveModel(current, caller, name);
  return {
    name: model.name,
    entry: model.entry,
    input: Number(model.price.standard.input / 10n ** 12n),
    routes: routes.map(({ provider, upstreamModel }) => `${provider} ${upstreamModel}`),
  };
};

describe('an entry with "*"', () => {
  test('sells each listed name as a model of its own, over the routes whose providers list it', () => {
    const holder = holderWith({ ollama: ['qwen3:8b', 'gemma'], other: ['gemma', 'vendor/x'] });
    expect(sold(holder, 'ollama/qwen3:8b')).toEqual({
      name: 'ollama/qwen3:8b',
      entry: 'ollama/*',
      input: 2,
      routes: ['ollama qwen3:8b'],
    });
    expect(sold(holder, 'ollama/gemma').routes).toEqual(['ollama gemma', 'other gemma']);
    expect(sold(holder, 'vendor/x')).toMatchObject({ entry: 'vendor/*', routes: ['other vendor/x'] });
    expect(() => sold(holder, 'ollama/unknown')).toThrow('does not exist');
    expect(() => sold(holder, 'ollama/*')).toThrow('does not exist');
  });

  test('gives way to a model or an alias of that name', () => {
    const holder = holderWith({ ollama: ['exact', 'alias', 'more'] });
    expect(named(holder)).toEqual(['ollama/more']);
    expect(sold(holder, 'ollama/exact')).toMatchObject({ entry: null, input: 1 });
    expect(sold(holder, 'ollama/alias')).toMatchObject({ name: 'ollama/exact', input: 1 });
  });

  test('gives way to an entry with more literal characters, even if that one’s provider does not list the name', () => {
    const holder = holderWith({ ollama: ['big-a', 'big-b', 'x-embed'], other: ['big-a'] });
    expect(sold(holder, 'ollama/big-a')).toMatchObject({ input: 4, routes: ['other big-a'] });
    expect(() => sold(holder, 'ollama/big-b')).toThrow('does not exist');
    expect(() => sold(holder, 'ollama/x-embed')).toThrow('does not exist');
    expect(resolveModel(holder.current, everything, 'ollama/x-embed', 'embeddings').model.entry).toBe('ollama/*-embed');
  });

  test('is sold within the scopes of group and key, which match the whole name', () => {
    const holder = holderWith({ ollama: ['qwen', 'gemma'] });
    const some = { ...everything, groups: ['some'] };
    expect(sold(holder, 'ollama/qwen', some).name).toBe('ollama/qwen');
    expect(() => sold(holder, 'ollama/gemma', some)).toThrow('does not exist');
    expect(() => sold(holder, 'ollama/qwen', { ...everything, keyModels: ['qwen'] })).toThrow('does not exist');
  });

  test('follows the list: names come and go, and the snapshot stays while nothing changes', () => {
    const holder = holderWith({ ollama: ['a', 'b'] });
    const before = holder.current;
    holder.setList('ollama', listOf(['a', 'b']));
    expect(holder.current).toBe(before);
    holder.setList('ollama', listOf(['b', 'c']));
    expect(named(holder)).toEqual(['ollama/b', 'ollama/c']);
    expect(holder.current.providers).toBe(before.providers);
  });

  test('keeps its models over a change of the catalog, but not over one of the provider’s address', () => {
    const holder = holderWith({ ollama: ['a'] });
    const documents = apply([], file);
    holder.swap(apply(documents, { models: { 'ollama/*': { ...file.models['ollama/*'], price: priceOf('9') } } }));
    expect(sold(holder, 'ollama/a').input).toBe(9);
    holder.swap(apply(documents, { providers: { ollama: { ...provider, base_url: 'http://127.0.0.1:1/v1' } } }));
    expect(named(holder)).toEqual([]);
  });

  test('has the price in force', () => {
    let nowMs = NOW_MS;
    const from = new Date(NOW_MS + 1_000).toISOString();
    const entry = { ...file.models['ollama/*'], price_changes: [{ from, input: '7', output: '0' }] };
    const documents = apply([], { ...file, models: { 'ollama/*': entry } });
    const holder = new CatalogHolder(documents, unseal, () => nowMs);
    holder.setList('ollama', listOf(['a']));
    expect(sold(holder, 'ollama/a').input).toBe(2);
    nowMs += 1_000;
    expect(sold(holder, 'ollama/a').input).toBe(7);
    holder.setList('ollama', listOf(['a', 'b']));
    expect(sold(holder, 'ollama/b').input).toBe(7);
  });
});

test('names that no model can have are not sold: spaces, control characters, "*", and too long ones', () => {
  const long = 'x'.repeat(bounds.modelNameCharactersMax - 'ollama/'.length);
  const holder = holderWith({
    ollama: ['a b', 'a\nb', 'a\u0007', '*', 'a*', '', '\ud800', `${long}x`, long, 'constructor', '$&'],
  });
  expect(named(holder)).toEqual(['ollama/$&', 'ollama/constructor', `ollama/${long}`]);
  for (const name of ['ollama/', 'ollama/a b', `ollama/${long}x`, 'ollama/exact', 'ollama/alias', 'gemma'])
    expect(patternOf(holder.current, name)).toBeNull();
});

test('the models of all lists are bounded', () => {
  const names = (start: number) => Array.from({ length: bounds.listedModelsMax }, (_, at) => `m${start + at}`);
  const holder = holderWith({ ollama: names(0), other: names(100) });
  expect(named(holder)).toHaveLength(bounds.listedModelsMax);
  expect(sold(holder, 'ollama/m100').routes).toHaveLength(2);
});

describe('faults of a file', () => {
  const faultsOf = (models: object) =>
    planApply([], { ...file, models }, planOptions()).faults.map(
      ({ path, message }) => `${path.join('.')}: ${message}`,
    );
  const price = priceOf('1');

  test('a name has at most one "*", and its routes have one exactly if it does', () => {
    expect(faultsOf({ 'a*b*': { price, routes: [{ provider: 'ollama' }] } })[0]).toContain('at most one "*"');
    const whole = { 'a/*': { price, routes: [{ provider: 'ollama', model: 'x' }] } };
    expect(faultsOf(whole)).toEqual(['models.a/*.routes.0.model: must have one "*", as the name of the model has']);
    const single = { a: { price, routes: [{ provider: 'ollama', model: '*' }] } };
    expect(faultsOf(single)).toEqual(['models.a.routes.0.model: cannot have "*": the name of the model has none']);
  });

  test('it has no aliases, no display name and no price of the list, and its providers have a list of models', () => {
    const named = { aliases: ['b'], display_name: 'B', price, routes: [{ provider: 'ollama', model: '*' }] };
    const listed = { catalogue: true, routes: [{ provider: 'ollama', cost: 'catalogue' }] };
    const faults = faultsOf({
      'a/*': named,
      'b/*': listed,
      'c/*': { price, routes: [{ provider: 'sandbox', model: '*' }] },
    });
    expect(faults).toHaveLength(5);
    for (const path of [
      'a/*.aliases',
      'a/*.display_name',
      'b/*.catalogue',
      'b/*.routes.0.cost',
      'c/*.routes.0.provider',
    ])
      expect(faults.join('\n')).toContain(`models.${path}: `);
  });

  test('no alias has "*"', () => {
    expect(faultsOf({ a: { aliases: ['b*'], price, routes: [{ provider: 'ollama' }] } })).toHaveLength(1);
  });
});
