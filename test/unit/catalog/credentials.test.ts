// Several credentials of a provider: how a file describes them, how they are stored, which ones are kept, and who may
// use each.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { describeChange } from '../../../src/audit/audit.ts';
import {
  buildCatalog,
  type CatalogDocument,
  formatFault,
  planApply,
  resealDocument,
  sealedCredentials,
} from '../../../src/catalog/catalog.ts';
import { apply, NOW_MS, planOptions, seal, unseal } from './support.ts';

const ACME = 'acct_000000001';
const OTHER = 'acct_000000002';
const groups = { vip: { models: ['*'] } };
const credentials = {
  second: { api_key: 'sk-second' },
  acme: { api_key: 'sk-acme', account: ACME },
  vip: { api_key: 'sk-vip', group: 'vip' },
};
const providerWith = (more: object) => ({
  providers: { main: { kind: 'openai', base_url: 'https://models.example', ...more } },
});
const file = { ...providerWith({ api_key: 'sk-one', credentials }), groups };

const plan = (current: CatalogDocument[], next: unknown, changes = {}) =>
  planApply(current, next, planOptions(changes));
const faults = (current: CatalogDocument[], next: unknown, changes = {}) =>
  plan(current, next, changes).faults.map(formatFault);
const opened = (documents: CatalogDocument[]) =>
  buildCatalog(documents, unseal)
    .providers.get('main')
    ?.credentials.map(({ name, secret, account, group }) => [name, secret.reveal(), account, group]);

describe('the credentials of a provider', () => {
  test('are the one of api_key, for every account, followed by the named ones in the order of their names', () => {
    expect(opened(apply([], file))).toEqual([
      ['default', 'sk-one', null, null],
      ['acme', 'sk-acme', 1, null],
      ['second', 'sk-second', null, null],
      ['vip', 'sk-vip', null, 'vip'],
    ]);
    const backwards = Object.fromEntries(Object.entries(credentials).reverse());
    const documents = apply([], { ...providerWith({ api_key: 'sk-one', credentials: backwards }), groups });
    expect(opened(documents)).toEqual(opened(apply([], file)));
    expect(plan(documents, file).changes).toEqual([]);
  });

  test('need no api_key beside them', () => {
    const documents = apply([], providerWith({ credentials: { acme: credentials.acme } }));
    expect(opened(documents)).toEqual([['acme', 'sk-acme', 1, null]]);
  });

  test('that an earlier version stored as a single one are read', () => {
    const [now] = apply([], providerWith({ api_key: 'sk-one' }));
    const { credentials: _, ...before } = now?.document ?? {};
    const documents: CatalogDocument[] = [{ kind: 'provider', name: 'main', origin: 'file', document: before }];
    expect(before['api_key_sealed']).toBe(seal('sk-one', 'provider:main'));
    expect(opened(documents)).toEqual([['default', 'sk-one', null, null]]);
    expect(plan(documents, providerWith({ api_key: 'sk-one' })).changes).toEqual([]);
  });

  test('are each sealed for their provider and their name, and never shown in a change', () => {
    const first = plan([], file);
    expect(first.put[0]?.document['credentials']).toMatchObject({
      second: { api_key_sealed: seal('sk-second', 'provider:main:second'), account: null, group: null },
      acme: { account: ACME },
    });
    expect(JSON.stringify(first)).not.toContain('sk-');
    const [provider] = first.put;
    if (provider === undefined) throw new Error('no object was written');
    const swapped = structuredClone(provider);
    const stored = swapped.document['credentials'] as Record<string, { api_key_sealed: string }>;
    [stored['second'], stored['vip']] = [stored['vip'] as never, stored['second'] as never];
    expect(() => buildCatalog([swapped], unseal)).toThrow(
      'the credential "second" of provider "main" cannot be decrypted',
    );
  });

  test('with an unreadable restriction are not used for any other account', () => {
    const documents = structuredClone(apply([], file));
    const stored = documents[0]?.document['credentials'] as Record<string, { account: string }>;
    (stored['acme'] as { account: string }).account = 'acme';
    expect(() => buildCatalog(documents, unseal)).toThrow('credentials.acme.account');
  });
});

