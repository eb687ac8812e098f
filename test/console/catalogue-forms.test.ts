// Forms of the catalogue, without a page around them: nothing is lost between what stands, the fields and what is
// applied, and what would change is said as it is.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { linesOfChange, type Standing } from '../../console/catalogue-changes.ts';
import { documentOfModel, fieldsOfListed, fieldsOfModel, type WrittenModel } from '../../console/model-form.ts';
import { takeOver } from '../../console/pages/catalogue/model-comparison.tsx';
import { documentOfSelling } from '../../console/pages/catalogue/provider-models.tsx';
import { withSetting } from '../../console/pages/catalogue/setting-editor.tsx';
import { rateOfGroup } from '../../console/parts/rate.tsx';
import { coversName } from '../../console/patterns.ts';
import { readSetting, settingSection, shownSetting, textOfSetting } from '../../console/setting-values.ts';
import { describeDocuments, describeSettings, matchesPattern, planApply } from '../../src/catalog/catalog.ts';
import { apply, planOptions } from '../catalog/support.ts';

const rates = { input: '3', output: '15', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6' };
const price = {
  ...rates,
  long_context: { above: 200_000, ...rates, input: '6' },
  fast: rates,
  web_search_per_thousand: '10',
};
const documents = apply([], {
  vendor_prefixes: ['vendor'],
  providers: {
    main: { kind: 'anthropic', api_key: 'sk-one', credentials: { second: { api_key: 'sk-two' } } },
    other: { kind: 'anthropic' },
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
      routes: [
        { provider: 'main', model: 'x', priority: 2, weight: 0, concurrency: 9, cost: price },
        { provider: 'other', cost: { input: '0.1', output: '0.2' } },
      ],
    },
    'claude-sonnet-4-6': { catalogue: true, routes: [{ provider: 'main', cost: 'catalogue' }] },
  },
  groups: { g: { models: ['*'] } },
  settings: { drain_seconds: 60, usage_retention_days: 30 },
});
const standing = describeDocuments(documents).document as Standing;
const changesOf = (document: object) => planApply(documents, document, planOptions()).changes;

describe('a model', () => {
  test('comes back from the fields of its form as it was, whatever it has', () => {
    for (const [name, model] of Object.entries(standing.models)) {
      const document = documentOfModel(fieldsOfModel(name, model as WrittenModel, null));
      expect([name, changesOf({ models: { [name]: document } })]).toEqual([name, []]);
    }
  });

  test('is saved with what was typed, and what is no number is left for the service to name', () => {
    const fields = fieldsOfModel('plain', standing.models['plain'] as WrittenModel, null);
    const typed = { ...fields, max_output_tokens: '64,000', default_max_tokens: 'many' };
    expect(documentOfModel(typed)).toMatchObject({ max_output_tokens: 64_000, default_max_tokens: 'many' });
    expect(planApply(documents, { models: { plain: documentOfModel(typed) } }, planOptions()).faults[0]?.path).toEqual([
      'models',
      'plain',
      'default_max_tokens',
    ]);
  });

  test('of the price list is sold at the price and cost of the list', () => {
    const listed = {
      name: 'claude-haiku-4-5',
      family: 'anthropic',
      as_of: '2026-07-24',
      aliases: [],
      display_name: 'H',
    };
    const limits = { max_input_tokens: 1, max_output_tokens: 2, retires_on: null };
    const fields = fieldsOfListed({ ...listed, ...limits, price: { ...price, fast: null } }, 'main');
    expect(documentOfModel(fields)).toMatchObject({
      catalogue: true,
      routes: [{ provider: 'main', cost: 'catalogue' }],
    });
    expect(documentOfModel(fields)).not.toHaveProperty('price');
  });
});

