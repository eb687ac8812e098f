// Applying a file: what changes, what stays, and where a credential may be sent.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type CatalogDocument, formatFault, planApply } from '../../../src/catalog/catalog.ts';
import { apply, NOW_MS, planOptions, seal } from './support.ts';

const price = { input: '1', output: '2' };
const routes = [{ provider: 'main' }];
const file = {
  vendor_prefixes: ['vendor'],
  providers: { main: { kind: 'openai', base_url: 'https://models.example/v1/', api_key: 'sk-one' } },
  models: { m: { price, routes } },
  groups: { g: { models: ['*'] } },
  settings: { drain_seconds: 60 },
};
const plan = (current: CatalogDocument[], next: unknown, changes = {}) =>
  planApply(current, next, planOptions(changes));
const faults = (current: CatalogDocument[], next: unknown, changes = {}) =>
  plan(current, next, changes).faults.map(formatFault);
const find = (documents: CatalogDocument[], kind: string, name: string) =>
  documents.find((entry) => entry.kind === kind && entry.name === name);
const providerAt = (base_url: string, more = {}) => ({ providers: { main: { kind: 'openai', base_url, ...more } } });

describe('changes', () => {
  test('a first file creates everything, marked as made by a file', () => {
    const first = plan([], file);
    expect(first.changes.map(({ action, kind, name }) => `${action} ${kind} ${name}`)).toEqual([
      'create provider main',
      'create model m',
      'create group g',
      'create settings settings',
    ]);
    expect(first.put.every((entry) => entry.origin === 'file')).toBe(true);
    expect(find(first.put, 'model', 'm')?.document['created_at']).toBe(new Date(NOW_MS).toISOString());
    expect(find(first.put, 'provider', 'main')?.document['base_url']).toBe('https://models.example/v1');
  });

  test('applying the same file again changes nothing, also with its decimals written differently', () => {
    const documents = apply([], file);
    const again = {
      ...file,
      models: { m: { price: { input: 1, output: '2.00' }, routes: [{ provider: 'main', weight: 1 }] } },
    };
    for (const next of [file, again])
      expect(plan(documents, next, { nowMs: NOW_MS + 1 })).toMatchObject({
        faults: [],
        changes: [],
        put: [],
        remove: [],
      });
  });

  test('a field that was stored before this version knew it does not count as a change', () => {
    const documents = structuredClone(apply([], file));
    for (const { kind, document } of documents) {
      if (kind === 'provider') delete document['credentials'];
      if (kind === 'model')
        for (const route of document['routes'] as { concurrency?: null }[]) delete route.concurrency;
    }
    expect(plan(documents, file).changes).toEqual([]);
    const bounded = { models: { m: { price, routes: [{ provider: 'main', concurrency: 9 }] } } };
    expect(plan(documents, bounded).changes).toEqual([
      { action: 'update', kind: 'model', name: 'm', fields: ['routes'] },
    ]);
  });

  test('a route has a concurrency limit from one to a million messages, or none', () => {
    const faultsOf = (concurrency: unknown) =>
      faults(apply([], file), { models: { m: { price, routes: [{ provider: 'main', concurrency }] } } });
    for (const right of [1, 1_000_000, null]) expect(faultsOf(right)).toEqual([]);
    expect([0, 1_000_001, 1.5, '5'].map((wrong) => faultsOf(wrong).length)).toEqual([1, 1, 1, 1]);
  });

  test('time limits have lower and upper bounds', () => {
    const seconds = {
      upstream_connect_seconds: 600,
      upstream_first_event_seconds: 86_400,
      upstream_stream_seconds: 86_400,
      attempts_seconds: 86_400,
    };
    expect(faults([], { settings: seconds })).toEqual([]);
    for (const [name, most] of Object.entries(seconds)) {
      expect(faults([], { settings: { [name]: most + 1 } })).toEqual([`settings.${name}: must be at most ${most}`]);
      expect(faults([], { settings: { [name]: 0 } })).toEqual([`settings.${name}: must be at least 1`]);
    }
  });

  test('an update names the fields that differ and keeps the creation time', () => {
    const documents = apply([], file);
    const next = plan(
      documents,
      { models: { m: { price: { input: '1.5', output: '2' }, routes, max_output_tokens: 5 } } },
      { nowMs: NOW_MS + 1 },
    );
    expect(next.changes).toEqual([
      { action: 'update', kind: 'model', name: 'm', fields: ['price', 'max_output_tokens'] },
    ]);
    expect(next.put[0]?.document['created_at']).toBe(new Date(NOW_MS).toISOString());
  });

  const settingsAfter = (next: unknown, changes = {}) =>
    find(apply(apply([], file), next, changes), 'settings', 'settings')?.document;

  test('the settings of a file are complete: omitted ones return to their defaults', () => {
    expect(settingsAfter({ settings: { settle_wait_seconds: 5 } })).toEqual({
      vendor_prefixes: ['vendor'],
      settle_wait_seconds: 5,
    });
    for (const settings of [{}, null]) expect(settingsAfter({ settings })).toEqual({ vendor_prefixes: ['vendor'] });
    expect(plan(apply([], file), { settings: {} }).changes).toEqual([
      { action: 'update', kind: 'settings', name: 'settings', fields: ['drain_seconds'] },
    ]);
  });

  test('settings and prefixes stay if the file lacks their section', () => {
    expect(settingsAfter({ groups: file.groups })).toEqual({ vendor_prefixes: ['vendor'], drain_seconds: 60 });
    expect(settingsAfter({ vendor_prefixes: ['x'] })).toEqual({ vendor_prefixes: ['x'], drain_seconds: 60 });
    expect(settingsAfter({ vendor_prefixes: null })).toEqual({ drain_seconds: 60 });
    expect(settingsAfter({ vendor_prefixes: ['x'] }, { prune: true })).toEqual({ vendor_prefixes: ['x'] });
  });

  test('settings without values create nothing', () => {
    expect(plan([], { settings: {}, vendor_prefixes: null }).changes).toEqual([]);
  });

  test('an object keeps its origin when another principal changes it', () => {
    const byApi = apply([], { groups: { g: { models: ['*'] } } }, { origin: 'api' });
    const changed = apply(byApi, { groups: { g: { models: ['a*'] } } });
    expect(changed[0]?.origin).toBe('api');
  });

  test('for any file, applying it twice has the same result as once', () => {
    const names = fc.constantFrom('a', 'b', 'c', 'd');
    const rate = fc.oneof(
      fc.nat(99),
      fc.tuple(fc.nat(99), fc.nat(999)).map(([whole, rest]) => `${whole}.${rest}`),
    );
    const sections = {
      providers: fc.dictionary(
        fc.constantFrom('x', 'y'),
        fc.record(
          { kind: fc.constant('anthropic'), api_key: fc.constantFrom('sk-1', 'sk-2') },
          { requiredKeys: ['kind'] },
        ),
      ),
      models: fc.dictionary(
        names,
        fc.record(
          {
            price: fc.record({ input: rate, output: rate, cache_read: rate }, { requiredKeys: ['input', 'output'] }),
            routes: fc.constant([{ provider: 'standing' }]),
            display_name: fc.constantFrom('A', 'B'),
          },
          { requiredKeys: ['price', 'routes'] },
        ),
      ),
      groups: fc.dictionary(
        names,
        fc.record({ models: fc.constant(['*']), rpm: fc.integer({ min: 1, max: 9 }) }, { requiredKeys: ['models'] }),
      ),
      settings: fc.record({ drain_seconds: fc.nat(9), require_browser_header: fc.boolean() }, { requiredKeys: [] }),
      vendor_prefixes: fc.constantFrom(['a'], ['a', 'b'], null),
    };
    const files = fc.record(sections, { requiredKeys: ['providers', 'models', 'groups'] });
    const standing = apply([], { providers: { standing: { kind: 'sandbox' } } }, { origin: 'start' });
    fc.assert(
      fc.property(files, files, fc.boolean(), (before, next, prune) => {
        const documents = apply(apply(standing, before), next, { prune });
        expect(plan(documents, next, { prune, nowMs: NOW_MS + 1 })).toMatchObject({
          faults: [],
          changes: [],
          put: [],
          remove: [],
        });
      }),
      { numRuns: 150 },
    );
  });
});

