// Requests of every kind, valid and broken, to providers that work and fail, by clients that stay and that disconnect
// at any moment. Afterwards no money, slot or body memory is held.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { makeRandom } from '../support/random.ts';
import { readSamples } from '../support/read-samples.ts';
import { type Script, type ScriptedUpstream, scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

const REQUESTS = 1_500;
const AT_ONCE = 60;
const PATIENCE_MS = 4_000;
const HELD = /^turnpike_(open_messages|bodies_in_flight_bytes|open_holds|held_usd|ledger_unfinished_endings)/;
const MODELS = ['late', 'late', 'late', 'sandbox-echo', 'sandbox-tool', 'sandbox-cut', 'sandbox-error-529', 'nothing'];
const PATHS = [
  ...Array(8).fill('/v1/messages'),
  '/v1/messages/count_tokens',
  '/v1/models',
  '/v1/key',
  '/v1/usage/req_x',
];
const SCRIPTS: readonly Script[] = [
  scripts.good(),
  scripts.good(),
  scripts.slowStream(10),
  scripts.error(529, 'overloaded_error', 'Overloaded'),
  scripts.error(400, 'invalid_request_error', 'No'),
  scripts.json('no JSON'),
  (answer) => answer.drop(),
  (answer) => answer.reset(),
  () => {}, // Never answers.
];

let upstream: ScriptedUpstream;
let turnpike: Turnpike;
const random = makeRandom(23);
const pick = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)] as Value;
const settings = {
  body_bytes_max: 1_048_576,
  shed_body_bytes: 2_097_152,
  shed_open_messages: 100,
  upstream_silence_seconds: 1,
  upstream_answer_seconds: 1,
  finish_without_caller_seconds: 1,
};

beforeAll(async () => {
  upstream = await startScriptedUpstream((answer, request) => pick(SCRIPTS)(answer, request));
  const route = { provider: 'scripted', model: 'late' };
  turnpike = await startTurnpike({
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { late: { price: { input: '1', output: '5' }, routes: [route, { ...route, priority: 1 }] } },
    settings,
  });
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
});

function bodyOf(): string {
  const content = 'x'.repeat(random() < 0.1 ? 600_000 * random() : 5);
  const body = { model: pick(MODELS), max_tokens: 50, stream: random() < 0.6, messages: [{ role: 'user', content }] };
  const text = JSON.stringify(body);
  return pick([...Array(12).fill(text), text.slice(0, -2), '']);
}

/** A request in parts: a head, and a body in two pieces, with its length, without it, or with a wrong one. */
function requestOf(secret: string): string[] {
  const path = pick(PATHS);
  const method = path.startsWith('/v1/messages') ? 'POST' : 'GET';
  const head = `${method} ${path} HTTP/1.1\r\nhost: a\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\n`;
  if (method === 'GET') return [`${head}\r\n`];
  const body = bodyOf();
  const chunked = [body.slice(0, 50), body.slice(50), '']
    .filter((piece, at) => piece !== '' || at === 2)
    .map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`);
  if (random() < 0.2) return [`${head}transfer-encoding: chunked\r\n\r\n`, ...chunked];
  const length = random() < 0.05 ? 2_000_000 : body.length;
  return [`${head}content-length: ${length}\r\n\r\n`, body.slice(0, body.length / 2), body.slice(body.length / 2)];
}

/** Sends it, and resolves with the status when the answer ended, the client disconnected or timed out. */
async function send(secret: string): Promise<string> {
  const { hostname, port } = new URL(turnpike.url);
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let head = '';
  let tail = '';
  const socket = connect(Number(port), hostname);
  socket.on('data', (bytes) => {
    if (head === '') head = bytes.toString('latin1');
    tail = (tail + bytes.toString('latin1').slice(-100)).slice(-100);
    if (/\r\n0\r\n\r\n$|\}$/.test(tail)) resolve();
  });
  socket.on('close', resolve);
  socket.on('error', () => resolve());
  const timer = setTimeout(resolve, random() < 0.5 ? random() * 300 : PATIENCE_MS);
  for (const part of requestOf(secret)) {
    socket.write(part);
    if (random() < 0.2) await Bun.sleep(random() * 40);
  }
  await over;
  clearTimeout(timer);
  if (random() < 0.5) socket.resetAndDestroy();
  else socket.destroy();
  return /^HTTP\/1.1 (\d+)/.exec(head)?.[1] ?? 'left';
}

/** Gauges of the service once they no longer fall. */
async function readHeld(): Promise<number[]> {
  for (let tries = 0; ; tries++) {
    const samples = Object.entries(readSamples(await (await turnpike.scrape()).text()));
    const held = samples.filter(([series]) => HELD.test(series)).map(([, value]) => value);
    if (tries === 100 || held.every((value) => value === 0)) return held;
    await Bun.sleep(50);
  }
}

test(`${REQUESTS} requests leave no hold, no slot and no body memory taken`, async () => {
  const rich = { credit: '50.00' };
  const callers = [
    await turnpike.makeKey(rich),
    await turnpike.makeKey(rich, { concurrency: 3 }),
    await turnpike.makeKey(rich, { rpm: 300 }),
    await turnpike.makeKey({ credit: '0.001' }),
    await turnpike.makeKey(rich, { origins: ['https://app.example'] }),
  ];
  const statuses = new Set<string>();
  let left = REQUESTS;
  const sending = Array.from({ length: AT_ONCE }, async () => {
    while (left-- > 0) statuses.add(await send(pick(callers).secret));
  });
  await Promise.all(sending);
  for (const status of ['200', '400', '413', '429', '502', '529', 'left']) expect([...statuses]).toContain(status);

  expect(await readHeld()).toEqual(Array(6).fill(0));
  // No gauge counts slots. With a limit of one, a slot that is still held would refuse all other messages.
  await turnpike.admin('POST', '/apply', { document: { settings: { ...settings, shed_open_messages: 1 } } });
  const body = { model: 'sandbox-echo', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] };
  for (const { secret } of callers.filter((_, at) => at < 3))
    expect((await turnpike.post(secret, body)).status).toBe(200);
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
});