describe('a file that names credentials', () => {
  const kept = { second: {}, acme: { account: ACME }, vip: { group: 'vip' } };

  test('keeps a stored credential that it names without an api_key, and removes those it does not name', () => {
    const documents = apply([], file);
    expect(plan(documents, providerWith({ credentials: kept })).changes).toEqual([]);
    const without = plan(
      documents,
      providerWith({ credentials: { acme: { account: ACME }, third: { api_key: 'sk-3' } } }),
    );
    expect(without.changes).toEqual([
      {
        action: 'update',
        kind: 'provider',
        name: 'main',
        fields: ['credentials.second', 'credentials.vip', 'credentials.third'],
      },
    ]);
    const after = apply(documents, providerWith({ credentials: { acme: { account: OTHER } } }));
    expect(opened(after)).toEqual([
      ['default', 'sk-one', null, null],
      ['acme', 'sk-acme', 2, null],
    ]);
  });

  test('keeps all of them if it lacks the field, and none if the field is null', () => {
    const documents = apply([], file);
    expect(plan(documents, providerWith({})).changes).toEqual([]);
    for (const none of [{}, null])
      expect(opened(apply(documents, providerWith({ credentials: none })))).toEqual([
        ['default', 'sk-one', null, null],
      ]);
  });

  test('names each one that changed, without its value', () => {
    const rotated = plan(
      apply([], file),
      providerWith({ credentials: { ...kept, acme: { api_key: 'sk-new', account: ACME } } }),
    );
    expect(rotated.changes).toEqual([
      { action: 'update', kind: 'provider', name: 'main', fields: ['credentials.acme'] },
    ]);
    expect(JSON.stringify(rotated)).not.toContain('sk-');
    const [before, after] = [apply([], file)[0], rotated.put[0]];
    const change = describeChange(before?.document ?? null, after?.document ?? null);
    expect(change.after).toEqual({
      credentials: {
        second: { api_key_sealed: '[secret]', account: null, group: null },
        acme: { api_key_sealed: '[another secret]', account: ACME, group: null },
        vip: { api_key_sealed: '[secret]', account: null, group: 'vip' },
      },
    });
  });

  test('gets every fault in them reported', () => {
    const wrong = {
      default: { api_key: 'sk-x' },
      'no name': { api_key: 'sk-x' },
      none: {},
      empty: { api_key: '' },
      unset: { api_key: `x $${'{KEY}'}` },
      whose: { api_key: 'sk-x', account: 'acme' },
      both: { api_key: 'sk-x', account: ACME, group: 'vip' },
      nobody: { api_key: 'sk-x', group: 'nobody' },
      more: { api_key: 'sk-x', base_url: 'https://elsewhere.example' },
      text: 'sk-x',
    };
    const at = 'providers.main.credentials';
    const found = faults(apply([], { groups }), providerWith({ credentials: wrong }));
    expect(found.toSorted()).toEqual(
      [
        `${at}.default: is reserved for the credential in api_key`,
        `${at}.no name: must be a name of at most 64 letters, digits, ".", "_" and "-"`,
        `${at}.none.api_key: is missing: no credential of this name is stored`,
        `${at}.empty.api_key: must not be empty: omit it if there is none`,
        `${at}.unset.api_key: contains a variable that was not expanded: the process that reads the file must expand it`,
        `${at}.unset.api_key: must be printable characters without spaces`,
        `${at}.whose.account: must be the id of an account such as acct_000000001`,
        `${at}.both.group: cannot be combined with account: a credential is for one of the two`,
        `${at}.nobody.group: there is no group "nobody"`,
        `${at}.more.base_url: unknown member`,
        `${at}.text: must be an object`,
      ].toSorted(),
    );
    expect(found.join()).not.toContain('sk-x');
  });

  test('gets faults in them reported beside other faults of the provider', () => {
    expect(
      faults([], providerWith({ kind: 'none', credentials: { a: {}, b: { api_key: 'sk', group: 'gone' } } })),
    ).toEqual([
      'providers.main.kind: must be one of anthropic, foundry, openai, sandbox',
      'providers.main.credentials.a.api_key: is missing: no credential of this name is stored',
      'providers.main.credentials.b.group: there is no group "gone"',
    ]);
  });

  test('may have at most a hundred of them, and none for a provider inside the service', () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, { api_key: `sk-${at}` }]));
    expect(faults([], providerWith({ credentials: many(100) }))).toEqual([]);
    expect(faults([], providerWith({ credentials: many(101) }))).toEqual([
      'providers.main.credentials: must not have more than 100 entries',
    ]);
    expect(faults([], providerWith({ credentials: ['sk-x'] }))).toEqual([
      'providers.main.credentials: must be an object',
    ]);
    expect(faults([], { providers: { main: { kind: 'sandbox', credentials: {} } } })).toEqual([
      'providers.main.credentials: is only for providers outside the service',
    ]);
    expect(opened(apply(apply([], file), { providers: { main: { kind: 'sandbox' } } }))).toEqual([]);
  });

  test('has its accounts checked if the provider changes', () => {
    const [asked] = plan([], file).questions.accounts;
    expect(asked).toEqual({ id: ACME, path: ['providers', 'main', 'credentials', 'acme', 'account'] });
    expect(plan(apply([], file), file).questions.accounts).toEqual([]);
    expect(plan([], { ...file, models: 3 }).questions.accounts).toHaveLength(1);
  });
});

