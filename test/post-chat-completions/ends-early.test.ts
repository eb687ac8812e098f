// Chat Completions that do not come to their end: revoked, drained, out of money, asked twice at once, left before they
// were read. Each ends in the shape of its clients, with the money that a message would have ended with.

import { afterAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { held } from '../idempotency/keyed.ts';
import { EVENTS, startHandMade, streamOf } from '../post-messages/hand-made-service.ts';
import { expectMoney, expectNoTrace, GOOD, startWorld } from '../post-messages/world.ts';
import { scripts } from '../support/scripted-upstream.ts';
import { chatOf, expectChatError, postChat } from './chat-world.ts';

const world = await startWorld();
afterAll(() => world.stop());

/** That the stream ends with this error, and tells of no end. */
async function expectLastError(response: Response, code: string): Promise<string> {
  const text = await response.text();
  const last = JSON.parse(text.trimEnd().split('\n\n').at(-1)?.replace('data: ', '') ?? '');
  expect(last).toMatchObject({ error: { code, message: expect.any(String), param: null } });
  expect(text).not.toMatch(/DONE|"finish_reason":"/);
  return text;
}

test('revoked at once, a stream ends with an error, and what came is billed', async () => {
  const abortedBefore = world.upstream.abortedCount;
  world.upstream.play(scripts.pingsOnly(10, { text: 'x'.repeat(160), pieces: 4 }));
  const caller = await world.makeKey();
  const response = await postChat(world, caller.secret, { stream: true, max_tokens: 1_000 });
  await Bun.sleep(60);
  await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
  await expectLastError(response, 'key_disabled');
  await world.upstream.aborted(abortedBefore + 1);
  await expectChatError(await postChat(world, caller.secret), 401, 'key_disabled');
  await expectMoney(world, caller, [
    { outcome: 'service_cut', usage_source: 'estimated', output_tokens: 20, cost: '0.000375' },
  ]);
});

test('at the end of the money a stream ends with an error, and nothing beyond is given out', async () => {
  world.upstream.play(scripts.slowStream(1, { text: 'word '.repeat(20_000), pieces: 500 }));
  const caller = await world.makeKey({ credit: '0.02' });
  const response = await postChat(world, caller.secret, { stream: true, max_tokens: 30_000 });
  const text = await expectLastError(response, 'insufficient_user_quota');
  const [record] = await expectMoney(world, caller, [{ outcome: 'quota_cut', written_off: '0' }], '0.02');
  const given = text.split('word ').length - 1;
  expect(given).toBeGreaterThan(100);
  expect(given * 5).toBeLessThanOrEqual(4 * Number(record?.['output_tokens']));
  await expectChatError(await postChat(world, caller.secret), 400, 'insufficient_user_quota');
});

test('while the server drains new requests are told so, and streams past its bound end with an error', async () => {
  await using service = await startHandMade({
    answer: async (_, signal) => streamOf(EVENTS, { 3: new Promise(() => {}) }, signal),
  });
  const secret = await service.makeKey();
  const begun = await postChat(service, secret, { model: 'm', stream: true });
  service.gateway.running.cutAll();
  await expectLastError(begun, 'draining');
  expect(await service.gateway.running.waitUntilEmpty(1_000)).toBe(true);
  expect(await service.records()).toMatchObject([
    { outcome: 'service_cut', usageSource: 'estimated', outputTokens: 2 },
  ]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test.each([false, true])(
  'asked twice at once under one idempotency-key, it runs and is billed once (streamed: %p)',
  async (stream) => {
    const { script, asked, goOn } = held(scripts.good());
    world.upstream.play(script);
    const caller = await world.makeKey();
    const post = () => postChat(world, caller.secret, { stream }, { headers: { 'idempotency-key': 'order-17' } });
    const first = post();
    await asked;
    const second = await post();
    expect(second.headers.get('retry-after')).toBe('1');
    await expectChatError(second, 409, 'idempotency_in_progress');
    goOn();
    expect(await (await first).text()).toContain('chatcmpl-upstream');
    await expectMoney(world, caller, [GOOD]);
  },
);

test('who leaves under an idempotency-key has his answer waiting, in the words that he asks in then', async () => {
  const abortedBefore = world.upstream.abortedCount;
  world.upstream.play(scripts.slowStream(20));
  const caller = await world.makeKey();
  const leaving = new AbortController();
  const keyed = { headers: { 'idempotency-key': 'order-18' } };
  const first = await postChat(world, caller.secret, { stream: true }, { ...keyed, signal: leaving.signal });
  await (first.body as ReadableStream<Uint8Array>).getReader().read();
  leaving.abort();
  const again = { stream: true, stream_options: { include_usage: true } };
  let response = await postChat(world, caller.secret, again, keyed);
  for (let tries = 0; response.status === 409 && tries < 100; tries++) {
    await Bun.sleep(20);
    response = await postChat(world, caller.secret, again, keyed);
  }
  expect(response.headers.get('idempotency-replayed')).toBe('true');
  expect(await response.text()).toMatch(
    /"finish_reason":"stop".*\n\n.*"completion_tokens":12.*\n\ndata: \[DONE\]\n\n$/,
  );
  expect(world.upstream.abortedCount).toBe(abortedBefore);
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone' }]);
});

test('who leaves in the midst of his upload leaves nothing', async () => {
  await using service = await startHandMade({});
  const secret = await service.makeKey();
  const text = JSON.stringify(chatOf({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(50_000) }] }));
  for (let turn = 0; turn < 10; turn++) {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`,
    );
    socket.write(text.slice(0, 20_000 + turn));
    await Bun.sleep(5);
    socket.destroy();
  }
  const isEmpty = () => service.gateway.seats.taken === 0 && service.bodies.bytes === 0;
  for (let tries = 0; tries < 400 && !isEmpty(); tries++) await Bun.sleep(10);
  expect({ seats: service.gateway.seats.taken, bytes: service.bodies.bytes }).toEqual({ seats: 0, bytes: 0 });
  expect(await service.records()).toEqual([]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('who is refused before the first word pays nothing, whoever refuses', async () => {
  const caller = await world.makeKey();
  for (const stream of [false, true])
    for (const [script, status, code] of [
      [scripts.refusedContent(), 400, 'upstream_rejected'],
      [scripts.html(), 502, 'upstream_failed'],
      [scripts.resetBeforeHead(), 502, 'upstream_failed'],
    ] as const) {
      world.upstream.play(script);
      await expectChatError(await postChat(world, caller.secret, { stream }), status, code);
    }
  await expectMoney(world, caller, Array(6).fill({ cost: '0' }));
  const stranger = await world.makeKey();
  await expectChatError(await postChat(world, stranger.secret, { messages: [] }), 400, 'invalid_request');
  await expectNoTrace(world, stranger);
});
