// `catalogue: true` and `cost: catalogue` in a file: what is taken from the price list, what is stored, and every
// fault.

import { describe, expect, test } from 'bun:test';
import { buildCatalog, formatFault, type Model, planApply } from '../../../src/catalog/catalog.ts';
import { apply, catalogOf, planOptions, unseal } from './support.ts';

const providers = { anthropic: { kind: 'anthropic' }, sandbox: { kind: 'sandbox' } };
const rates = { input: '3', output: '15', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6' };
const listedPrice = { ...rates, web_search_per_thousand: '10' };
const routes = [{ provider: 'anthropic' }];

function modelOf(name: string, model: object): Model {
  return catalogOf({ providers, models: { [name]: model } }).models.get(name) as Model;
}
function faultsOf(name: string, model: object): string[] {
  return planApply([], { providers, models: { [name]: model } }, planOptions())
    .faults.map(formatFault)
    .sort();
}
const stated = catalogOf({ providers, models: { m: { price: listedPrice, routes } } }).models.get('m') as Model;

describe('a model that says "catalogue: true"', () => {
  test('has price, name and limits from the list, and the date of the list', () => {
    const model = modelOf('claude-sonnet-4-6', { catalogue: true, routes });
    expect(model).toMatchObject({
      price: stated.price,
      priceListedOn: '2026-11-20',
      displayName: 'Claude Sonnet 4.6',
      maxInputTokens: 1_000_000,
      maxOutputTokens: 128_000,
      aliases: [],
    });
    expect(model.routes[0]?.cost).toBeNull();
  });

  test('keeps values of the file, including an explicit lack of a limit', () => {
    const own = { display_name: 'Ours', max_input_tokens: null, max_output_tokens: 1_000 };
    expect(modelOf('claude-sonnet-4-6', { catalogue: true, routes, ...own })).toMatchObject({
      displayName: 'Ours',
      maxInputTokens: null,
      maxOutputTokens: 1_000,
      priceListedOn: '2026-11-20',
    });
  });

  test('is found by its own name first, then by an alias, then by its name in the first route', () => {
    const inputOf = (name: string, model: object) =>
      modelOf(name, { catalogue: true, ...model }).price.standard.input / 1_000_000_000_000n;
    const opus = [{ provider: 'anthropic', model: 'claude-opus-4-5' }];
    expect(inputOf('claude-haiku-4-5-20251001', { routes: opus, aliases: ['claude-sonnet-4-6'] })).toBe(1n);
    expect(inputOf('ours', { routes: opus, aliases: ['fast', 'claude-sonnet-4-6'] })).toBe(3n);
    expect(inputOf('ours', { routes: [...opus, { provider: 'anthropic', model: 'claude-sonnet-4-6' }] })).toBe(5n);
    expect(modelOf('ours', { catalogue: true, routes: opus }).displayName).toBe('Claude Opus 4.5');
  });

  test('is refused if the list does not have it, without a second fault for the missing price', () => {
    expect(faultsOf('llama', { catalogue: true, routes, aliases: ['constructor', '__proto__'] })).toEqual([
      'models.llama.catalogue: the price list has no entry for this model, its aliases or its first route: set a price',
    ]);
    expect(faultsOf('llama', { catalogue: true })).toEqual([
      'models.llama.catalogue: the price list has no entry for this model, its aliases or its first route: set a price',
      'models.llama.routes: is missing: a model needs a route',
    ]);
  });

  test('is refused if it also has a price', () => {
    for (const name of ['claude-sonnet-4-6', 'llama'])
      expect(faultsOf(name, { catalogue: true, price: listedPrice, routes })).toEqual([
        `models.${name}.catalogue: cannot be combined with price: remove one of them`,
      ]);
  });

  test('gets its other faults reported, too', () => {
    expect(
      faultsOf('llama', { catalogue: true, aliases: 3, routes: [{ provider: 'nobody', weight: -1 }], x: 1 }),
    ).toEqual([
      'models.llama.aliases: must be a list',
      'models.llama.catalogue: the price list has no entry for this model, its aliases or its first route: set a price',
      'models.llama.routes.0.provider: there is no provider "nobody"',
      'models.llama.routes.0.weight: must be at least 0',
      'models.llama.x: unknown member',
    ]);
  });

  test('accepts only true or false', () => {
    for (const catalogue of ['true', 1, null, {}, 'yes'])
      expect(faultsOf('claude-sonnet-4-6', { catalogue, routes })).toEqual([
        'models.claude-sonnet-4-6.catalogue: must be true or false',
      ]);
    expect(modelOf('claude-sonnet-4-6', { catalogue: false, price: listedPrice, routes }).priceListedOn).toBeNull();
    expect(faultsOf('claude-sonnet-4-6', { catalogue: false, routes })[0]).toStartWith(
      'models.claude-sonnet-4-6.price: is missing',
    );
  });
});

describe('the stored model', () => {
  const file = { providers, models: { sonnet: { aliases: ['claude-sonnet-4-6'], catalogue: true, routes } } };
  const documents = apply([], file);

  test('has the price itself, so that another list does not change it', () => {
    const document = documents.find(({ name }) => name === 'sonnet')?.document;
    expect(document?.['price']).toMatchObject({ ...listedPrice, long_context: null });
    expect(document?.['price_source']).toEqual({ catalogue: '2026-11-20' });
    expect(document).not.toHaveProperty('catalogue');
  });

  test('does not change when the file is applied again', () => {
    expect(planApply(documents, file, planOptions()).changes).toEqual([]);
  });

  test('drops the reference to the list when a price is given, even the same price', () => {
    const { catalogue: _, ...rest } = file.models.sonnet;
    const limits = { display_name: 'Claude Sonnet 4.6', max_input_tokens: 1_000_000, max_output_tokens: 128_000 };
    const models = { sonnet: { ...rest, ...limits, price: listedPrice } };
    expect(planApply(documents, { providers, models }, planOptions()).changes).toEqual([
      { action: 'update', kind: 'model', name: 'sonnet', fields: ['price_source'] },
    ]);
  });

  test('cannot set its price source in a file', () => {
    const price_source = { catalogue: '2030-01-01' };
    expect(faultsOf('m', { price: listedPrice, routes, price_source })).toEqual([
      'models.m.price_source: unknown member',
    ]);
  });

  test('of an earlier version, without a price source, counts as having a price of its own', () => {
    const earlier = documents.map((entry) => {
      const { price_source: _, ...document } = entry.document;
      return { ...entry, document };
    });
    expect(buildCatalog(earlier, unseal).models.get('sonnet')?.priceListedOn).toBeNull();
  });
});

describe('a route that says "cost: catalogue"', () => {
  test('has the listed cost of the name at the provider, whatever the price is', () => {
    const model = modelOf('ours', {
      price: { input: '10', output: '20' },
      routes: [
        { provider: 'anthropic', model: 'claude-sonnet-4-6', cost: 'catalogue' },
        { provider: 'anthropic', model: 'claude-haiku-4-5-20251001', cost: 'catalogue' },
        { provider: 'anthropic', model: 'claude-opus-4-5', cost: { input: '1', output: '2' } },
      ],
    });
    expect(model.price.standard.input).toBe(10_000_000_000_000n);
    const inputs = model.routes.map((route) => route.cost?.standard.input);
    expect(inputs).toEqual([3_000_000_000_000n, 1_000_000_000_000n, 1_000_000_000_000n]);
    expect(model.routes[0]?.cost).toEqual(stated.price);
  });

  test('uses the model’s own name if the route has no other', () => {
    const model = modelOf('claude-sonnet-4-6', {
      catalogue: true,
      routes: [{ provider: 'anthropic', cost: 'catalogue' }],
    });
    expect(model.routes[0]?.cost).toEqual(model.price);
  });

  test('is refused if the list does not have that name', () => {
    const cost = 'catalogue';
    const own = { price: listedPrice, aliases: ['claude-sonnet-4-6'], routes: [{ provider: 'anthropic', cost }] };
    expect(faultsOf('ours', own)).toEqual([
      'models.ours.routes.0.cost: the price list has no entry for the model of this route at its provider: set the cost',
    ]);
    const routes = [{ provider: 'anthropic' }, { provider: 'anthropic', model: 'llama3.2', cost }];
    expect(faultsOf('claude-sonnet-4-6', { catalogue: true, routes })).toEqual([
      'models.claude-sonnet-4-6.routes.1.cost: the price list has no entry for the model of this route at its provider: set the cost',
    ]);
  });

  test('accepts only that word, rates, or nothing', () => {
    for (const cost of ['list', true, 3])
      expect(faultsOf('m', { price: listedPrice, routes: [{ provider: 'anthropic', cost }] })).toEqual([
        'models.m.routes.0.cost: must be rates such as { input: "…", output: "…" }, or "catalogue" for the rates of the price list',
      ]);
    expect(
      modelOf('m', { price: listedPrice, routes: [{ provider: 'anthropic', cost: null }] }).routes[0]?.cost,
    ).toBeNull();
  });
});