describe('a credential', () => {
  const ELSEWHERE =
    'must be given again, because base_url has another host: a stored credential is never sent to a new host';
  const at = (base_url: string, more: object) => ({ providers: { main: { kind: 'openai', base_url, ...more } } });

  test('is never sent to a host other than the one it was created for', () => {
    const documents = apply([], file);
    const elsewhere = 'https://elsewhere.example';
    const places = ['api_key', 'credentials.second.api_key', 'credentials.acme.api_key', 'credentials.vip.api_key'];
    const named = places.map((place) => `providers.main.${place}: ${ELSEWHERE}`);
    expect(faults(documents, at(elsewhere, {}))).toEqual(named);
    expect(
      faults(documents, at(elsewhere, { api_key: 'sk-one', credentials: { second: { api_key: 'sk' }, acme: {} } })),
    ).toEqual([`providers.main.credentials.acme.api_key: ${ELSEWHERE}`]);
    expect(faults(documents, at(elsewhere, { api_key: 'sk-one', credentials: {} }))).toEqual([]);
    expect(faults(documents, at('https://models.example/v2', {}))).toEqual([]);
  });

  test('may be for a group of the file or a stored one, and prevents the removal of that group', () => {
    const documents = apply([], file);
    const { groups: _, ...withoutGroups } = file;
    expect(faults(documents, withoutGroups)).toEqual([]);
    expect(faults(documents, withoutGroups, { prune: true })).toEqual([
      'providers.main.credentials.vip.group: there is no group "vip"',
    ]);
    expect(faults(documents, providerWith({}), { prune: true })).toEqual([
      'groups: the group "vip" would be removed, but the credential "vip" of the provider "main" is restricted to it',
    ]);
    expect(faults(documents, providerWith({ credentials: {} }), { prune: true })).toEqual([]);
    expect(faults(documents, { providers: { main: { kind: 'sandbox' } } }, { prune: true })).toEqual([]);
    const byApi = apply(apply([], { groups }), file, { origin: 'api' });
    expect(faults(byApi, {}, { prune: true })).toEqual([
      'groups: the group "vip" would be removed, but the credential "vip" of the provider "main" is restricted to it',
    ]);
  });

  test('cannot be for a group with a fault of its own', () => {
    expect(faults([], { ...file, groups: { vip: { models: 3 } } })).toEqual(['groups.vip.models: must be a list']);
  });
});

describe('with a new secret of the installation', () => {
  test('each credential is sealed again, for the same use, and nothing else changes', () => {
    const [provider, group] = apply([], file);
    if (provider === undefined || group === undefined) throw new Error('the documents are missing');
    const sealAnew = (text: string, context: string) => `anew ${seal(text, context)}`;
    const resealed = resealDocument(provider, { open: unseal, seal: sealAnew });
    const openAnew = (sealed: string, context: string) => unseal(sealed.replace(/^anew /, ''), context);
    const all = sealedCredentials(resealed as CatalogDocument);
    expect(all.map(({ name }) => name)).toEqual(['default', 'acme', 'second', 'vip']);
    expect(all.every(({ sealed }) => sealed.startsWith('anew '))).toBe(true);
    const back = resealDocument(resealed as CatalogDocument, { open: openAnew, seal });
    expect(back).toEqual(provider);
    expect(resealDocument(group, { open: unseal, seal })).toBeNull();
  });

  test('providers without an api_key are included', () => {
    const [provider] = apply([], providerWith({ credentials: { acme: credentials.acme } }));
    const resealed = resealDocument(provider as CatalogDocument, { open: unseal, seal: (text) => `anew ${text}` });
    expect(resealed?.document).toMatchObject({
      api_key_sealed: null,
      credentials: { acme: { api_key_sealed: 'anew sk-acme' } },
    });
  });
});

test('for any file with credentials, applying it twice has the same result as once, and no plan shows a credential', () => {
  const secret = fc.constantFrom('sk-canary-1', 'sk-canary-2', 'sk-canary-3');
  const bound = fc.constantFrom({}, { account: ACME }, { account: OTHER }, { group: 'vip' }, { group: null });
  const credential = fc.tuple(fc.record({ api_key: secret }), bound).map(([one, whom]) => ({ ...one, ...whom }));
  const named = fc.dictionary(fc.constantFrom('a', 'b', '1', 'constructor', 'key'), credential);
  const provider = fc.record(
    { kind: fc.constant('anthropic'), api_key: secret, credentials: fc.oneof(named, fc.constant(null)) },
    { requiredKeys: ['kind'] },
  );
  const files = fc.record({
    providers: fc.dictionary(fc.constantFrom('x', 'y'), provider),
    groups: fc.constant(groups),
  });
  let seals = 0;
  const salted = planOptions({
    seal: (text, context) => `${seals++}#${seal(text, context)}`,
    unseal: (sealed, context) => unseal(sealed.replace(/^\d+#/, ''), context),
  });
  fc.assert(
    fc.property(files, files, (before, next) => {
      const documents = apply(apply([], before, salted), next, salted);
      const again = plan(documents, next, { ...salted, nowMs: NOW_MS + 1 });
      expect(again).toMatchObject({ faults: [], changes: [], put: [], remove: [] });
      const spoken = JSON.stringify([
        plan([], next, salted),
        documents,
        describeChange(null, documents[0]?.document ?? null),
      ]);
      expect(spoken).not.toContain('sk-canary');
      const held = buildCatalog(documents, salted.unseal);
      for (const [name, { credentials: given }] of Object.entries(next.providers))
        if (given !== undefined)
          expect(
            held.providers.get(name)?.credentials.flatMap((one) => (one.name === 'default' ? [] : [one.name])),
          ).toEqual(Object.keys(given ?? {}).sort());
    }),
    { numRuns: 150 },
  );
});
