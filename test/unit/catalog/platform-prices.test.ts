// Costs of routes to clouds: the rates of the platform and the place of its endpoint, never those of the vendor by
// accident. Prices of models stay the vendor's.

import { describe, expect, test } from 'bun:test';
import {
  buildCatalog,
  type CatalogDocument,
  comparePrices,
  formatFault,
  includedPriceList,
  type Model,
  planApply,
  planPriceUpdate,
  priceRoute,
} from '../../../src/catalog/catalog.ts';
import { findListedCost, listedModels } from '../../../src/catalog/price-list/price-list.ts';
import { apply, NOW_MS, planOptions, unseal } from './support.ts';

const kinds = ['anthropic', 'bedrock', 'vertex', 'foundry', 'openai'];
const providers = {
  vendor: { kind: 'anthropic' },
  bedrock: { kind: 'bedrock', region: 'us-east-1' },
  frankfurt: { kind: 'bedrock', region: 'eu-central-1' },
  vertex: { kind: 'vertex', region: 'global', project: 'my-project' },
  belgium: { kind: 'vertex', region: 'europe-west1', project: 'my-project' },
  foundry: { kind: 'foundry', base_url: 'https://mine.services.ai.azure.com/anthropic' },
};
const documentsOf = (models: object, before: CatalogDocument[] = [], given: object = { providers }) =>
  apply(before, { ...given, models }, { kinds });
const catalogFrom = (documents: CatalogDocument[]) => buildCatalog(documents, unseal);
const route = (provider: string, model: string) => ({ provider, model, cost: 'catalogue' });

/** Input and output of a route's cost, in USD. */
function costsOf(routes: [provider: string, model: string][]): string[] {
  const sold = { catalogue: true, routes: routes.map(([provider, model]) => route(provider, model)) };
  const model = catalogFrom(documentsOf({ 'claude-sonnet-4-5': sold })).models.get('claude-sonnet-4-5') as Model;
  return model.routes.map(
    ({ cost }) => `${Number(cost?.standard.input) / 1e12}/${Number(cost?.standard.output) / 1e12}`,
  );
}
const faultsOf = (provider: string, model: string) =>
  planApply(
    [],
    { providers, models: { m: { price: { input: '1', output: '2' }, routes: [route(provider, model)] } } },
    planOptions({ kinds }),
  ).faults.map(formatFault);

