// The snapshot and what stands in it at a first start.

import { describe, expect, test } from 'bun:test';
import {
  buildCatalogue,
  type CatalogDocument,
  CatalogueHolder,
  DEFAULT_SETTINGS,
  firstDocuments,
  planApply,
  resolveModel,
} from '../../src/catalog/catalog.ts';
import { apply, planOptions, seal, unseal } from './support.ts';

const SANDBOX_MODELS = ['sandbox-echo', 'sandbox-error-529'];

describe('buildCatalogue', () => {
  test('without documents there is nothing but the default settings', () => {
    const empty = buildCatalogue([], unseal);
    expect(empty.settings).toEqual(DEFAULT_SETTINGS);
    expect(empty.models.size + empty.groups.size + empty.providers.size + empty.aliases.size).toBe(0);
  });

  test('a document of another version is an error that names it and its members', () => {
    const wrong = (kind: CatalogDocument['kind'], document: CatalogDocument['document']) => () =>
      buildCatalogue([{ kind, name: 'old', origin: 'file', document }], unseal);
    expect(wrong('model', { routes: [], created_at: 'x' })).toThrow(
      /stored model "old" .*price: is missing.*routes: must not be empty/,
    );
    expect(wrong('group', { models: ['*'], colour: 'red' })).toThrow(
      /stored group "old" .*colour: there is no such member/,
    );
    expect(wrong('provider', { kind: 'sandbox' })).toThrow(/stored provider "old"/);
    expect(wrong('settings', { drain_seconds: 'x' })).toThrow(/stored settings "old" .*drain_seconds/);
  });

  test('a credential that does not open is an error that names its provider', () => {
    const documents = apply([], { providers: { a: { kind: 'anthropic', api_key: 'sk-1' } } }).map((entry) => ({
      ...entry,
      name: 'b',
    }));
    expect(() => buildCatalogue(documents, unseal)).toThrow('the credential of provider "b" cannot be opened');
  });
});

test('a holder that cannot read what it is given keeps what it has', () => {
  const holder = new CatalogueHolder(firstDocuments(SANDBOX_MODELS, {}), unseal);
  const before = holder.current;
  expect(() => holder.swap([{ kind: 'group', name: 'g', origin: 'api', document: {} }])).toThrow();
  expect(holder.current).toBe(before);
  holder.swap([]);
  expect(holder.current.models.size).toBe(0);
  expect(before.models.size).toBe(2);
});

describe('the first start', () => {
  test('sells the sandbox models to both groups at 1 and 5 dollars', () => {
    const catalogue = buildCatalogue(firstDocuments(SANDBOX_MODELS, {}), unseal);
    for (const group of ['default', 'sandbox'])
      for (const name of SANDBOX_MODELS) {
        const { model, routes } = resolveModel(catalogue, { account: 1, keyModels: null, groups: [group] }, name);
        expect(model.price.standard).toMatchObject({ input: 1_000_000_000_000n, output: 5_000_000_000_000n });
        expect(routes[0]).toMatchObject({ provider: 'sandbox', upstreamModel: name });
      }
    expect([...catalogue.providers.keys()]).toEqual(['sandbox']);
    expect([...catalogue.groups.keys()]).toEqual(['default', 'sandbox']);
  });

  test('with a credential also sells the listed models, to the default group only', () => {
    const documents = firstDocuments(SANDBOX_MODELS, { anthropic: seal('sk-ant', 'provider:anthropic') });
    const catalogue = buildCatalogue(documents, unseal);
    expect(catalogue.providers.get('anthropic')?.credentials[0]?.secret.reveal()).toBe('sk-ant');
    const offer = resolveModel(
      catalogue,
      { account: 1, keyModels: null, groups: ['sandbox', 'default'] },
      'claude-haiku-4-5-20251001',
    );
    expect(offer).toMatchObject({ model: { name: 'claude-haiku-4-5' }, group: { name: 'default' } });
    expect(documents.every((entry) => entry.origin === 'start')).toBe(true);
  });

  test('a file that says the same changes nothing', () => {
    const same = {
      providers: { sandbox: { kind: 'sandbox' } },
      models: { 'sandbox-echo': { price: { input: '1', output: '5' }, routes: [{ provider: 'sandbox' }] } },
      groups: { default: { models: ['*'], multiplier: '1' }, sandbox: { models: ['sandbox-*'] } },
    };
    expect(planApply(firstDocuments(SANDBOX_MODELS, {}), same, planOptions()).changes).toEqual([]);
  });
});
