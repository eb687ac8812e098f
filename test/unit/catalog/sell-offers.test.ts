// Selling models that a provider offers: their cost, the markup, and the document that makes them.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { includedPriceList, listedOffers, offerFrom, readMarkUp, sellOffers } from '../../../src/catalog/catalog.ts';
import { formatRate, readDecimalRate } from '../../../src/catalog/document.ts';
import { markUpPrice } from '../../../src/catalog/mark-up.ts';
import { apply } from './support.ts';

const list = includedPriceList();
const AT_VENDOR = { kind: 'openai', region: null };
const told = { displayName: null, maxInputTokens: null, maxOutputTokens: null, rates: null };
const price = { input: '1', output: '2' };
const documents = apply([], {
  providers: { main: { kind: 'sandbox' }, other: { kind: 'openai', base_url: 'https://api.example.com/v1' } },
  models: { plain: { price, routes: [{ provider: 'main' }] } },
  groups: { all: { models: ['*'] }, few: { models: ['plain'] } },
});
const rates = { input: '2', output: '8', cache_read: '0.2', cache_write_5m: null, cache_write_1h: null };
const offers = new Map(
  [
    offerFrom({ ...told, model: 'a/b', rates }, list, AT_VENDOR),
    offerFrom({ ...told, model: 'plain' }, list, AT_VENDOR),
    offerFrom({ ...told, model: 'deepseek-v4-pro' }, list, AT_VENDOR),
  ].map((offer) => [offer.model, offer]),
);
const other = { name: 'other', kind: 'openai' };
const sell = (wanted: Parameters<typeof sellOffers>[3], groups: string[] = []) =>
  sellOffers(documents, other, offers, wanted, groups);
const twenty = readMarkUp('20') ?? 0n;

describe('a markup', () => {
  test('raises every rate of a price, rounded up, and no threshold or time', () => {
    const marked = markUpPrice(
      { input: '0.000000000001', long_context: { above: 200_000, input: '3' }, fast: null, from: '2026-12-01' },
      twenty,
    );
    expect(marked).toEqual({
      input: '0.000000000002',
      long_context: { above: 200_000, input: '3.6' },
      fast: null,
      from: '2026-12-01',
    });
  });

  test('never lowers a rate, and nothing changes it without one', () => {
    const rate = fc.bigInt(0n, 10n ** 15n).map(formatRate);
    fc.assert(
      fc.property(rate, fc.bigInt(0n, 10n ** 8n), (text, markUp) => {
        const { input } = markUpPrice({ input: text }, markUp);
        expect((readDecimalRate(input) ?? 10n ** 17n) >= (readDecimalRate(text) ?? 0n)).toBe(true);
        expect(markUpPrice({ input: text }, 0n)).toEqual({ input: text });
      }),
    );
  });

  test('is a percentage from 0 to 10,000', () => {
    expect(['0', '12.5', '10000', '0.0001'].map(readMarkUp)).toEqual([0n, 125_000n, 100_000_000n, 1n]);
    expect(['-1', '10000.1', '1e3', '', '1.23456', 'x'].map(readMarkUp)).toEqual([null, null, null, null, null, null]);
  });
});

describe('an offer is sold', () => {
  test('at the provider’s price and the markup, under another name and by the chosen groups', () => {
    const { document, faults } = sell([{ model: 'a/b', name: 'b', aliases: ['c'], markUp: twenty }], ['all', 'few']);
    expect(faults).toEqual([]);
    expect(document.models['b']).toMatchObject({
      aliases: ['c'],
      price: { input: '2.4', output: '9.6', cache_read: '0.24', cache_write_5m: null },
      routes: [{ provider: 'other', model: 'a/b', cost: { input: '2', output: '8' } }],
    });
    expect(document.groups).toEqual({ few: expect.objectContaining({ models: ['plain', 'b'] }) }); // "all" matches it
    const next = apply(documents, document, { kinds: ['openai', 'sandbox'] });
    expect(next.find(({ name }) => name === 'b')?.document).toMatchObject({ price: { input: '2.4' } });
  });

  test('without a markup by the price list, so that its updates reach the model', () => {
    const { document } = sell([{ model: 'deepseek-v4-pro', markUp: 0n }]);
    expect(document.models['deepseek-v4-pro']).toMatchObject({
      catalogue: true,
      routes: [{ provider: 'other', model: 'deepseek-v4-pro', cost: 'catalogue' }],
    });
  });

  test('by a further route if the model exists, whose price stays, and by none twice', () => {
    const { document } = sell([{ model: 'plain', markUp: twenty }]);
    expect(document.models['plain']).toMatchObject({
      price: { input: '1', output: '2' },
      routes: [{ provider: 'main' }, { provider: 'other', model: 'plain' }],
    });
    const after = apply(documents, document, { kinds: ['openai', 'sandbox'] });
    const again = sellOffers(after, other, offers, [{ model: 'plain', markUp: twenty }], []);
    expect((again.document.models['plain'] as { routes: object[] }).routes).toHaveLength(2);
  });

  test('never without a price: one that is not known must be stated', () => {
    const { faults } = sell([{ model: 'plain', name: 'new', markUp: twenty }]);
    expect(faults).toEqual([
      {
        path: ['models', 0, 'price'],
        message: 'is missing: no price of "plain" is known, and a model without one cannot be sold',
      },
    ]);
    const { document } = sell([{ model: 'plain', name: 'new', markUp: twenty, price }]);
    expect(document.models['new']).toMatchObject({ price, routes: [{ provider: 'other', model: 'plain' }] });
  });

  test('not if it is not listed, or named twice, or for a group that is not there', () => {
    const { faults } = sell(
      [
        { model: 'none', markUp: 0n },
        { model: 'a/b', markUp: 0n },
        { model: 'a/b', markUp: 0n },
      ],
      ['nobody'],
    );
    expect(faults.map(({ path }) => path)).toEqual([
      ['models', 0, 'model'],
      ['models', 2, 'name'],
      ['groups', 0],
    ]);
  });
});

test('a kind without a list offers the models of its platform in the price list, at the prices of the platform', () => {
  const bedrock = listedOffers(list, { kind: 'bedrock', region: 'us-east-1' });
  expect(bedrock.length).toBeGreaterThan(5);
  for (const { source } of bedrock) expect(source).toMatchObject({ row: { family: 'bedrock' } });
  expect(listedOffers(list, { kind: 'vertex', region: 'global' }).map(({ model }) => model)).not.toContain('regional');
});
