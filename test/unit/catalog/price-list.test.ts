// The price list that comes with the service: the rules that every row follows.

import { describe, expect, test } from 'bun:test';
import {
  buildCatalog,
  type CatalogDocument,
  firstDocuments,
  includedPriceList,
  type ListedModel,
  type Model,
  type ModelPrice,
  planApply,
  type Rates,
} from '../../../src/catalog/catalog.ts';
import { listedModels } from '../../../src/catalog/price-list/price-list.ts';
import { apply, KINDS, planOptions, seal, unseal } from './support.ts';

const { families } = includedPriceList();
const listed = [...includedPriceList().models.values()];
const priced = modelsOf(listed);

/** The listed models as sold by a file that takes every price and cost from the list. */
function modelsOf(models: readonly ListedModel[]): Map<string, Model> {
  const one = ({ name, aliases }: ListedModel) => [
    name,
    { aliases, catalogue: true, routes: [{ provider: 'p', cost: 'catalogue' }] },
  ];
  const file = {
    providers: { p: { kind: 'anthropic' } },
    models: Object.fromEntries(models.map(one)),
  };
  return new Map(buildCatalog(apply([], file), unseal).models);
}

type PricePath =
  | 'long_context'
  | 'fast'
  | 'web_search_per_thousand'
  | 'cache_read'
  | 'cache_write_5m'
  | 'cache_write_1h';

/**
 * Rates of each family, and the models that have them: vendors sell some features with some models only, and publish no
 * rate for cached prompts of their oldest and dearest models, which are charged as input.
 */
const FAMILY_RATES: Record<string, Partial<Record<PricePath, RegExp>>> = {
  anthropic: {
    cache_read: /./,
    cache_write_5m: /./,
    cache_write_1h: /./,
    web_search_per_thousand: /./,
    fast: /^claude-(fable-5-2|mythos-5-2|opus-(5|5-5|4-8))$/,
    long_context: /^claude-haiku-5-5$/,
  },
  openai: {
    cache_read: /^(?!gpt-5(\.\d)?-pro$|o3-pro$|gpt-audio)/,
    cache_write_5m: /^gpt-(6|5\.6|daybreak)/,
    web_search_per_thousand: /^(gpt-5|gpt-6(?!\.2)|o3)(?!.*-(cyber|rosalind))/,
    long_context: /^gpt-(6(?!-cyber)|5\.6|5\.[45](-pro)?$|daybreak)/,
  },
  gemini: { cache_read: /./, web_search_per_thousand: /./, long_context: /-pro/ },
  xai: { cache_read: /./, long_context: /./ },
  deepseek: { cache_read: /./ },
  mistral: { cache_read: /./ },
};

/** The family's rates that a row lacks. */
function lackingRates({ name, family, serves, price }: ListedModel): string[] {
  if (serves !== 'messages') return [];
  const wanted = Object.entries(FAMILY_RATES[family] ?? {}).filter(([, models]) => models.test(name));
  const lacking = wanted.filter(([path]) => price[path as PricePath] === null).map(([path]) => path);
  const cacheRates = wanted.map(([path]) => path).filter((path) => path.startsWith('cache_')) as CacheRate[];
  for (const tier of ['long_context', 'fast'] as const)
    for (const rate of cacheRates) if (price[tier]?.[rate] === null) lacking.push(`${tier}.${rate}`);
  return lacking.map((path) => `${name}: ${path}`);
}

const ratesOf = (price: ModelPrice): Rates[] =>
  [price, ...Object.values(price.tiers)].flatMap(({ standard, longContext }) => [
    standard,
    longContext?.rates ?? standard,
  ]);
type CacheRate = Extract<PricePath, `cache_${string}`>;
type RatesInput = NonNullable<ListedModel['price']['fast']>;
const priceOf = (name: string) => priced.get(name)?.price as ModelPrice;

