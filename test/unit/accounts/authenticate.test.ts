// Authentication: which keys are accepted, and the error for every other request.

import { expect, test } from 'bun:test';
import {
  authenticate,
  type Caller,
  groupsOf,
  KeyDirectory,
  makeKeySecret,
  NetworkCounter,
} from '../../../src/accounts/accounts.ts';
import { bounds } from '../../../src/config/config.ts';
import { asTurnpikeError, TurnpikeError } from '../../../src/errors.ts';
import { makeCaller, NOW_MS, PausedStore } from './callers.ts';

const secret = makeKeySecret().secret.reveal();
const here = {
  origin: null as string | null,
  address: '203.0.113.7',
  bearer: null as string | null,
  caller: null,
  agent: null,
  item: null as { keyId: number; done: object | null } | null,
  nowMs: NOW_MS,
};

function setUp(caller: Caller | null) {
  const store = new PausedStore();
  if (caller !== null) store.rows.set(secret, caller);
  return { store, keys: new KeyDirectory(store, (text) => [text]), failures: new NetworkCounter() };
}

/** The error code for a secret, or null if it is accepted. */
async function refusal(
  caller: Caller | null,
  shown: string | null = secret,
  from: Partial<typeof here> = {},
  authenticator = setUp(caller),
): Promise<TurnpikeError | null> {
  try {
    const { nowMs, ...sender } = { ...here, ...from };
    const authenticated = await authenticate(shown, sender, nowMs, authenticator);
    return authenticated instanceof TurnpikeError ? authenticated : null;
  } catch (thrown) {
    return asTurnpikeError(thrown);
  }
}

test('a valid key authenticates its caller, and repeatedly without waiting for the store', async () => {
  const caller = makeCaller();
  const authenticator = setUp(caller);
  expect(await authenticate(secret, here, NOW_MS, authenticator)).toBe(caller);
  expect(authenticate(secret, here, NOW_MS, authenticator)).toBe(caller);
});

test('a missing key is key_missing, and the error names the header', async () => {
  const error = await refusal(makeCaller(), null);
  expect(error?.code).toBe('key_missing');
  expect(error?.message).toContain('x-api-key header is required');
});

test('a key that does not exist leaves the one beside it to Authorization', async () => {
  const caller = makeCaller();
  const unknown = makeKeySecret().secret.reveal();
  for (const shown of ['dummy', unknown]) {
    expect(await refusal(caller, shown, { bearer: secret })).toBeNull();
    expect((await refusal(caller, shown, { bearer: 'dummy' }))?.message).toStartWith('Invalid bearer token');
  }
  expect((await refusal(makeCaller({ key: { status: 'disabled' } }), secret, { bearer: unknown }))?.code).toBe(
    'key_disabled',
  );
});

test('two keys that do not exist count as one failed attempt', async () => {
  const authenticator = { ...setUp(makeCaller()), failures: new NetworkCounter(1) };
  const shown = { bearer: makeKeySecret().secret.reveal() };
  expect((await refusal(null, 'dummy', shown, authenticator))?.code).toBe('key_invalid');
  expect((await refusal(null, 'dummy', shown, authenticator))?.code).toBe('too_many_failures');
  expect(await refusal(null, 'dummy', { bearer: secret }, authenticator)).toBeNull();
});

test('an unknown key and a malformed one get the same error, and a malformed one causes no lookup', async () => {
  const authenticator = setUp(null);
  const unknown = await refusal(null, secret, {}, authenticator);
  expect(authenticator.store.lookedUp).toHaveLength(1);
  const malformed = await refusal(null, 'sk-tp-nonsense', {}, authenticator);
  expect(authenticator.store.lookedUp).toHaveLength(1);
  expect(malformed?.body('r')).toBe(unknown?.body('r') as string);
  expect(unknown).toMatchObject({ code: 'key_invalid', status: 401, retry: false });
});

test.each(['disabled', 'revoked'] as const)('a %s key is key_disabled', async (status) => {
  expect((await refusal(makeCaller({ key: { status } })))?.code).toBe('key_disabled');
});

test('a key is valid until the millisecond of its expiry', async () => {
  const caller = makeCaller({ key: { expiresAtMs: NOW_MS } });
  expect(await refusal(caller, secret, { nowMs: NOW_MS - 1 })).toBeNull();
  expect((await refusal(caller))?.code).toBe('key_expired');
});

test('a key of a disabled account is account_disabled', async () => {
  expect((await refusal(makeCaller({ account: { status: 'disabled' } })))?.code).toBe('account_disabled');
});