describe('a route with the cost of the list', () => {
  test('costs what its platform charges there: a region costs more than the global endpoint', () => {
    expect(
      costsOf([
        ['vendor', 'claude-sonnet-4-5-20250929'],
        ['bedrock', 'global.anthropic.claude-sonnet-4-5-20250929-v1:0'],
        ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
        ['frankfurt', 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'],
        ['vertex', 'claude-sonnet-4-5@20250929'],
        ['belgium', 'claude-sonnet-4-5@20250929'],
        ['belgium', 'claude-opus-4-6'],
        ['vendor', 'claude-opus-4-6'],
        ['foundry', 'claude-sonnet-4-5'],
        ['bedrock', 'amazon.nova-pro-v1:0'],
        ['vertex', 'gemini-2.5-pro'],
      ]),
    ).toEqual([
      '3/15',
      '3/15',
      '3.3/16.5',
      '3.3/16.5',
      '3/15',
      '3.3/16.5',
      '5.5/27.5',
      '5/25',
      '3/15',
      '0.8/3.2',
      '1.25/10',
    ]);
  });

  test('has the cost in the record of a message', () => {
    const routes = [route('bedrock', 'us.anthropic.claude-haiku-4-5-20251001-v1:0')];
    const { models } = catalogFrom(documentsOf({ 'claude-haiku-4-5': { catalogue: true, routes } }));
    const [used] = (models.get('claude-haiku-4-5') as Model).routes;
    const counts = { input: 1_000, output: 100, cacheRead: 10_000, cacheWrite5m: 0, cacheWrite1h: 0, webSearches: 0 };
    // 1,000 at 1.1, 100 at 5.5 and 10,000 at 0.11 millionths of a dollar.
    expect(used && priceRoute(used, counts, 'standard')).toBe(2_750_000);
  });

  test('is refused where the list knows the vendor’s price only', () => {
    const words = 'the price list has no entry for the model of this route at its provider: set the cost';
    for (const [provider, model] of [
      ['foundry', 'claude-fable-5-2'], // sold by the vendor under the same name
      ['vertex', 'claude-mythos-5-2'],
      ['belgium', 'gemini-2.5-pro'], // listed for the global endpoint
      ['frankfurt', 'qwen.qwen3-32b-v1:0'], // listed for another region
      ['bedrock', 'anthropic.claude-sonnet-4-5-20250929-v1:0'], // neither global nor in a geography
      ['vendor', 'vertex/claude-no-such-model'],
    ] as const)
      expect(faultsOf(provider, model)).toEqual([`models.m.routes.0.cost: ${words}`]);
  });

  test('finds the platform of a provider that is stored and not in the file, and of one that the file changes', () => {
    const stored = documentsOf({});
    const sold = { catalogue: true, routes: [route('belgium', 'claude-opus-4-6')] };
    const inputOf = (documents: CatalogDocument[]) =>
      catalogFrom(documents).models.get('claude-opus-4-6')?.routes[0]?.cost?.standard.input;
    expect(inputOf(documentsOf({ 'claude-opus-4-6': sold }, stored, {}))).toBe(5_500_000_000_000n);
    const global = { providers: { belgium: { ...providers.belgium, region: 'global' } } };
    expect(inputOf(documentsOf({ 'claude-opus-4-6': sold }, stored, global))).toBe(5_000_000_000_000n);
  });
});

test('prices of models stay those of the vendor, whatever their first route', () => {
  const routes = [route('bedrock', 'us.anthropic.claude-opus-4-6-v1')];
  const model = catalogFrom(documentsOf({ 'claude-opus-4-6': { catalogue: true, routes } })).models.get(
    'claude-opus-4-6',
  );
  expect(model).toMatchObject({ displayName: 'Claude Opus 4.6', priceListedOn: '2026-11-20' });
  expect(model?.price.standard.input).toBe(5_000_000_000_000n);
});

describe('comparisons and updates', () => {
  const routes = [route('vendor', 'claude-sonnet-4-5'), route('belgium', 'claude-sonnet-4-5@20250929')];
  const documents = documentsOf({ 'claude-sonnet-4-5': { catalogue: true, routes } });

  test('compare a cost with the platform’s row, and do not apply retirements of the vendor to it', () => {
    const { differences, retiring } = comparePrices(catalogFrom(documents), includedPriceList(), NOW_MS);
    expect(differences).toEqual([]);
    expect(retiring.map(({ route }) => route)).toEqual(['vendor/claude-sonnet-4-5']);
    const moved = documentsOf({}, documents, { providers: { belgium: { ...providers.belgium, region: 'global' } } });
    const lines = comparePrices(catalogFrom(moved), includedPriceList(), NOW_MS).differences;
    expect(lines.slice(0, 2)).toMatchObject([
      { route: 'belgium/claude-sonnet-4-5@20250929', part: 'input', configured: '3.3', listed: '3' },
      { route: 'belgium/claude-sonnet-4-5@20250929', part: 'output', configured: '16.5', listed: '15' },
    ]);
  });

  test('a newer price of the vendor replaces equal costs of the vendor’s routes, not of platforms', () => {
    const included = includedPriceList();
    const row = included.models.get('claude-opus-4-6');
    if (row === undefined) throw new Error('not on the list');
    const newer = { ...row, asOf: '2026-12-01', price: { ...row.price, input: '4' } };
    const list = { ...included, models: new Map([...included.models, ['claude-opus-4-6', newer]]) };
    const same = { cost: row.price };
    const sold = {
      catalogue: true,
      routes: [
        { provider: 'vendor', ...same },
        { provider: 'vertex', ...same },
      ],
    };
    const [updated] = planPriceUpdate(documentsOf({ 'claude-opus-4-6': sold }), list, NOW_MS, null).put;
    if (updated === undefined) throw new Error('nothing was updated');
    const costs = (updated.document['routes'] as { cost: { input: string } }[]).map(({ cost }) => cost.input);
    expect(costs).toEqual(['4', '5']);
  });
});

describe('the rows of platforms', () => {
  const list = includedPriceList();
  const rates = (name: string) => list.models.get(name)?.price;

  test('are named after their platform, and no other row is', () => {
    for (const { name, family, aliases } of list.models.values())
      for (const one of [name, ...aliases])
        expect(one.startsWith(`${family}/`)).toBe(['bedrock', 'vertex', 'foundry'].includes(family));
  });

  test('have for each Claude model a global price, and a tenth more in a region, long contexts included', () => {
    const globals = [...listedModels('bedrock'), ...listedModels('vertex')]
      .map(({ name }) => name)
      .filter((name) => /^(bedrock\/global\.anthropic\.|vertex\/claude-)/.test(name));
    expect(globals.length).toBe(31);
    const tenths = (rate: string | null | undefined) => Math.round(Number(rate) * 1e6);
    for (const name of globals) {
      const regional = rates(name.replace('/global.', '/us.').replace('vertex/', 'vertex/regional/'));
      const global = rates(name);
      for (const [one, other] of [
        [global, regional],
        [global?.long_context ?? {}, regional?.long_context ?? {}],
      ] as [Record<string, string | null>, Record<string, string | null>][])
        for (const part of ['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'])
          if (one[part] !== undefined)
            expect([name, part, tenths(other[part])]).toEqual([name, part, tenths(`${Number(one[part]) * 1.1}`)]);
    }
  });

  test('follow the vendor’s price at Foundry', () => {
    const claude = listedModels('foundry').filter(({ name }) => name.startsWith('foundry/claude-'));
    expect(claude.length).toBeGreaterThan(14);
    for (const { name, price } of claude) {
      // Fast mode has a model id of its own there.
      const fast = /^foundry\/(.*)-fast$/.exec(name)?.[1];
      const { fast: fastRates, ...vendor } = rates(fast ?? name.replace('foundry/', '')) ?? price;
      expect(price).toMatchObject(fast === undefined ? vendor : { ...vendor, ...fastRates });
    }
  });

  test('have the vendor’s price of web search where the platform has web search for Claude', () => {
    for (const { name, price } of [...listedModels('bedrock'), ...listedModels('vertex'), ...listedModels('foundry')]) {
      const vendor = /^(?:vertex|foundry)\/(?:regional\/)?(claude-[^@]+?)(?:-fast)?(?:@|$)/.exec(name)?.[1];
      const expected = vendor === undefined ? null : (rates(vendor)?.web_search_per_thousand ?? 'not listed');
      expect([name, price.web_search_per_thousand ?? null]).toEqual([name, expected]);
    }
  });

  test('are found by the kind and the region of the provider', () => {
    const nameOf = (kind: string, region: string | null, model: string) =>
      findListedCost(list, { kind, region }, model)?.name ?? null;
    expect(nameOf('vertex', 'us', 'claude-opus-4-6')).toBe('vertex/regional/claude-opus-4-6');
    expect(nameOf('vertex', 'global', 'claude-opus-4-6@default')).toBe('vertex/claude-opus-4-6');
    expect(nameOf('bedrock', 'ap-northeast-1', 'jp.anthropic.claude-opus-4-8')).toBe(
      'bedrock/us.anthropic.claude-opus-4-8',
    );
    expect(nameOf('openai', null, 'gpt-4.1')).toBe('gpt-4.1');
    expect(nameOf('anthropic', null, 'claude-opus-4-6')).toBe('claude-opus-4-6');
  });
});