describe('prune', () => {
  test('removes objects created by a file and missing from this one, and nothing else', () => {
    const start = apply([], { groups: { default: { models: ['*'] } } }, { origin: 'start' });
    const api = apply(start, { providers: { mine: { kind: 'sandbox' } } }, { origin: 'api' });
    const documents = apply(api, file);
    expect(plan(documents, {}).changes).toEqual([]);
    expect(plan(documents, {}, { prune: true }).remove).toEqual([
      { kind: 'provider', name: 'main' },
      { kind: 'model', name: 'm' },
      { kind: 'group', name: 'g' },
      { kind: 'settings', name: 'settings' },
    ]);
  });

  test('never leaves a model with a route to a missing provider', () => {
    const documents = apply(apply([], { providers: file.providers }), { models: file.models }, { origin: 'api' });
    expect(faults(documents, {}, { prune: true })).toEqual([
      'providers: the provider "main" would be removed, but the model "m" has a route to it',
    ]);
  });

  test('a route of the file to a provider that it prunes is a fault', () => {
    const documents = apply([], file);
    expect(faults(documents, { models: file.models }, { prune: true })).toEqual([
      'models.m.routes.0.provider: there is no provider "main"',
    ]);
    expect(faults(documents, { models: file.models })).toEqual([]);
  });
});

describe("a route's protocol", () => {
  const providers = {
    main: { kind: 'anthropic' },
    azure: { kind: 'foundry', base_url: 'https://name.services.ai.azure.com' },
  };
  const models = (provider: string, protocol: string) => ({ m: { price, routes: [{ provider, protocol }] } });

  test('must be one of the kind of its provider, in the file or stored', () => {
    const stored = apply([], { providers });
    for (const [given, documents] of [
      [{ providers }, []],
      [{}, stored],
    ] as const) {
      const faultsOf = (provider: string, protocol: string) =>
        faults([...documents], { ...given, models: models(provider, protocol) });
      expect(faultsOf('azure', 'responses')).toEqual([]);
      expect(faultsOf('azure', 'converse')).toEqual([
        'models.m.routes.0.protocol: must be one of messages, responses, chat-completions at a provider of the kind foundry',
      ]);
      expect(faultsOf('main', 'messages')).toEqual([
        'models.m.routes.0.protocol: is only for providers of the kinds bedrock, vertex, foundry',
      ]);
    }
  });
});

