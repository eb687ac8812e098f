// Guessing tokens is slow: after many failures from one address the answer is 429. A valid token is always accepted.

import { afterAll, expect, test } from 'bun:test';
import { startOwnTurnpike } from '../../support/start-turnpike.ts';

const turnpike = await startOwnTurnpike('its invalid tokens exhaust what an address may fail');
afterAll(() => turnpike.stop());

const ask = (token: string, address: string, path = '/api/v1/accounts') =>
  fetch(turnpike.url + path, { headers: { authorization: `Bearer ${token}`, 'x-forwarded-for': address } });

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code;
}

async function guessTooOften(address: string): Promise<void> {
  for (let turn = 0; turn < 60; turn++) expect((await ask(`wrong-${turn}`, address)).status).toBe(401);
}

test('after sixty wrong tokens within a minute an address gets too_many_failures, also for metrics', async () => {
  await guessTooOften('198.51.100.1');
  for (const path of ['/api/v1/accounts', '/metrics']) {
    const refused = await ask('wrong', '198.51.100.1', path);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61);
    expect(await codeOf(refused)).toBe('too_many_failures');
  }
  expect(await codeOf(await ask('wrong', '198.51.100.2'))).toBe('token_invalid');
});

test('every valid token is still accepted from that address', async () => {
  await guessTooOften('198.51.100.3');
  const made = await turnpike.admin('POST', '/tokens', { role: 'viewer' });
  expect((await ask(made['token'] as string, '198.51.100.3')).status).toBe(200);
  expect((await ask(made['token'] as string, '198.51.100.3', '/metrics')).status).toBe(200);
  expect((await ask('wrong', '198.51.100.3')).status).toBe(429);
});

test('guesses of keys and tokens from one address are counted together', async () => {
  await guessTooOften('198.51.100.4');
  const asKey = { 'x-api-key': 'sk-tp-wrong', 'x-forwarded-for': '198.51.100.4' };
  expect((await fetch(`${turnpike.url}/v1/models`, { headers: asKey })).status).toBe(429);
});

test('a token of any length is refused as unknown', async () => {
  expect(await codeOf(await ask('x'.repeat(12_000), '198.51.100.5'))).toBe('token_invalid');
});
