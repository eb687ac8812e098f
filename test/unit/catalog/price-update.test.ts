// Prices of a newer list: which models take them, what is shown, and every fault of a list.

import { describe, expect, test } from 'bun:test';
import {
  type CatalogDocument,
  describeDocuments,
  formatFault,
  includedPriceList,
  type PriceList,
  planApply,
  planPriceUpdate,
  priceListIn,
  readPriceList,
} from '../../../src/catalog/catalog.ts';
import { bounds } from '../../../src/config/config.ts';
import { apply, NOW_MS, planOptions } from './support.ts';

const providers = { anthropic: { kind: 'anthropic' } };
const row = { display_name: 'Claude', source: 'https://vendor.example/prices', as_of: '2027-01-02' };
const fileOf = (models: Record<string, object>) => ({ anthropic: { source: 'the test', models } });

function listOf(models: Record<string, object>): PriceList {
  const list = readPriceList(fileOf(models), [], []);
  if (list === null) throw new Error('the list is invalid');
  return list;
}
function faultsOf(list: unknown): string[] {
  const faults: Parameters<typeof readPriceList>[2] = [];
  expect(readPriceList(list, ['list'], faults)).toBeNull();
  return faults.map(formatFault);
}

const taken = { catalogue: true, routes: [{ provider: 'anthropic', cost: 'catalogue' }] };
const documents = apply([], {
  providers,
  models: {
    'claude-opus-5-5': taken,
    'claude-haiku-4-5': { ...taken, routes: [{ provider: 'anthropic', cost: { input: '0.9', output: '4' } }] },
    'claude-sonnet-5-5': { price: { input: '2', output: '10' }, routes: [{ provider: 'anthropic' }] },
  },
});
const modelIn = (all: readonly CatalogDocument[], name: string) => all.find((one) => one.name === name)?.document;