describe('the price list', () => {
  test('has the most requested families, each with a date and a source', () => {
    expect(families.map(({ family }) => family)).toEqual(
      expect.arrayContaining(['anthropic', 'openai', 'gemini', 'deepseek', 'xai', 'mistral']),
    );
    for (const { family, asOf, source } of families) {
      expect(asOf).toMatch(/^2\d{3}-\d\d-\d\d$/);
      expect(Date.parse(asOf)).toBeGreaterThan(0);
      expect(source.length).toBeGreaterThan(20);
      expect(listedModels(family).length).toBeGreaterThan(0);
    }
    expect(listed.length).toBeGreaterThan(100);
    for (const { asOf, source } of listed) {
      expect(asOf).toMatch(/^2\d{3}-\d\d-\d\d$/);
      expect(source).toMatch(/^https:\/\/[a-z.-]+\/\S+(?: \(.+\))?$/);
    }
  });

  test('can be applied as a file, unchanged and with every model', () => {
    expect(priced.size).toBe(listed.length);
    expect([...priced.values()].map(({ name, priceListedOn }) => [name, priceListedOn])).toEqual(
      listed.map(({ name, asOf }) => [name, asOf]),
    );
  });

  test('has no name or alias twice, also across families', () => {
    const names = listed.flatMap(({ name, aliases }) => [name, ...aliases]);
    expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  });

  test('has no free model, and no output price below the input price', () => {
    for (const { serves, price } of priced.values())
      for (const rates of ratesOf(price)) {
        // Speech by characters and transcription by hours have no price for tokens.
        const ofUnits = Object.values(price.units?.rates ?? {});
        const ofTokens =
          ofUnits.length > 0 && rates.input === 0n ? [] : Object.values({ ...rates, output: rates.input });
        for (const rate of [...ofTokens, ...ofUnits]) expect(rate).toBeGreaterThan(0n);
        const hasText = serves === 'messages' || (serves === 'transcription' && rates.input > 0n);
        if (hasText) expect(rates.output).toBeGreaterThanOrEqual(rates.input);
        else expect(rates.output).toBe(0n);
      }
  });

  test('never has a cache read above the input price, nor a cache write below it', () => {
    for (const { price } of priced.values())
      for (const rates of ratesOf(price)) {
        expect(rates.cacheRead).toBeLessThanOrEqual(rates.input);
        expect(rates.cacheWrite5m).toBeGreaterThanOrEqual(rates.input);
        expect(rates.cacheWrite1h).toBeGreaterThanOrEqual(rates.input);
      }
  });

  test('follows the rules of Anthropic: writes at 1.25 and 2 times the input, reads at 0.025 to 0.1 of it', () => {
    for (const { name } of listedModels('anthropic'))
      for (const rates of ratesOf(priceOf(name))) {
        expect([10n, 20n, 40n]).toContain(rates.input / rates.cacheRead);
        expect(rates.input % rates.cacheRead).toBe(0n);
        expect(rates.cacheWrite5m * 4n).toBe(rates.input * 5n);
        expect(rates.cacheWrite1h).toBe(rates.input * 2n);
      }
  });

  test('has no row that lacks a rate which its family has', () => {
    expect(listed.flatMap((model) => lackingRates(model))).toEqual([]);
  });

  test('a row without a rate of its family is refused, also in a long context and at fast speed', () => {
    const row = (name: string) => structuredClone(listed.find((one) => one.name === name)) as ListedModel;
    for (const rate of ['cache_read', 'cache_write_5m', 'cache_write_1h'] as const) {
      const model = row('claude-haiku-5-5');
      model.price[rate] = null;
      expect(lackingRates(model)).toEqual([`claude-haiku-5-5: ${rate}`]);
      const long = row('claude-haiku-5-5');
      (long.price.long_context as RatesInput)[rate] = null;
      expect(lackingRates(long)).toEqual([`claude-haiku-5-5: long_context.${rate}`]);
      const fast = row('claude-opus-5-5');
      (fast.price.fast as RatesInput)[rate] = null;
      expect(lackingRates(fast)).toEqual([`claude-opus-5-5: fast.${rate}`]);
    }
    const withoutSearch = row('claude-opus-5-5');
    withoutSearch.price.web_search_per_thousand = null;
    expect(lackingRates(withoutSearch)).toEqual(['claude-opus-5-5: web_search_per_thousand']);
    const withoutFast = row('claude-opus-5-5');
    withoutFast.price.fast = null;
    expect(lackingRates(withoutFast)).toEqual(['claude-opus-5-5: fast']);
    const withoutWrites = row('gpt-6-luna');
    withoutWrites.price.cache_write_5m = null;
    expect(lackingRates(withoutWrites)).toEqual(['gpt-6-luna: cache_write_5m']);
    const withoutBand = row('grok-4.7');
    withoutBand.price.long_context = null;
    expect(lackingRates(withoutBand)).toEqual(['grok-4.7: long_context']);
  });

  test('charges more for a long context, with the cache rates in the same proportion to the input', () => {
    const withLongContext = [...priced.values()].filter(({ price }) => price.longContext !== null);
    expect(withLongContext.length).toBeGreaterThan(5);
    for (const { price, maxInputTokens } of withLongContext) {
      const { standard, longContext } = price;
      const { aboveTokens, rates } = longContext as NonNullable<typeof longContext>;
      if (maxInputTokens !== null) expect(aboveTokens).toBeLessThanOrEqual(maxInputTokens);
      expect(rates.input).toBeGreaterThan(standard.input);
      expect(rates.output).toBeGreaterThan(standard.output);
      for (const part of ['cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const)
        expect(rates[part] * standard.input).toBe(standard[part] * rates.input);
    }
  });

  test('has only models available on its date, and limits that messages can reach', () => {
    for (const { serves, asOf, retiresOn, maxInputTokens, maxOutputTokens } of listed) {
      if (retiresOn !== null) expect(Date.parse(retiresOn)).toBeGreaterThan(Date.parse(asOf));
      const least = serves === 'messages' ? 4_096 : 2_048;
      for (const limit of [maxInputTokens, maxOutputTokens])
        if (limit !== null) expect(limit).toBeGreaterThanOrEqual(least);
    }
  });

  test('uses the common names of models', () => {
    for (const { name, family, displayName } of listed) {
      expect(displayName).not.toBe('');
      // Rows of platforms are named after them: platform-prices.test.ts.
      expect(name.replace(`${family}/`, '')).toMatch(
        family === 'foundry' ? /^[A-Za-z0-9][A-Za-z0-9.-]*$/ : /^[a-z0-9][a-z0-9.:@/-]*$/,
      );
      if (!name.startsWith(`${family}/`)) expect(name).toMatch(/^[a-z0-9][a-z0-9.-]*$/);
    }
    expect(listedModels('anthropic').every(({ displayName }) => displayName.startsWith('Claude '))).toBe(true);
  });

  test('has the prices of its sources', () => {
    const standard = (name: string) => priceOf(name).standard;
    const usd = 1_000_000_000_000n;
    expect(standard('claude-sonnet-4-5')).toMatchObject({ input: 3n * usd, output: 15n * usd });
    expect(standard('gpt-5.4')).toMatchObject({ input: (5n * usd) / 2n, output: 15n * usd, cacheRead: usd / 4n });
    expect(standard('claude-fable-5-2')).toMatchObject({ input: 8n * usd, output: 40n * usd, cacheRead: usd / 5n });
    expect(priceOf('claude-opus-5-5').tiers.fast?.standard).toMatchObject({ input: 8n * usd, output: 40n * usd });
    expect(priceOf('claude-opus-5-5').webSearchPerThousand).toBe(10n * usd);
    expect(standard('text-embedding-3-small')).toMatchObject({ input: usd / 50n, output: 0n });
    expect(standard('gemini-2.5-pro')).toMatchObject({
      input: (5n * usd) / 4n,
      output: 10n * usd,
      cacheRead: usd / 8n,
    });
    expect(priceOf('gemini-2.5-pro').longContext).toMatchObject({ aboveTokens: 200_000, rates: { output: 15n * usd } });
    // An unknown cache rate is not zero: it equals the input rate.
    expect(standard('deepseek-v4-pro').cacheWrite5m).toBe(standard('deepseek-v4-pro').input);
  });

  test('has nothing for an unknown family', () => {
    for (const family of ['constructor', '__proto__', 'sandbox']) expect(listedModels(family)).toEqual([]);
  });
});

describe('a first start with a credential', () => {
  const first = (nowMs?: number) =>
    firstDocuments(['sandbox-echo'], { anthropic: seal('sk-ant', 'provider:anthropic') }, nowMs);
  const namesOf = (documents: CatalogDocument[]) =>
    documents.filter(({ kind, name }) => kind === 'model' && name !== 'sandbox-echo').map(({ name }) => name);

  test('sells the models of the family at their list price, which is also their cost', () => {
    const { models } = buildCatalog(first(), unseal);
    expect(namesOf(first())).toEqual(listedModels('anthropic').map(({ name }) => name));
    for (const { name, asOf } of listedModels('anthropic')) {
      const model = models.get(name) as Model;
      expect(model.routes.map(({ provider, cost }) => [provider, cost])).toEqual([['anthropic', model.price]]);
      expect(model.priceListedOn).toBe(asOf);
    }
  });

  test('does not sell models that their provider has already discontinued', () => {
    const ends = Date.parse('2026-11-30');
    expect(namesOf(first(ends - 1))).toContain('claude-sonnet-4-5');
    expect(namesOf(first(ends))).not.toContain('claude-sonnet-4-5');
    expect(namesOf(first(ends))).toContain('claude-haiku-4-5');
  });

  test('sells nothing of families without a kind of provider in the service', () => {
    expect(namesOf(first()).filter((name) => !name.startsWith('claude-'))).toEqual([]);
  });

  test('has the same result as an equivalent file', () => {
    const models = Object.fromEntries(
      listedModels('anthropic').map(({ name, aliases }) => [
        name,
        { aliases, catalogue: true, routes: [{ provider: 'anthropic', cost: 'catalogue' }] },
      ]),
    );
    const file = { providers: { anthropic: { kind: 'anthropic' } }, models };
    expect(planApply(first(), file, planOptions({ kinds: KINDS })).changes).toEqual([]);
  });
});