describe('existing names', () => {
  test('an alias of an existing model cannot be used again, as a name or as an alias', () => {
    const documents = apply(apply([], { providers: file.providers }), {
      models: { old: { price, routes, aliases: ['x', 'y'] } },
    });
    expect(
      faults(documents, { models: { x: { price, routes }, n: { price, routes, aliases: ['y', 'old'] } } }),
    ).toEqual([
      'models.x: is already an alias of the model "old"',
      'models.n.aliases.0: "y" is already an alias of the model "old"',
      'models.n.aliases.1: "old" is the name of a model',
    ]);
    expect(faults(documents, { models: { x: { price, routes }, old: { price, routes } } })).toEqual([]);
  });
});

describe('the credentials of a file', () => {
  test('are stored sealed for their provider, and not shown in any change', () => {
    const first = plan([], file);
    expect(find(first.put, 'provider', 'main')?.document['api_key_sealed']).toBe(seal('sk-one', 'provider:main'));
    expect(JSON.stringify(first)).not.toContain('sk-one');
    const rotated = plan(apply([], file), providerAt('https://models.example/v1', { api_key: 'sk-two' }));
    expect(rotated.changes).toEqual([{ action: 'update', kind: 'provider', name: 'main', fields: ['api_key'] }]);
    expect(JSON.stringify(rotated)).not.toContain('sk-two');
  });

  test('are compared after opening, because a seal differs each time', () => {
    let seals = 0;
    const salted = {
      seal: (text: string) => `${text}#${seals++}`,
      unseal: (sealed: string) => sealed.replace(/#.*/, ''),
    };
    const documents = apply([], file, salted);
    expect(plan(documents, file, salted).changes).toEqual([]);
    expect(
      plan(documents, providerAt('https://models.example/v1', { api_key: 'sk-two' }), salted).changes,
    ).toHaveLength(1);
  });

  test('stay if the file omits them, also with another path of the same host', () => {
    const documents = apply(apply([], file), providerAt('https://models.example/v2'));
    expect(find(documents, 'provider', 'main')?.document).toMatchObject({
      base_url: 'https://models.example/v2',
      api_key_sealed: seal('sk-one', 'provider:main'),
    });
  });

  test('are never sent to a host, port or protocol other than those they were created for', () => {
    const documents = apply([], file);
    for (const base_url of [
      'https://elsewhere.example/v1',
      'https://models.example:8443/v1',
      'http://models.example/v1',
      'https://models.example.evil.example',
    ]) {
      expect(faults(documents, providerAt(base_url))).toEqual([
        'providers.main.api_key: must be given again, because base_url has another host: a stored credential is never sent to a new host',
      ]);
      expect(faults(documents, providerAt(base_url, { api_key: 'sk-one' }))).toEqual([]);
    }
  });

  test('are dropped when a provider moves inside the service', () => {
    const documents = apply(apply([], file), { providers: { main: { kind: 'sandbox' } } });
    expect(find(documents, 'provider', 'main')?.document['api_key_sealed']).toBeNull();
  });

  test('sealed under another secret are replaced by those of the file', () => {
    const other = {
      seal: (text: string) => `sealed anew ${text}`,
      unseal: () => {
        throw new Error('sealed under another installation secret');
      },
    };
    expect(plan(apply([], file), file, other).changes).toEqual([
      { action: 'update', kind: 'provider', name: 'main', fields: ['api_key'] },
    ]);
  });
});

describe('an object named for removal', () => {
  const standing = apply([], file, { origin: 'start' });
  const remove = (...names: string[]) =>
    names.map((name) => ({ kind: name === 'main' ? ('provider' as const) : ('model' as const), name }));

  test('is removed whatever its origin, and nothing else is', () => {
    const { changes, put, remove: removed } = plan(standing, {}, { remove: remove('m') });
    expect(changes).toEqual([{ action: 'delete', kind: 'model', name: 'm' }]);
    expect([put, removed]).toEqual([[], [{ kind: 'model', name: 'm' }]]);
    expect(plan(standing, {}, { remove: remove('m', 'main') }).changes.length).toBe(2);
  });

  test('must exist, and must not be in the file as well', () => {
    expect(faults(standing, { models: file.models }, { remove: remove('m', 'n') })).toEqual([
      'remove.0: the model "m" is also in the document',
      'remove.1: there is no model "n"',
    ]);
  });

  test('must not be a provider that a model has a route to', () => {
    expect(faults(standing, {}, { remove: remove('main') })).toEqual([
      'providers: the provider "main" would be removed, but the model "m" has a route to it',
    ]);
  });
});
