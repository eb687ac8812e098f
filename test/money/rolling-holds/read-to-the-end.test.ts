// With this setting, streams of disconnected clients are read to their end, so that the bill is exact. A limited
// number is read at once; others are aborted and estimated. Their concurrency slots are freed at once in both cases.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Produced, plainPieces, produce } from '../../support/producing-upstream.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const AT_ONCE = 3;
const produced: Produced[] = [];
let upstream: ScriptedUpstream;
let turnpike: Turnpike;
beforeAll(async () => {
  const plan = () => ({ inputTokens: 30, pieces: plainPieces(600, 5), pauseMs: 4 });
  upstream = await startScriptedUpstream(produce(plan, produced));
  turnpike = await startTurnpike({
    providers: { scripted: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
    models: { m: { price: { input: '1', output: '5' }, routes: [{ provider: 'scripted' }] } },
    settings: { finish_streams_without_caller_max: AT_ONCE },
  });
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
});

const body = { model: 'm', max_tokens: 4_000, stream: true, messages: [{ role: 'user', content: 'go' }] };

/** Starts a stream, reads a little of it, and returns a function that disconnects. */
async function begin(secret: string) {
  const leaving = new AbortController();
  const response = await turnpike.post(secret, body, { signal: leaving.signal });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  await reader.read();
  return { requestId: response.headers.get('request-id') as string, leave: () => leaving.abort() };
}

async function untilReleased(account: string): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if ((await turnpike.admin('GET', `/accounts/${account}`))['held'] === '0') return;
    await Bun.sleep(20);
  }
  throw new Error('something stayed held');
}

test('as many as the setting allows are billed as reported, the others as received', async () => {
  const { account, secret } = await turnpike.makeKey({ credit: '1' });
  const streams = await Promise.all(Array.from({ length: 2 * AT_ONCE }, () => begin(secret)));
  for (const { leave } of streams) leave();
  await untilReleased(account);
  const records = await Promise.all(streams.map(({ requestId }) => turnpike.admin('GET', `/usage/${requestId}`)));
  const reported = records.filter(({ usage_source }) => usage_source === 'reported');
  expect(reported).toHaveLength(AT_ONCE);
  for (const record of reported) expect(record).toMatchObject({ outcome: 'client_gone', output_tokens: 600 });
  for (const record of records.filter((one) => !reported.includes(one))) {
    expect(record).toMatchObject({ outcome: 'client_gone', usage_source: 'estimated', input_tokens: 30 });
    expect(record['output_tokens'] as number).toBeLessThan(600);
  }
  expect(produced.filter(({ isFinished }) => isFinished)).toHaveLength(AT_ONCE);
});

test('a concurrency slot is kept while the stream of a client that disconnected is still read', async () => {
  const { account, secret } = await turnpike.makeKey({ credit: '1' }, { concurrency: 1 });
  const first = await begin(secret);
  expect((await turnpike.post(secret, body)).status).toBe(429);
  first.leave();
  let second = await turnpike.post(secret, { ...body, max_tokens: 1 });
  for (; second.status === 429; second = await turnpike.post(secret, { ...body, max_tokens: 1 })) await Bun.sleep(5);
  expect(produced.at(-2)?.isFinished).toBe(true);
  await second.text();
  await untilReleased(account);
  expect(await turnpike.admin('GET', `/usage/${first.requestId}`)).toMatchObject({ usage_source: 'reported' });
});
