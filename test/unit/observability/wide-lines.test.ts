// The log lines of requests: they name the account and key as far as they are known, and contain no message text.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';

type Line = Record<string, unknown>;

const WORDS = 'words-of-the-caller';
const hello = { model: 'sandbox-echo', max_tokens: 50, messages: [{ role: 'user', content: WORDS }] };

let turnpike: TurnpikeProcess;
let made: { account: string; key: string; secret: string };
let log = '';
beforeAll(async () => {
  turnpike = await spawnTurnpike(undefined, { TURNPIKE_LOG: 'json' });
  void readLog(turnpike.process.stderr);
  made = await turnpike.makeKey({ credit: '0.001' });
});
afterAll(() => turnpike.stop());

async function readLog(stderr: ReadableStream<Uint8Array>): Promise<void> {
  for await (const bytes of stderr) log += new TextDecoder().decode(bytes);
}

/** The log line of the request with this response. */
async function lineOf(response: Response): Promise<Line> {
  await response.text();
  for (let tries = 0; tries < 100; tries++) {
    const lines = log.split('\n').filter((line) => line.includes(response.headers.get('request-id') as string));
    if (lines.length > 0) return JSON.parse(lines[0] as string) as Line;
    await Bun.sleep(20);
  }
  throw new Error('the log has no such line');
}

test('a refusal names the account and the key that were refused', async () => {
  const { account, key } = made;
  const refused = await turnpike.post(made.secret, { ...hello, max_tokens: 100_000 });
  expect(await lineOf(refused)).toMatchObject({ event: 'request', code: 'insufficient_user_quota', account, key });
  const listed = await fetch(`${turnpike.url}/v1/models`, { headers: { 'x-api-key': made.secret } });
  expect(await lineOf(listed)).toMatchObject({ event: 'request', path: '/v1/models', status: 200, account, key });
});

test('a refusal of an unknown key names no account', async () => {
  const line = await lineOf(await turnpike.post('sk-tp-unknown', hello));
  expect(line).toMatchObject({ event: 'request', code: 'key_invalid', address: '127.0.0.1' });
  expect(Object.keys(line)).not.toContain('account');
});

test('an admitted message has one line, with its account, cost and outcome', async () => {
  const { account, key } = made;
  const line = await lineOf(await turnpike.post(made.secret, hello));
  expect(line).toMatchObject({ event: 'message', account, key, outcome: 'completed', code: null, attempts: 1 });
  expect(Number(line['cost'])).toBeGreaterThan(0);
});

test('a replay has one line, which names the original message', async () => {
  const { account, key } = made;
  const headers = { 'idempotency-key': 'order-17' };
  const first = await turnpike.post(made.secret, hello, { headers });
  const line = await lineOf(await turnpike.post(made.secret, hello, { headers }));
  const replay_of = first.headers.get('request-id');
  expect(line).toMatchObject({ event: 'request', account, key, status: 200, code: null, replay_of });
  expect(Object.keys(await lineOf(first))).not.toContain('replay_of');
});

test('the log contains no message text, key or token', async () => {
  await lineOf(await turnpike.post(made.secret, hello));
  await lineOf(await turnpike.post(made.secret, { ...hello, model: 'no-such-model' }));
  const { token } = (await turnpike.admin('POST', '/tokens', { role: 'viewer' })) as { token: string };
  await lineOf(await turnpike.scrape({ authorization: `Bearer ${token}` }));
  expect(log).toContain('"action":"token.create"');
  for (const hidden of [WORDS, made.secret, token, 'no-such-model']) expect(log).not.toContain(hidden);
});
