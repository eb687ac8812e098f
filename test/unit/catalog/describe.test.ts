// The catalog in the form of a file, and the settings with their descriptions.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CatalogDocument,
  describeDocuments,
  describeSettings,
  firstDocuments,
  planApply,
} from '../../../src/catalog/catalog.ts';
import { apply, planOptions } from './support.ts';

const file = {
  vendor_prefixes: ['vendor'],
  providers: {
    main: {
      kind: 'anthropic',
      api_key: 'sk-one',
      credentials: { second: { api_key: 'sk-two' }, vip: { api_key: 'sk-three', group: 'vip' } },
    },
    inside: { kind: 'sandbox' },
  },
  models: {
    'claude-sonnet-4-6': { catalogue: true, routes: [{ provider: 'main', cost: 'catalogue' }] },
    stated: {
      price: {
        input: '1',
        output: '2',
        long_context: { above: 5, input: '2', output: '4' },
        fast: { input: 3, output: 4 },
      },
      aliases: ['other'],
      routes: [{ provider: 'main', model: 'x', weight: 3, concurrency: 2, cost: { input: '0.5', output: '1' } }],
    },
  },
  groups: { vip: { models: ['*'], multiplier: '0.8', rpm: 6 } },
  settings: { drain_seconds: 60, circuit_failures: null },
};

describe('the current catalog as a file', () => {
  test('changes nothing when applied, and recreates the same catalog in an empty installation, except for credentials', () => {
    for (const documents of [apply([], file), firstDocuments(['sandbox-echo'], { anthropic: 'sealed' }), []]) {
      const { document } = describeDocuments(documents);
      expect(planApply(documents, document, planOptions())).toMatchObject({ faults: [], changes: [] });
      expect(planApply(documents, document, planOptions({ prune: true }))).toMatchObject({ faults: [], changes: [] });
    }
  });

  test('contains no credential, sealed or not', () => {
    const text = JSON.stringify(describeDocuments(apply([], file)));
    expect(text).not.toContain('sealed');
    expect(text).not.toContain('sk-');
    expect(describeDocuments(apply([], file)).document.providers['main']?.credentials).toEqual({
      second: { account: null, group: null },
      vip: { account: null, group: 'vip' },
    });
  });

  test('says that a price is from the list only while this version has the same price', () => {
    const documents = apply([], file);
    const ofAnotherVersion = structuredClone(documents).map((one) =>
      one.name === 'claude-sonnet-4-6' ? { ...one, document: withSource(one.document, '2025-01-01') } : one,
    );
    expect(describeDocuments(documents).document.models['claude-sonnet-4-6']).toMatchObject({ catalogue: true });
    const stated = describeDocuments(ofAnotherVersion).document.models['claude-sonnet-4-6'];
    expect(stated).toMatchObject({ price: { input: '3', output: '15' } });
    expect(stated).not.toHaveProperty('catalogue');
  });

  test('shows how each object was created', () => {
    const documents = apply(firstDocuments(['sandbox-echo'], {}), file);
    const { origins } = describeDocuments(documents);
    expect(origins).toContainEqual({ kind: 'model', name: 'stated', origin: 'file' });
    expect(origins).toContainEqual({ kind: 'group', name: 'default', origin: 'start' });
    expect(origins.length).toBe(documents.length);
  });
});

function withSource(document: CatalogDocument['document'], day: string): CatalogDocument['document'] {
  return { ...document, price_source: { catalogue: day } };
}

describe('the settings', () => {
  const page = readFileSync(join(import.meta.dir, '../../../docs/configuration.md'), 'utf8');
  const rows = [
    ...(page.split('**`settings`**')[1]?.split('\n\n')[1] ?? '').matchAll(/^\| `(\w+)` \| (.*?) \| (.*) \|$/gm),
  ];

  test('have the descriptions, the order and the defaults of docs/configuration.md', () => {
    const described = describeSettings([]).slice(1);
    const documented = rows.map(([, name = '', shown = '', words = '']) => [
      name,
      shown.replaceAll('`', ''),
      words.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
    ]);
    // One setting has the value of another as its default.
    const defaultOf = (name: string, value: unknown) =>
      name === 'upstream_first_event_seconds' ? 'upstream_silence_seconds' : JSON.stringify(value);
    expect(
      described.map(({ name, default: value, description }) => [name, defaultOf(name, value), description]),
    ).toEqual(documented);
    expect(page.replaceAll('\n', ' ')).toContain(describeSettings([])[0]?.description as string);
  });

  test('have the current value, the default, and where the value comes from', () => {
    const ofFile = describeSettings(apply([], { settings: { upstream_silence_seconds: 30, circuit_failures: null } }));
    const found = (name: string) => ofFile.find((one) => one.name === name);
    expect(found('upstream_silence_seconds')).toMatchObject({ value: 30, default: 300, origin: 'file' });
    expect(found('upstream_first_event_seconds')).toMatchObject({ value: 30, default: 30, origin: null });
    expect(found('circuit_failures')).toMatchObject({ value: null, default: 5, origin: 'file' });
    expect(found('vendor_prefixes')).toMatchObject({ value: ['vendor', 'anthropic'], kind: 'texts', origin: null });
  });

  test('have the bounds that apply enforces', () => {
    for (const { name, kind, least, most, nullable } of describeSettings([]).slice(1)) {
      const isTaken = (value: unknown) =>
        planApply([], { settings: { [name]: value } }, planOptions()).faults.every(
          // The descriptions of two settings state how they relate to others.
          ({ message }) => /^must be at least body_bytes_max|^requires usage_retention_days/.test(message),
        );
      expect([name, 'null', isTaken(null)]).toEqual([name, 'null', nullable]);
      if (kind !== 'integer' || least === null || most === null) continue;
      expect([name, [least - 1, least, most, most + 1].map(isTaken)]).toEqual([name, [false, true, true, false]]);
    }
  });
});