describe('a newer list', () => {
  const price = { input: '4', output: '21', cache_read: '0.2', cache_write_5m: '5', cache_write_1h: '8' };
  const changed = { ...row, price, price_changes: [{ from: '2027-03-01', input: '1', output: '2' }] };
  const list = listOf({ 'claude-opus-5-5': changed, 'claude-sonnet-5-5': changed, 'claude-haiku-4-5': changed });

  test('changes models whose price comes from a list, with equal costs, and never a stated price or cost', () => {
    const { put, models } = planPriceUpdate(documents, list, NOW_MS, null);
    expect(models).toEqual(['claude-opus-5-5', 'claude-haiku-4-5']);
    expect(modelIn(put, 'claude-opus-5-5')).toMatchObject({
      price: { output: '21', fast: null },
      price_changes: [{ from: '2027-03-01T00:00:00.000Z', output: '2' }],
      price_source: { catalogue: '2027-01-02' },
      routes: [{ cost: { output: '21' }, cost_changes: [{ output: '2' }] }],
    });
    expect(modelIn(put, 'claude-haiku-4-5')).toMatchObject({
      price: { output: '21' },
      routes: [{ cost: { output: '4' } }],
    });
  });

  test('shows every part that changes, also one that ends, and when', () => {
    const { changes } = planPriceUpdate(documents, list, NOW_MS, ['claude-opus-5-5']);
    const lines = changes.map(({ fromMs, part, before, after }) => `${fromMs ?? 'now'} ${part} ${before}→${after}`);
    expect(lines).toContain('now output 20→21');
    expect(lines).toContain('now fast.output 40→null');
    expect(lines).toContain('now web_search_per_thousand 10→null');
    expect(lines).toContain(`${Date.parse('2027-03-01')} output 20→2`);
    // A cache rate that a version omits is its input rate.
    expect(lines).toContain(`${Date.parse('2027-03-01')} cache_write_1h 8→1`);
    expect(lines).not.toContain('now input 4→4');
    expect(changes.every(({ model, asOf }) => model === 'claude-opus-5-5' && asOf === '2027-01-02')).toBe(true);
  });

  test('changes only the named models', () => {
    expect(planPriceUpdate(documents, list, NOW_MS, ['claude-haiku-4-5', 'nothing']).models).toEqual([
      'claude-haiku-4-5',
    ]);
    expect(planPriceUpdate(documents, list, NOW_MS, []).put).toEqual([]);
  });

  test('changes nothing a second time, nor by an older row or one for another use', () => {
    const { put } = planPriceUpdate(documents, list, NOW_MS, null);
    const names = new Set(put.map(({ name }) => name));
    const after = [...documents.filter(({ name }) => !names.has(name)), ...put];
    expect(planPriceUpdate(after, list, NOW_MS, null).models).toEqual([]);
    const older = listOf({ 'claude-opus-5-5': { ...changed, as_of: '2027-01-01' } });
    expect(planPriceUpdate(after, older, NOW_MS, null).models).toEqual([]);
    const embeddings = listOf({ 'claude-opus-5-5': { ...row, serves: 'embeddings', price: { input: '1' } } });
    expect(planPriceUpdate(documents, embeddings, NOW_MS, null).models).toEqual([]);
  });

  test('is in use once it is stored: files and descriptions take prices from it, and pruning keeps it', () => {
    const document = fileOf({ 'claude-opus-5-5': changed, fresh: changed }) as CatalogDocument['document'];
    const stored: CatalogDocument = { kind: 'price_list', name: 'price_list', origin: 'api', document };
    const { put } = planPriceUpdate(documents, priceListIn([stored]), NOW_MS, ['claude-opus-5-5']);
    const current = [...documents.filter(({ name }) => name !== 'claude-opus-5-5'), ...put, stored];
    expect(priceListIn(current).asOf).toBe('2027-01-02');
    const models = { 'claude-opus-5-5': taken, fresh: { catalogue: true, routes: [{ provider: 'anthropic' }] } };
    const plan = planApply(current, { providers, models }, planOptions({ prune: true }));
    expect(plan.faults).toEqual([]);
    const fields = ['display_name', 'max_output_tokens', 'max_input_tokens']; // the update takes these from the row, too
    expect(plan.changes[0]).toEqual({ action: 'update', kind: 'model', name: 'claude-opus-5-5', fields });
    expect(plan.changes.slice(1).map(({ action, name }) => `${action} ${name}`)).toEqual([
      'create fresh',
      'delete claude-haiku-4-5',
      'delete claude-sonnet-5-5',
    ]);
    expect(describeDocuments(current).document.models['claude-opus-5-5']).toMatchObject({ catalogue: true });
    expect(describeDocuments(current).origins.map(({ name }) => name)).not.toContain('price_list');
  });

  test('is not in use if it is older than that of this version, or cannot be read', () => {
    for (const as_of of ['2026-11-19', 'wrong']) {
      const document = fileOf({ 'claude-opus-5-5': { ...changed, as_of } }) as CatalogDocument['document'];
      expect(priceListIn([{ kind: 'price_list', name: 'price_list', origin: 'api', document }])).toBe(
        includedPriceList(),
      );
    }
  });
});

describe('a list is refused', () => {
  const price = { input: '1', output: '2' };

  test('with the path of each fault', () => {
    expect(faultsOf([])).toEqual(['list: must be an object']);
    expect(faultsOf({})).toEqual(['list: must have a model']);
    expect(faultsOf({ a: { source: 's', models: {} }, b: 7 })).toEqual(['list.b: must be an object']);
    const models = {
      m: { ...row, price: { input: '-1', output: 0.5 } },
      n: { ...row, price, as_of: 'today', extra: 1 },
    };
    expect(faultsOf(fileOf(models))).toEqual([
      expect.stringContaining('list.anthropic.models.m.price.input: must be a decimal'),
      'list.anthropic.models.m.price.output: must be in quotes: an unquoted fraction loses precision',
      expect.stringContaining('list.anthropic.models.n.as_of: '),
      'list.anthropic.models.n.extra: unknown member',
    ]);
    const { source: _, ...withoutSource } = row;
    expect(faultsOf(fileOf({ m: { ...withoutSource, price } }))).toEqual([
      'list.anthropic.models.m.source: is missing',
    ]);
  });

  test('for a name that it has twice, and for too many models', () => {
    const twice = { a: { ...row, price, aliases: ['b', 'b'] }, b: { ...row, price } };
    expect(faultsOf(fileOf(twice))).toEqual([
      'list.anthropic.models.a.aliases.1: "b" is on the list twice',
      'list.anthropic.models.b: "b" is on the list twice',
    ]);
    const many = Array.from({ length: bounds.priceListModelsMax + 1 }, (_, at) => [`m${at}`, 0]);
    expect(faultsOf(fileOf(Object.fromEntries(many)))).toEqual([
      `list.anthropic.models: must not have more than ${bounds.priceListModelsMax} models in all families`,
    ]);
  });
});
