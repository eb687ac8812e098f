// Which credentials the messages of an account use: its own alone, if it has any.

import { expect, test } from 'bun:test';
import { type Credential, credentialsFor, type ProviderSettings } from '../../../src/catalog/catalog.ts';
import { Secret } from '../../../src/secrets/secrets.ts';

function provider(...credentials: [string, Partial<Credential>?][]): ProviderSettings {
  const all = credentials.map(([name, bound]) => ({
    name,
    secret: new Secret(name),
    account: null,
    group: null,
    ...bound,
  }));
  const address = {
    baseUrl: 'https://p.example',
    isBearer: false,
    allowsStorage: false,
    fetchUrls: 'off' as const,
    workspace: null,
    region: null,
    project: null,
    residency: null,
    passthrough: null,
    batches: false,
    batchCostMillionths: 1_000_000n,
    batchBucket: null,
  };
  return { name: 'p', kind: 'anthropic', ...address, credentials: all };
}
const names = (settings: ProviderSettings, account: number, group: string) =>
  credentialsFor(settings, { account, group }).map((credential) => credential?.name ?? null);

test('an account without its own credentials uses the shared ones', () => {
  const settings = provider(['default'], ['second'], ['acme', { account: 7 }], ['vip', { group: 'vip' }]);
  expect(names(settings, 1, 'default')).toEqual(['default', 'second']);
});

test("an account uses its own credentials only, and its group's only if it has none", () => {
  const settings = provider(
    ['default'],
    ['acme', { account: 7 }],
    ['acme-2', { account: 7 }],
    ['vip', { group: 'vip' }],
  );
  expect(names(settings, 7, 'vip')).toEqual(['acme', 'acme-2']);
  expect(names(settings, 8, 'vip')).toEqual(['vip']);
  expect(names(settings, 8, 'default')).toEqual(['default']);
});

test('a provider with credentials for other accounts only is unavailable; one without credentials is available to all', () => {
  expect(names(provider(['acme', { account: 7 }]), 8, 'default')).toEqual([]);
  expect(names(provider(), 8, 'default')).toEqual([null]);
});
