// Forms of the catalog without their pages: the round trip from document to fields is lossless, and the review lists
// all changes.

import { describe, expect, test } from 'bun:test';
import { type CatalogDocument, linesOfChange } from '../../console/features/catalog/changes.ts';
import { applyListPrice } from '../../console/features/models/comparison.tsx';
import {
  documentOfModel,
  fieldsOfListed,
  fieldsOfModel,
  type WrittenModel,
} from '../../console/features/models/form-values.ts';
import { withSetting } from '../../console/features/settings/editor.tsx';
import { readSetting, settingSection, shownSetting, textOfSetting } from '../../console/features/settings/values.ts';
import { rateOfGroup } from '../../console/money.ts';
import { describeDocuments, describeSettings, planApply } from '../../src/catalog/catalog.ts';
import { apply, planOptions } from '../unit/catalog/support.ts';

const rates = { input: '3', output: '15', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6' };
const price = {
  ...rates,
  long_context: { above: 200_000, ...rates, input: '6' },
  fast: { ...rates, long_context: { above: 272_000, ...rates } },
  flex: rates,
  web_search_per_thousand: '10',
};
const documents = apply([], {
  vendor_prefixes: ['vendor'],
  providers: {
    main: { kind: 'anthropic', api_key: 'sk-one', credentials: { second: { api_key: 'sk-two' } } },
    other: { kind: 'foundry', base_url: 'https://other.services.ai.azure.com' },
  },
  models: {
    plain: { price: { input: '1', output: '2' }, routes: [{ provider: 'main' }] },
    rich: {
      aliases: ['r', 'rr'],
      display_name: 'Rich',
      price,
      max_input_tokens: 5,
      max_output_tokens: 6,
      default_max_tokens: 7,
      prefer: 'latency',
      routes: [
        { provider: 'other', model: 'x', protocol: 'messages', priority: 2, weight: 0, concurrency: 9, cost: price },
        { provider: 'other', cost: { input: '0.1', output: '0.2' } },
      ],
    },
    'claude-sonnet-4-6': { catalogue: true, routes: [{ provider: 'main', cost: 'catalogue' }] },
  },
  groups: { g: { models: ['*'] } },
  settings: { drain_seconds: 60, usage_retention_days: 30 },
});
const current = describeDocuments(documents).document as CatalogDocument;
const changesOf = (document: object) => planApply(documents, document, planOptions()).changes;

describe('a model', () => {
  test('survives the round trip through its form', () => {
    for (const [name, model] of Object.entries(current.models)) {
      const document = documentOfModel(fieldsOfModel(name, model as WrittenModel, null));
      expect([name, changesOf({ models: { [name]: document } })]).toEqual([name, []]);
    }
  });

  test('sends invalid numbers unchanged, so that the service reports them', () => {
    const fields = fieldsOfModel('plain', current.models['plain'] as WrittenModel, null);
    const typed = { ...fields, max_output_tokens: '64,000', default_max_tokens: 'many' };
    expect(documentOfModel(typed)).toMatchObject({ max_output_tokens: 64_000, default_max_tokens: 'many' });
    expect(planApply(documents, { models: { plain: documentOfModel(typed) } }, planOptions()).faults[0]?.path).toEqual([
      'models',
      'plain',
      'default_max_tokens',
    ]);
  });

  test('from the price list uses the list price and cost', () => {
    const listed = {
      name: 'claude-haiku-4-5',
      family: 'anthropic',
      as_of: '2026-07-24',
      source: 'https://vendor.example/prices',
      serves: 'messages' as const,
      aliases: [],
      display_name: 'H',
    };
    const limits = { max_input_tokens: 1, max_output_tokens: 2, retires_on: null, price_changes: [] };
    const fields = fieldsOfListed({ ...listed, ...limits, price: { ...price, fast: null } }, 'main');
    expect(documentOfModel(fields)).toMatchObject({
      catalogue: true,
      routes: [{ provider: 'main', cost: 'catalogue' }],
    });
    expect(documentOfModel(fields)).not.toHaveProperty('price');
  });
});

describe('a review lists changes', () => {
  const linesOf = (document: Record<string, object>) =>
    changesOf(document).flatMap((change) =>
      linesOfChange(change, current, { document }).map(
        ({ member, before, after, isSecret }) => `${member}: ${isSecret ? 'secret' : `${before} → ${after}`}`,
      ),
    );

  test('field by field, without unchanged fields', () => {
    const rich = structuredClone(current.models['rich']) as WrittenModel;
    if (rich.price === undefined || rich.routes[0] === undefined) throw new Error('both values are set');
    rich.price.long_context = null;
    rich.price.output = '16';
    rich.routes[0].weight = 4;
    rich.aliases = ['r'];
    expect(linesOf({ models: { rich } })).toEqual([
      'aliases: r, rr → r',
      'price.output: 15 → 16',
      'price.long_context.above: 200000 → null',
      ...['input: 6', 'output: 15', 'cache_read: 0.3', 'cache_write_5m: 3.75', 'cache_write_1h: 6'].map(
        (part) => `price.long_context.${part} → null`,
      ),
      'routes.1.weight: 0 → 4',
    ]);
  });

  test('with the rates of the price list for listed prices and costs', () => {
    const listed = { name: 'plain', family: 'f', as_of: '2026-07-24', source: 's', aliases: [], display_name: 'P' };
    const prices = [
      {
        ...listed,
        ...{ max_input_tokens: 1, max_output_tokens: 1, retires_on: null },
        price: pricedAsListed(),
        price_changes: [],
        serves: 'messages' as const,
      },
    ];
    const routes = [{ provider: 'main', cost: 'catalogue' }];
    const change = { action: 'update' as const, kind: 'model' as const, name: 'plain', fields: ['price', 'routes'] };
    const document = { models: { plain: { catalogue: true, routes } } };
    const lines = linesOfChange(change, current, { document }, prices);
    const texts = lines.map(({ member, before, after }) => `${member}: ${before} → ${after}`);
    expect(texts).toContain('price.input: 1 → 3');
    expect(texts).toContain('price.cache_read: null → 0.3');
    expect(texts).toContain('routes.1.cost.output: null → 15');
  });

  test('without credentials', () => {
    const main = { ...current.providers['main'], api_key: 'sk-new', credentials: { second: { api_key: 'sk-newer' } } };
    expect(linesOf({ providers: { main } })).toEqual(['api_key: secret', 'credentials.second.api_key: secret']);
    expect(linesOf({ providers: { fresh: { kind: 'anthropic', api_key: 'sk-fresh' } } }).join()).not.toContain('sk-');
  });

  test('for settings, leaving other settings unchanged', () => {
    expect(linesOf(withSetting(current, 'drain_seconds', 5).document as Record<string, object>)).toEqual([
      'drain_seconds: 60 → 5',
    ]);
    expect(linesOf(withSetting(current, 'drain_seconds', undefined).document as Record<string, object>)).toEqual([
      'drain_seconds: 60 → null',
    ]);
    expect(changesOf(withSetting(current, 'vendor_prefixes', undefined).document)).toEqual([
      { action: 'update', kind: 'settings', name: 'settings', fields: ['vendor_prefixes'] },
    ]);
  });
});

test('using a list price or cost changes nothing else', () => {
  const [price] = changesOf(applyListPrice(current, { model: 'claude-sonnet-4-6', route: null }).document);
  expect(price).toBeUndefined();
  const stated = structuredClone(current);
  const model = stated.models['claude-sonnet-4-6'] as WrittenModel;
  const { catalogue: _, ...members } = model;
  stated.models['claude-sonnet-4-6'] = { ...members, price: { ...pricedAsListed(), output: '20' } };
  expect(applyListPrice(stated, { model: 'claude-sonnet-4-6', route: null }).document.models).toEqual({
    'claude-sonnet-4-6': { ...members, catalogue: true },
  });
  const cost = applyListPrice(current, { model: 'claude-sonnet-4-6', route: 'main/claude-sonnet-4-6' }).document.models;
  expect((cost as Record<string, WrittenModel>)['claude-sonnet-4-6']?.routes[0]).toMatchObject({ cost: 'catalogue' });
});
function pricedAsListed() {
  return { ...rates, long_context: null, fast: null, web_search_per_thousand: null };
}

test('a rate with a group multiplier is exact', () => {
  expect(rateOfGroup('0.003625', '0.8')).toBe('0.0029');
  expect(rateOfGroup('0.000000000001', '0.000001')).toBe('0.000000000000000001');
});

test('every setting has a name and a section, and survives the round trip through its field', () => {
  for (const setting of describeSettings(documents)) {
    expect([setting.name, settingSection(setting)]).not.toEqual([setting.name, 'other']);
    expect([setting.name, readSetting(setting, textOfSetting(setting.value as never))]).toEqual([
      setting.name,
      setting.value,
    ]);
  }
  expect(shownSetting({ name: 'body_bytes_max' }, 33_554_432)).toBe('33,554,432 bytes (32 MiB)');
});
