// The snapshot, and its contents after a first start.

import { describe, expect, test } from 'bun:test';
import {
  buildCatalog,
  type CatalogDocument,
  CatalogHolder,
  DEFAULT_SETTINGS,
  firstDocuments,
  planApply,
  resolveModel,
} from '../../../src/catalog/catalog.ts';
import { apply, planOptions, seal, unseal } from './support.ts';

const SANDBOX_MODELS = ['sandbox-echo', 'sandbox-error-529'];

describe('buildCatalogue', () => {
  test('without documents it contains only the default settings', () => {
    const empty = buildCatalog([], unseal);
    expect(empty.settings).toEqual(DEFAULT_SETTINGS);
    expect(empty.models.size + empty.groups.size + empty.providers.size + empty.aliases.size).toBe(0);
  });

  test('a document with an unknown version is an error that names it and its fields', () => {
    const wrong = (kind: CatalogDocument['kind'], document: CatalogDocument['document']) => () =>
      buildCatalog([{ kind, name: 'old', origin: 'file', document }], unseal);
    expect(wrong('model', { routes: [], created_at: 'x' })).toThrow(
      /stored model "old" .*price: is missing.*routes: must not be empty/,
    );
    expect(wrong('group', { models: ['*'], colour: 'red' })).toThrow(/stored group "old" .*colour: unknown member/);
    expect(wrong('provider', { kind: 'sandbox' })).toThrow(/stored provider "old"/);
    expect(wrong('settings', { drain_seconds: 'x' })).toThrow(/stored settings "old" .*drain_seconds/);
  });

  test('a credential that cannot be decrypted is an error that names its provider', () => {
    const documents = apply([], { providers: { a: { kind: 'anthropic', api_key: 'sk-1' } } }).map((entry) => ({
      ...entry,
      name: 'b',
    }));
    expect(() => buildCatalog(documents, unseal)).toThrow('the credential of provider "b" cannot be decrypted');
  });
});

test('a catalog that cannot be read leaves the previous snapshot in place', () => {
  const holder = new CatalogHolder(firstDocuments(SANDBOX_MODELS, {}), unseal);
  const before = holder.current;
  expect(() => holder.swap([{ kind: 'group', name: 'g', origin: 'api', document: {} }])).toThrow();
  expect(holder.current).toBe(before);
  holder.swap([]);
  expect(holder.current.models.size).toBe(0);
  expect(before.models.size).toBe(2);
});

test('an object that cannot be read is left out or stays as it was, is reported, and stops no other', () => {
  const documents = firstDocuments(SANDBOX_MODELS, {});
  const damaged = documents.map((entry) =>
    entry.kind === 'model' && entry.name === 'sandbox-echo' ? { ...entry, document: { later: true } } : entry,
  );
  const reports: string[] = [];
  const report = ({ message }: Error) => void reports.push(message);
  const started = new CatalogHolder(damaged, unseal, Date.now, undefined, report);
  expect([...started.current.models.keys()]).toEqual(['sandbox-error-529']);
  expect(reports).toEqual([expect.stringContaining('the stored model "sandbox-echo" cannot be read by this version')]);

  const running = new CatalogHolder(documents, unseal, Date.now, undefined, report);
  const group: CatalogDocument = { kind: 'group', name: 'later', origin: 'api', document: { models: ['*'] } };
  running.swap([...damaged, group, { kind: 'settings', name: 'settings', origin: 'api', document: { later: 1 } }]);
  expect([...running.current.models.keys()].sort()).toEqual(SANDBOX_MODELS);
  expect(running.current.groups.get('later')?.models).toEqual(['*']);
  expect(running.current.settings).toEqual(DEFAULT_SETTINGS);
  running.swap(documents.filter(({ name }) => name !== 'sandbox-echo'));
  expect(running.current.models.has('sandbox-echo')).toBe(false);
});

test('settings that cannot be read at a start have no default', () => {
  const settings: CatalogDocument = { kind: 'settings', name: 'settings', origin: 'api', document: { later: 1 } };
  const report = () => undefined;
  expect(() => new CatalogHolder([settings], unseal, Date.now, undefined, report)).toThrow(
    'the stored settings "settings" cannot be read by this version: later: unknown member',
  );
});

describe('the first start', () => {
  test('sells the sandbox models to both groups at 1 and 5 dollars', () => {
    const catalog = buildCatalog(firstDocuments(SANDBOX_MODELS, {}), unseal);
    for (const group of ['default', 'sandbox'])
      for (const name of SANDBOX_MODELS) {
        const { model, routes } = resolveModel(catalog, { account: 1, keyModels: null, groups: [group] }, name);
        expect(model.price.standard).toMatchObject({ input: 1_000_000_000_000n, output: 5_000_000_000_000n });
        expect(routes[0]).toMatchObject({ provider: 'sandbox', upstreamModel: name });
      }
    expect([...catalog.providers.keys()]).toEqual(['sandbox']);
    expect([...catalog.groups.keys()]).toEqual(['default', 'sandbox']);
  });

  test('with a credential also sells the listed models, to the default group only', () => {
    const documents = firstDocuments(SANDBOX_MODELS, { anthropic: seal('sk-ant', 'provider:anthropic') });
    const catalog = buildCatalog(documents, unseal);
    expect(catalog.providers.get('anthropic')?.credentials[0]?.secret.reveal()).toBe('sk-ant');
    const offer = resolveModel(
      catalog,
      { account: 1, keyModels: null, groups: ['sandbox', 'default'] },
      'claude-haiku-4-5-20251001',
    );
    expect(offer).toMatchObject({ model: { name: 'claude-haiku-4-5' }, group: { name: 'default' } });
    expect(documents.every((entry) => entry.origin === 'start')).toBe(true);
  });

  test('creates the models at that moment, not on the date of the price list', () => {
    const nowMs = Date.parse('2027-01-31T10:00:00Z');
    const sealed = { anthropic: seal('sk-ant', 'provider:anthropic') };
    const { models } = buildCatalog(firstDocuments(SANDBOX_MODELS, sealed, nowMs), unseal);
    expect(new Set([...models.values()].map(({ createdAt }) => createdAt))).toEqual(
      new Set(['2027-01-31T10:00:00.000Z']),
    );
  });

  test('applying an equivalent file changes nothing', () => {
    const same = {
      providers: { sandbox: { kind: 'sandbox' } },
      models: { 'sandbox-echo': { price: { input: '1', output: '5' }, routes: [{ provider: 'sandbox' }] } },
      groups: { default: { models: ['*'], multiplier: '1' }, sandbox: { models: ['sandbox-*'] } },
    };
    expect(planApply(firstDocuments(SANDBOX_MODELS, {}), same, planOptions()).changes).toEqual([]);
  });
});
