// All live credentials of a node: kept while the catalog has them, and reported by the names of their holders.

import { expect, test } from 'bun:test';
import { readConfig } from '../../../src/config/config.ts';
import { type CredentialState, LiveCredentials } from '../../../src/credentials/credentials.ts';

const { credentials: settings } = readConfig({}, { ONE_API_KEY: 'sk-1' });
const holder = {
  provider: 'vendor',
  credential: 'default',
  kind: 'anthropic',
  region: null,
  baseUrl: 'https://a.example',
};

function open() {
  const states: CredentialState[] = [];
  return { states, live: new LiveCredentials({ settings, nowMs: Date.now, onState: (state) => states.push(state) }) };
}

test('a credential stays the same while its provider is unchanged, and is another for another address', async () => {
  const { live } = open();
  const auth = { type: 'env' as const, name: 'ONE_API_KEY' };
  const secret = live.open(auth, null, holder);
  await secret.ready();
  expect(secret.reveal()).toBe('sk-1');
  expect(secret.failure).toBeNull();
  expect(live.open(auth, null, { ...holder })).toBe(secret);
  const elsewhere = live.open(auth, null, { ...holder, baseUrl: 'https://b.example' });
  expect(elsewhere).not.toBe(secret);
  live.keepOnly(new Set([elsewhere]));
  expect(live.open(auth, null, holder)).not.toBe(secret);
  live.close();
});

test('a source that fails is reported with provider, credential and type', async () => {
  const { live, states } = open();
  const secret = live.open({ type: 'file', path: '/run/secrets/no-such-file' }, null, holder);
  await expect(secret.ready() as Promise<void>).rejects.toThrow('does not exist');
  const failure = 'the file /run/secrets/no-such-file does not exist';
  expect(states).toEqual([{ provider: 'vendor', credential: 'default', type: 'file', failure }]);
  expect(secret.failure).toBe(failure);
  live.close();
});
