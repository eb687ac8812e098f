// The catalogue said as a file would have it, and the settings in words.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CatalogDocument,
  describeDocuments,
  describeSettings,
  firstDocuments,
  planApply,
} from '../../src/catalog/catalog.ts';
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

describe('what stands, as a file would have it,', () => {
  test('changes nothing when it is applied, and makes the same of nothing but for credentials', () => {
    for (const documents of [apply([], file), firstDocuments(['sandbox-echo'], { anthropic: 'sealed' }), []]) {
      const { document } = describeDocuments(documents);
      expect(planApply(documents, document, planOptions())).toMatchObject({ faults: [], changes: [] });
      expect(planApply(documents, document, planOptions({ prune: true }))).toMatchObject({ faults: [], changes: [] });
    }
  });

  test('has no credential, sealed or not', () => {
    const text = JSON.stringify(describeDocuments(apply([], file)));
    expect(text).not.toContain('sealed');
    expect(text).not.toContain('sk-');
    expect(describeDocuments(apply([], file)).document.providers['main']?.credentials).toEqual({
      second: { account: null, group: null },
      vip: { account: null, group: 'vip' },
    });
  });

  test('says that a price is from the list only while this version has the same', () => {
    const documents = apply([], file);
    const ofAnotherVersion = structuredClone(documents).map((one) =>
      one.name === 'claude-sonnet-4-6' ? { ...one, document: withSource(one.document, '2025-01-01') } : one,
    );
    expect(describeDocuments(documents).document.models['claude-sonnet-4-6']).toMatchObject({ catalogue: true });
    const { catalogue, price } = describeDocuments(ofAnotherVersion).document.models['claude-sonnet-4-6'] ?? {};
    expect([catalogue, price]).toEqual([undefined, expect.objectContaining({ input: '3', output: '15' })]);
  });

  test('tells who made each', () => {
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
  const page = readFileSync(join(import.meta.dir, '../../docs/configuration.md'), 'utf8');
  const rows = [
    ...(page.split('**`settings`**')[1]?.split('\n\n')[1] ?? '').matchAll(/^\| `(\w+)` \| (.*?) \| (.*) \|$/gm),
  ];

  test('have the words, the order and the defaults of docs/configuration.md', () => {
    const described = describeSettings([]).slice(1);
    const documented = rows.map(([, name = '', shown = '', words = '']) => [
      name,
      shown.replaceAll('`', ''),
      words.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'),
    ]);
    // One of them goes by another where nobody says anything of it.
    const defaultOf = (name: string, value: unknown) =>
      name === 'upstream_first_event_seconds' ? 'upstream_silence_seconds' : JSON.stringify(value);
    expect(
      described.map(({ name, default: value, description }) => [name, defaultOf(name, value), description]),
    ).toEqual(documented);
    expect(page.replaceAll('\n', ' ')).toContain(describeSettings([])[0]?.description as string);
  });

  test('have what is in force, what would be by default, and who said it', () => {
    const ofFile = describeSettings(apply([], { settings: { upstream_silence_seconds: 30, circuit_failures: null } }));
    const found = (name: string) => ofFile.find((one) => one.name === name);
    expect(found('upstream_silence_seconds')).toMatchObject({ value: 30, default: 300, origin: 'file' });
    expect(found('upstream_first_event_seconds')).toMatchObject({ value: 30, default: 30, origin: null });
    expect(found('circuit_failures')).toMatchObject({ value: null, default: 5, origin: 'file' });
    expect(found('vendor_prefixes')).toMatchObject({ value: ['vendor', 'anthropic'], kind: 'texts', origin: null });
  });

  test('have the bounds that apply holds them to', () => {
    for (const { name, kind, least, most, nullable } of describeSettings([]).slice(1)) {
      const isTaken = (value: unknown) =>
        planApply([], { settings: { [name]: value } }, planOptions()).faults.every(
          // What two of them must be beside others is said by their descriptions.
          ({ message }) => /^must be at least body_bytes_max|^needs usage_retention_days/.test(message),
        );
      expect([name, 'null', isTaken(null)]).toEqual([name, 'null', nullable]);
      if (kind !== 'integer' || least === null || most === null) continue;
      expect([name, [least - 1, least, most, most + 1].map(isTaken)]).toEqual([name, [false, true, true, false]]);
    }
  });
});
