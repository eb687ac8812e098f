// Requests that end early: revoked, drained, out of money, sent twice at once, abandoned by the client. Each ends in the
// format of its clients and costs the same as the equivalent message.

import { afterAll, expect, test } from 'bun:test';
import { costOf, countText } from '../../support/count-text.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { paused } from '../idempotency/post-keyed.ts';
import { EVENTS, startControlled, streamOf } from '../post-messages/controlled-service.ts';
import { afterReading, expectMoney, expectNoTrace, GOOD, sharedWorld } from '../post-messages/world.ts';
import { chunksOf, expectGeminiError, postGemini, textOf } from './gemini-world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const long = (tokens: number) => ({ generationConfig: { maxOutputTokens: tokens } });

/** Expects the stream to end with this error and without a finish reason. */
async function expectLastError(response: Response, code: string, status: number): Promise<string> {
  const text = await response.text();
  expect(chunksOf(text).at(-1)).toMatchObject({ error: { code: status, details: [{ metadata: { code } }] } });
  expect(text).not.toMatch(/finishReason|usageMetadata/);
  return text;
}

test('a stream of a revoked key ends with an error, and the output so far is billed', async () => {
  const abortedBefore = world.upstream.abortedCount;
  world.upstream.play(scripts.pingsOnly(10, { text: 'x'.repeat(160), pieces: 4 }));
  const caller = await world.makeKey();
  const begun = await postGemini(world, caller.secret, long(1_000), { stream: true });
  const response = await afterReading(begun, (text) => text.split('x'.repeat(40)).length > 2);
  await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
  await expectLastError(response, 'key_disabled', 401);
  await world.upstream.aborted(abortedBefore + 1);
  await expectGeminiError(await postGemini(world, caller.secret), 401, 'key_disabled');
  const tokens = countText('x'.repeat(80));
  await expectMoney(world, caller, [
    { outcome: 'service_cut', usage_source: 'estimated', output_tokens: tokens, cost: costOf(25, 3, tokens, 15) },
  ]);
});

test('when the money runs out a stream ends with an error, and no more output is sent', async () => {
  world.upstream.play(scripts.slowStream(1, { text: 'word '.repeat(20_000), pieces: 500 }));
  const caller = await world.makeKey({ credit: '0.02' });
  const response = await postGemini(world, caller.secret, long(30_000), { stream: true });
  const text = await expectLastError(response, 'insufficient_user_quota', 400);
  const [record] = await expectMoney(world, caller, [{ outcome: 'quota_cut', written_off: '0' }], '0.02');
  const relayed = textOf(chunksOf(text)).length;
  expect(relayed).toBeGreaterThan(500);
  expect(relayed / 5).toBeLessThanOrEqual(record?.['output_tokens'] as number); // each word is a token
  await expectGeminiError(await postGemini(world, caller.secret, long(30_000)), 400, 'insufficient_user_quota');
});

test('while the server drains, streams past the time limit end with an error', async () => {
  await using service = await startControlled({
    answer: async (_, signal) => streamOf(EVENTS, { 3: new Promise(() => {}) }, signal),
  });
  const secret = await service.makeKey();
  const begun = await postGemini(service, secret, {}, { model: 'm', stream: true });
  service.gateway.running.cutAll();
  await expectLastError(begun, 'draining', 503);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test.each([false, true])(
  'a request sent twice at once under one idempotency-key runs and is billed once (streamed: %p)',
  async (stream) => {
    const { script, asked, goOn } = paused(scripts.good());
    world.upstream.play(script);
    const caller = await world.makeKey();
    const post = () => postGemini(world, caller.secret, {}, { stream, headers: { 'idempotency-key': 'order-17' } });
    const first = post();
    await asked;
    const second = await post();
    expect(second.headers.get('retry-after')).toBe('1');
    const { details } = await expectGeminiError(second, 409, 'idempotency_in_progress');
    expect(details).toMatchObject([{}, { retryDelay: '1s' }]);
    goOn();
    expect(await (await first).text()).toContain('"responseId":"upstream"');
    await expectMoney(world, caller, [GOOD]);
  },
);

test('a client that disconnects pays for the output, and can retry with its idempotency-key', async () => {
  const abortedBefore = world.upstream.abortedCount;
  world.upstream.play(scripts.slowStream(20));
  const caller = await world.makeKey();
  const leaving = new AbortController();
  const keyed = { stream: true, headers: { 'idempotency-key': 'order-18' } };
  const first = await postGemini(world, caller.secret, {}, { ...keyed, signal: leaving.signal });
  await (first.body as ReadableStream<Uint8Array>).getReader().read();
  leaving.abort();
  let response = await postGemini(world, caller.secret, {}, keyed);
  for (let tries = 0; response.status === 409 && tries < 100; tries++) {
    await Bun.sleep(20);
    response = await postGemini(world, caller.secret, {}, keyed);
  }
  expect(response.headers.get('idempotency-replayed')).toBe('true');
  const chunks = chunksOf(await response.text());
  expect(textOf(chunks)).toBe('Hello there, world!');
  expect(chunks.at(-1)).toMatchObject({ usageMetadata: { candidatesTokenCount: 12 } });
  expect(world.upstream.abortedCount).toBe(abortedBefore);
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone' }]);
});

test('a request refused before its first output costs nothing, whether the service or the provider refused it', async () => {
  const caller = await world.makeKey();
  for (const stream of [false, true])
    for (const [script, status, code] of [
      [scripts.refusedContent(), 400, 'upstream_rejected'],
      [scripts.html(), 502, 'upstream_failed'],
      [scripts.resetBeforeHead(), 502, 'upstream_failed'],
    ] as const) {
      world.upstream.play(script);
      await expectGeminiError(await postGemini(world, caller.secret, {}, { stream }), status, code);
    }
  await expectMoney(world, caller, Array(6).fill({ cost: '0' }));
  const otherCaller = await world.makeKey();
  await expectGeminiError(await postGemini(world, otherCaller.secret, { contents: [] }), 400, 'invalid_request');
  await expectNoTrace(world, otherCaller);
});
