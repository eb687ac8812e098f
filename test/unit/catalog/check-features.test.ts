// Features without a price are refused.

import { expect, test } from 'bun:test';
import { checkFeatures, resolveModel } from '../../../src/catalog/catalog.ts';
import type { PricedFeatures } from '../../../src/catalog/resolve-model.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { catalogOf } from './support.ts';

const rates = { input: '1', output: '2' };
const routes = [{ provider: 'sandbox' }];
const catalog = catalogOf({
  providers: { sandbox: { kind: 'sandbox' } },
  models: {
    plain: { price: rates, routes, max_input_tokens: 200_000 },
    full: {
      price: { ...rates, web_search_per_thousand: '10', long_context: { above: 200_000, ...rates } },
      routes,
    },
    wide: { price: rates, routes, max_input_tokens: 1_000_000 },
  },
  groups: { default: { models: ['*'] } },
});
const none: PricedFeatures = {
  webSearch: null,
  longContext: false,
  sound: null,
  speaks: false,
  tier: 'standard',
  notOffered: null,
};

function check(model: string, features: Partial<PricedFeatures>): string {
  const offer = resolveModel(catalog, { account: 1, keyModels: null, groups: ['default'] }, model);
  try {
    checkFeatures(offer, { ...none, ...features });
    return 'sold';
  } catch (thrown) {
    if (thrown instanceof TurnpikeError) return `${thrown.code} ${thrown.message}`;
    throw thrown;
  }
}

test('a feature without a rate is refused, and named first in the message', () => {
  expect(check('plain', {})).toBe('sold');
  expect(check('plain', { webSearch: { usesMax: 3 } })).toStartWith('feature_not_priced web_search: ');
  expect(check('plain', { longContext: true })).toStartWith('feature_not_priced long context: ');
});

test('a feature with a rate is accepted', () => {
  expect(check('full', { webSearch: { usesMax: null }, longContext: true })).toBe('sold');
});

test('a model with a long context window of its own sells it at its standard rates', () => {
  expect(check('wide', { longContext: true })).toBe('sold');
});

test('a feature that no price makes available is refused for every model', () => {
  expect(check('full', { notOffered: 'fallbacks: why' })).toBe('feature_unavailable fallbacks: why');
});
