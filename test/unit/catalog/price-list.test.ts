// The price list that comes with the service: the rules that every row follows.

import { describe, expect, test } from 'bun:test';
import {
  buildCatalog,
  type CatalogDocument,
  firstDocuments,
  type ListedModel,
  listedModels,
  type Model,
  type ModelPrice,
  planApply,
  priceLists,
  type Rates,
} from '../../../src/catalog/catalog.ts';
import { apply, KINDS, planOptions, seal, unseal } from './support.ts';

const listed = priceLists().flatMap(({ family }) => listedModels(family));
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

const ratesOf = (price: ModelPrice): Rates[] =>
  [price.standard, price.longContext?.rates, price.fast].filter((rates) => rates !== null && rates !== undefined);
const priceOf = (name: string) => priced.get(name)?.price as ModelPrice;

describe('the price list', () => {
  test('has the most requested families, each with a date and a source', () => {
    const families = priceLists().map(({ family }) => family);
    expect(families).toEqual(expect.arrayContaining(['anthropic', 'openai', 'gemini', 'deepseek', 'xai', 'moonshot']));
    for (const { family, asOf, source } of priceLists()) {
      expect(asOf).toMatch(/^2\d{3}-\d\d-\d\d$/);
      expect(Date.parse(asOf)).toBeGreaterThan(0);
      expect(source.length).toBeGreaterThan(20);
      expect(listedModels(family).length).toBeGreaterThan(0);
    }
    expect(listed.length).toBeGreaterThan(50);
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
    for (const { price } of priced.values())
      for (const rates of ratesOf(price)) {
        for (const rate of Object.values(rates)) expect(rate).toBeGreaterThan(0n);
        expect(rates.output).toBeGreaterThan(rates.input);
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

  test('follows the rules of Anthropic: reads at a tenth, writes at 1.25 and 2 times the input', () => {
    for (const { name } of listedModels('anthropic'))
      for (const rates of ratesOf(priceOf(name))) {
        expect(rates.cacheRead * 10n).toBe(rates.input);
        expect(rates.cacheWrite5m * 4n).toBe(rates.input * 5n);
        expect(rates.cacheWrite1h).toBe(rates.input * 2n);
      }
  });

  test('charges more for a long context, with the cache rates in the same proportion to the input', () => {
    const withLongContext = [...priced.values()].filter(({ price }) => price.longContext !== null);
    expect(withLongContext.length).toBeGreaterThan(5);
    for (const { price, maxInputTokens } of withLongContext) {
      const { standard, longContext } = price;
      const { aboveTokens, rates } = longContext as NonNullable<typeof longContext>;
      expect(aboveTokens).toBeLessThanOrEqual(maxInputTokens as number);
      expect(rates.input).toBeGreaterThan(standard.input);
      expect(rates.output).toBeGreaterThan(standard.output);
      for (const part of ['cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const)
        expect(rates[part] * standard.input).toBe(standard[part] * rates.input);
    }
  });

  test('has only models available on its date, and limits that messages can reach', () => {
    for (const { asOf, retiresOn, maxInputTokens, maxOutputTokens } of listed) {
      if (retiresOn !== null) expect(Date.parse(retiresOn)).toBeGreaterThan(Date.parse(asOf));
      for (const limit of [maxInputTokens, maxOutputTokens]) if (limit !== null) expect(limit).toBeGreaterThan(4_095);
    }
  });

  test('uses the common names of models', () => {
    for (const { name, displayName } of listed) {
      expect(displayName).not.toBe('');
      expect(name).toMatch(/^[a-z0-9][a-z0-9.-]*$/);
    }
    expect(listedModels('anthropic').every(({ displayName }) => displayName.startsWith('Claude '))).toBe(true);
  });

  test('has the prices of its sources', () => {
    const standard = (name: string) => priceOf(name).standard;
    const usd = 1_000_000_000_000n;
    expect(standard('claude-sonnet-4-5')).toMatchObject({ input: 3n * usd, output: 15n * usd });
    expect(standard('gpt-5.4')).toMatchObject({ input: (5n * usd) / 2n, output: 15n * usd, cacheRead: usd / 4n });
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
