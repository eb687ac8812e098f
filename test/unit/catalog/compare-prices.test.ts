// Differences between configured prices and the price list: what counts as a difference, what is unknown to the list,
// and what is not compared.

import { describe, expect, test } from 'bun:test';
import { comparePrices, includedPriceList } from '../../../src/catalog/catalog.ts';
import type { PriceComparison } from '../../../src/catalog/compare-prices.ts';
import { catalogOf } from './support.ts';

const providers = { anthropic: { kind: 'anthropic' }, sandbox: { kind: 'sandbox' } };
const rates = { input: '3', output: '15', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6' };
const sonnetRates = { ...rates, web_search_per_thousand: '10' };
const routes = [{ provider: 'anthropic' }];
const NOW_MS = Date.parse('2026-11-24');

function compare(models: Record<string, object>): PriceComparison {
  return comparePrices(catalogOf({ providers, models }), includedPriceList(), NOW_MS);
}
/** The differences as lines: "part configured≠listed", with the route for a cost. */
function linesOf(models: Record<string, object>): string[] {
  return compare(models).differences.map(
    ({ route, part, configured, listed }) => `${route === null ? '' : `${route} `}${part} ${configured}≠${listed}`,
  );
}
const ofSonnet = (price: object) => linesOf({ 'claude-sonnet-4-6': { price, routes } });

describe('a price', () => {
  test('taken from the list does not differ from it', () => {
    const one = { catalogue: true, routes: [{ provider: 'anthropic', cost: 'catalogue' }] };
    const models = { 'claude-sonnet-4-6': one, 'claude-sonnet-4-5': one, 'claude-opus-5': one };
    expect(compare(models)).toMatchObject({ differences: [], unknown: [] });
  });

  test('differs in each part that has another value', () => {
    expect(ofSonnet({ ...sonnetRates, input: '3.000000000001', cache_write_1h: '0' })).toEqual([
      'input 3.000000000001≠3',
      'cache_write_1h 0≠6',
    ]);
  });

  test('is the same however the decimal is written', () => {
    expect(ofSonnet({ ...sonnetRates, input: 3, output: '15.000' })).toEqual([]);
  });

  test('without a cache rate is compared with the rate that is charged, which is the input rate', () => {
    expect(ofSonnet({ input: '3', output: '15', web_search_per_thousand: '10' })).toEqual([
      'cache_read 3≠0.3',
      'cache_write_5m 3≠3.75',
      'cache_write_1h 3≠6',
    ]);
  });

  test('of a model with higher long-context prices in the list differs in each of its parts', () => {
    const gemini = { input: '2', output: '12', cache_read: '0.2', web_search_per_thousand: '14' };
    const linesOfGemini = (price: object) => linesOf({ 'gemini-3.1-pro-preview': { price, routes } });
    expect(linesOfGemini(gemini)).toEqual([
      'long_context.above null≠200000',
      'long_context.input null≠4',
      'long_context.output null≠18',
      'long_context.cache_read null≠0.4',
    ]);
    const { web_search_per_thousand: _, ...tier } = gemini;
    expect(linesOfGemini({ ...gemini, long_context: { ...tier, above: 100_000 } })).toHaveLength(4);
  });

  test('with long-context prices that only the installation has differs once', () => {
    const long_context = { ...rates, above: 200_000 };
    expect(ofSonnet({ ...sonnetRates, long_context })).toEqual(['long_context.above 200000≠null']);
  });

  test('does not differ in parts that the list does not have', () => {
    const priced = { ...sonnetRates, fast: rates };
    expect(ofSonnet(priced)).toEqual([]);
    const gpt = {
      input: '1.25',
      output: '10',
      cache_read: '0.125',
      cache_write_5m: '7',
      cache_write_1h: '9',
      web_search_per_thousand: '10',
    };
    expect(linesOf({ 'gpt-5.1': { price: gpt, routes } })).toEqual([]);
  });

  test('is found in the list by the name, an alias, or the name at the provider', () => {
    const price = { ...sonnetRates, input: '4' };
    const upstream = [{ provider: 'anthropic', model: 'claude-sonnet-4-6' }];
    for (const model of [
      { aliases: ['claude-sonnet-4-6'], routes },
      { aliases: [], routes: upstream },
    ])
      expect(linesOf({ ours: { price, ...model } })).toEqual(['input 4≠3']);
  });
});

describe('a cost', () => {
  const routeOf = (cost?: object) => [{ provider: 'anthropic', model: 'claude-haiku-4-5', ...(cost && { cost }) }];

  test('is compared under the name at the provider, together with the price', () => {
    const models = { 'claude-sonnet-4-6': { catalogue: true, routes: routeOf({ input: '0.8', output: '5' }) } };
    expect(linesOf(models)).toEqual([
      'anthropic/claude-haiku-4-5 input 0.8≠1',
      'anthropic/claude-haiku-4-5 cache_read 0.8≠0.1',
      'anthropic/claude-haiku-4-5 cache_write_5m 0.8≠1.25',
      'anthropic/claude-haiku-4-5 cache_write_1h 0.8≠2',
      'anthropic/claude-haiku-4-5 web_search_per_thousand null≠10',
    ]);
  });

  test('that is unknown does not differ', () => {
    expect(linesOf({ 'claude-sonnet-4-6': { catalogue: true, routes: routeOf() } })).toEqual([]);
  });
});

test('a model that is not in the list is named separately, and its costs are compared nevertheless', () => {
  const rates = { input: '1', output: '1', cache_read: '0.1', cache_write_5m: '1.25', cache_write_1h: '2' };
  const cost = { ...rates, web_search_per_thousand: '10' };
  const llama = { price: { input: '1', output: '1' }, routes: [{ provider: 'anthropic', model: 'llama3.2', cost }] };
  const routes = [...llama.routes, { provider: 'anthropic', model: 'claude-haiku-4-5', cost }];
  expect(compare({ llama })).toEqual({ differences: [], unknown: ['llama'], retiring: [] });
  expect(compare({ mixed: { ...llama, routes } })).toMatchObject({
    differences: [
      { model: 'mixed', route: 'anthropic/claude-haiku-4-5', part: 'output', configured: '1', listed: '5' },
    ],
    unknown: ['mixed'],
  });
});

test('the sandbox is not compared, even under a name from the list', () => {
  const price = { input: '1', output: '5' };
  const sandbox = { provider: 'sandbox', cost: price };
  const models = { 'sandbox-echo': { price, routes: [sandbox] }, 'claude-sonnet-4-6': { price, routes: [sandbox] } };
  expect(compare(models)).toEqual({ differences: [], unknown: [], retiring: [] });
  const mixed = { catalogue: true, routes: [{ ...sandbox, model: 'claude-sonnet-4-6' }, { provider: 'anthropic' }] };
  expect(compare({ 'claude-sonnet-4-6': mixed }).differences).toEqual([]);
});

test('a difference has the date of the list and the date of the price', () => {
  const catalog = catalogOf({ providers, models: { 'claude-sonnet-4-6': { catalogue: true, routes } } });
  const [entry] = [...catalog.models.values()];
  const price = { ...entry?.price, standard: { ...entry?.price.standard, input: 1n } };
  const models = new Map([['claude-sonnet-4-6', { ...entry, price, priceListedOn: '2026-01-01' }]]);
  expect(
    comparePrices({ ...catalog, models: models as typeof catalog.models }, includedPriceList(), NOW_MS).differences,
  ).toEqual([
    {
      model: 'claude-sonnet-4-6',
      route: null,
      part: 'input',
      fromMs: null,
      configured: '0.000000000001',
      listed: '3',
      asOf: '2026-11-20',
      configuredAsOf: '2026-01-01',
    },
  ]);
});

test('a route to a model that its provider discontinues is named with the date', () => {
  const old = { provider: 'anthropic', model: 'claude-sonnet-4-5-20250929' };
  expect(compare({ ours: { price: sonnetRates, routes: [...routes, old] } }).retiring).toEqual([
    { model: 'ours', route: 'anthropic/claude-sonnet-4-5-20250929', retiresOn: '2026-11-30' },
  ]);
});