test('a key with origins refuses other origins, and does not apply to requests without an origin', async () => {
  const caller = makeCaller({ key: { origins: ['https://app.example'] } });
  expect(await refusal(caller, secret, { origin: 'https://app.example' })).toBeNull();
  expect(await refusal(caller, secret, { origin: null })).toBeNull();
  for (const origin of ['https://app.example.evil', 'http://app.example', 'null'])
    expect(await refusal(caller, secret, { origin })).toMatchObject({ code: 'origin_not_allowed', status: 403 });
});

test('a key with addresses refuses other addresses, and an unknown client address', async () => {
  const caller = makeCaller({ key: { addresses: ['10.0.0.0/8', '2001:db8::/32'] } });
  for (const address of ['10.9.9.9', '2001:db8::1', '::ffff:10.0.0.1'])
    expect(await refusal(caller, secret, { address })).toBeNull();
  for (const address of ['11.0.0.1', '2001:db9::1', ''])
    expect(await refusal(caller, secret, { address })).toMatchObject({ code: 'address_not_allowed', status: 403 });
});

test('a list of addresses that cannot be read refuses every address', async () => {
  expect((await refusal(makeCaller({ key: { addresses: ['anywhere'] } })))?.code).toBe('address_not_allowed');
});

test('an unavailable store causes 503, never 401', async () => {
  const authenticator = setUp(null);
  authenticator.store.isDown = true;
  expect(await refusal(null, secret, {}, authenticator)).toMatchObject({ code: 'store_unavailable', status: 503 });
});

test('an address with too many failures gets a retry time, and a valid key from there is still accepted', async () => {
  const authenticator = setUp(makeCaller());
  for (let guess = 0; guess < bounds.failedAuthenticationsPerMinuteMax; guess++)
    expect((await refusal(null, 'guess', {}, authenticator))?.code).toBe('key_invalid');
  const error = await refusal(null, 'guess', { nowMs: NOW_MS + 20_500 }, authenticator);
  expect(error).toMatchObject({ code: 'too_many_failures', status: 429, retry: true });
  expect(error?.headers()['retry-after']).toBe('40');
  expect(await refusal(null, secret, {}, authenticator)).toBeNull();
  expect((await refusal(null, 'guess', { address: '203.0.113.8' }, authenticator))?.code).toBe('key_invalid');
  expect((await refusal(null, 'guess', { nowMs: NOW_MS + 60_000 }, authenticator))?.code).toBe('key_invalid');
});

test('a key that was valid once gets its own error, however often it is sent', async () => {
  const authenticator = setUp(makeCaller({ key: { status: 'disabled' } }));
  for (let time = 0; time < 2 * bounds.failedAuthenticationsPerMinuteMax; time++)
    expect((await refusal(null, secret, {}, authenticator))?.code).toBe('key_disabled');
});

test('failures from one IPv6 /64 count together', () => {
  const failures = new NetworkCounter(2);
  expect(failures.count('2001:db8::1', 0)).toBeNull();
  expect(failures.count('2001:db8::2', 0)).toBeNull();
  expect(failures.count('2001:db8::3', 0)?.code).toBe('too_many_failures');
  expect(failures.count('2001:db8:0:1::3', 0)).toBeNull();
});

test('failures from one IPv6 /48 have a limit, too, from however many networks', () => {
  const failures = new NetworkCounter(2, 100, 5);
  const answers = Array.from({ length: 6 }, (_, at) => failures.count(`2001:db8:0:${at}::1`, 0));
  expect(answers.map((refused) => refused?.code ?? null)).toEqual([...Array(5).fill(null), 'too_many_failures']);
  expect(failures.count('2001:db8:1::1', 0)).toBeNull();
});

test('beyond the maximum number of addresses, the oldest failures are dropped', () => {
  const failures = new NetworkCounter(1, 3); // two addresses and their site
  failures.count('10.0.0.1', 0);
  failures.count('10.0.0.2', 0);
  expect(failures.count('10.0.0.1', 0)).not.toBeNull();
  failures.count('10.0.0.3', 0);
  expect(failures.count('10.0.0.2', 0)).not.toBeNull();
  expect(failures.count('10.0.0.1', 0)).toBeNull();
});

test('a key has its own groups in its order, except those that its account no longer has', () => {
  const account = { groups: ['default', 'vip'] };
  expect(groupsOf(makeCaller({ account }), null)).toEqual(['default', 'vip']);
  expect(groupsOf(makeCaller({ account, key: { groups: ['vip', 'default'] } }), null)).toEqual(['vip', 'default']);
  expect(groupsOf(makeCaller({ account, key: { groups: ['gone', 'vip'] } }), null)).toEqual(['vip']);
  expect(groupsOf(makeCaller({ account, key: { groups: [] } }), null)).toEqual([]);
});