describe('what would change is said', () => {
  const linesOf = (document: Record<string, object>) =>
    changesOf(document).flatMap((change) =>
      linesOfChange(change, standing, { document }).map(
        ({ member, before, after, isSecret }) => `${member}: ${isSecret ? 'secret' : `${before} → ${after}`}`,
      ),
    );

  test('value by value, and only of what differs', () => {
    const rich = structuredClone(standing.models['rich']) as WrittenModel;
    if (rich.price === undefined || rich.routes[0] === undefined) throw new Error('it has both');
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

  test('with the figures of the price list, where a price or a cost is taken from it', () => {
    const listed = { name: 'plain', family: 'f', as_of: '2026-07-24', aliases: [], display_name: 'P' };
    const prices = [
      { ...listed, ...{ max_input_tokens: 1, max_output_tokens: 1, retires_on: null }, price: pricedAsListed() },
    ];
    const routes = [{ provider: 'main', cost: 'catalogue' }];
    const change = { action: 'update' as const, kind: 'model' as const, name: 'plain', fields: ['price', 'routes'] };
    const document = { models: { plain: { catalogue: true, routes } } };
    const lines = linesOfChange(change, standing, { document }, prices);
    const told = lines.map(({ member, before, after }) => `${member}: ${before} → ${after}`);
    expect(told).toContain('price.input: 1 → 3');
    expect(told).toContain('price.cache_read: null → 0.3');
    expect(told).toContain('routes.1.cost.output: null → 15');
  });

  test('without a credential', () => {
    const main = { ...standing.providers['main'], api_key: 'sk-new', credentials: { second: { api_key: 'sk-newer' } } };
    expect(linesOf({ providers: { main } })).toEqual(['api_key: secret', 'credentials.second: secret']);
    expect(linesOf({ providers: { fresh: { kind: 'anthropic', api_key: 'sk-fresh' } } }).join()).not.toContain('sk-');
  });

  test('of settings, those beside them untouched', () => {
    expect(linesOf(withSetting(standing, 'drain_seconds', 5).document as Record<string, object>)).toEqual([
      'drain_seconds: 60 → 5',
    ]);
    expect(linesOf(withSetting(standing, 'drain_seconds', undefined).document as Record<string, object>)).toEqual([
      'drain_seconds: 60 → null',
    ]);
    expect(changesOf(withSetting(standing, 'vendor_prefixes', undefined).document)).toEqual([
      { action: 'update', kind: 'settings', name: 'settings', fields: ['vendor_prefixes'] },
    ]);
  });
});

test('taking a price or a cost over from the list changes that alone', () => {
  const [price] = changesOf(takeOver(standing, { model: 'claude-sonnet-4-6', route: null }).document);
  expect(price).toBeUndefined();
  const stated = structuredClone(standing);
  const model = stated.models['claude-sonnet-4-6'] as WrittenModel;
  const { catalogue: _, ...members } = model;
  stated.models['claude-sonnet-4-6'] = { ...members, price: { ...pricedAsListed(), output: '20' } };
  expect(takeOver(stated, { model: 'claude-sonnet-4-6', route: null }).document.models).toEqual({
    'claude-sonnet-4-6': { ...members, catalogue: true },
  });
  const cost = takeOver(standing, { model: 'claude-sonnet-4-6', route: 'main/claude-sonnet-4-6' }).document.models;
  expect((cost as Record<string, WrittenModel>)['claude-sonnet-4-6']?.routes[0]).toMatchObject({ cost: 'catalogue' });
});
function pricedAsListed() {
  return { ...rates, long_context: null, fast: null, web_search_per_thousand: null };
}

test('selling a model that is sold already adds a route, and adds none twice', () => {
  const wanted = ['plain', 'claude-haiku-4-5'].map((name) => ({ name, aliases: [] }));
  const { models = {} } = documentOfSelling(standing, 'other', wanted).document;
  expect((models['plain'] as WrittenModel).routes.map(({ provider }) => provider)).toEqual(['main', 'other']);
  expect(models['claude-haiku-4-5']).toMatchObject({ catalogue: true });
  const again = documentOfSelling(standing, 'main', wanted).document.models?.['plain'] as WrittenModel;
  expect(again.routes.length).toBe(1);
});

test('a pattern covers in the console what it covers in the service', () => {
  const letters = fc.stringMatching(/^[ab*]{0,8}$/);
  fc.assert(
    fc.property(letters, fc.stringMatching(/^[ab]{0,8}$/), (pattern, name) => {
      expect([pattern, name, coversName(pattern, name)]).toEqual([pattern, name, matchesPattern(pattern, name)]);
    }),
    { numRuns: 2_000 },
  );
});

test('a rate with the factor of a group is exact', () => {
  expect(rateOfGroup('0.003625', '0.8')).toBe('0.0029');
  expect(rateOfGroup('0.000000000001', '0.000001')).toBe('0.000000000000000001');
});

test('every setting has its place on the page, and is read as it is shown', () => {
  for (const setting of describeSettings(documents)) {
    expect([setting.name, settingSection(setting)]).not.toEqual([setting.name, 'other']);
    expect([setting.name, readSetting(setting, textOfSetting(setting.value as never))]).toEqual([
      setting.name,
      setting.value,
    ]);
  }
  expect(shownSetting({ name: 'body_bytes_max' }, 33_554_432)).toBe('33,554,432 bytes (32 MiB)');
});
