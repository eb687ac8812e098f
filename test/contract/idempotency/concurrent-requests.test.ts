// The same idempotency key fifty times at once: one call of the provider, one charge, and every client gets the same
// response or an error that it is in progress, even if the first client disconnects.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { type Script, scripts, upstreamEvents } from '../../support/scripted-upstream.ts';
import { expectError, expectMoney, GOOD, sharedWorld, startWorld } from '../post-messages/world.ts';
import { callsSince, paused, postKeyed, postUntilAnswered } from './post-keyed.ts';

const CALLERS = 50;

const world = await sharedWorld();
afterAll(() => world.stop());

let calls = 0;
beforeEach(() => {
  calls = world.upstream.requests.length;
});

const numbers = Array.from({ length: CALLERS }, (_, at) => at);

/** Sends half of the events, and the rest when `goOn` is called. */
function pausedHalfway(): { script: Script; goOn: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = upstreamEvents({ text: 'x'.repeat(40), pieces: 10 });
  return {
    goOn: resolve,
    script: async (answer) => {
      answer.begin(200, { 'content-type': 'text/event-stream' });
      await answer.write(events.slice(0, 6).join(''));
      await promise;
      await answer.write(events.slice(6).join(''));
      answer.end();
    },
  };
}

for (const stream of [false, true]) {
  const form = stream ? 'a stream' : 'a message';

  test(`${form} sent ${CALLERS} times at once reaches the provider once and is charged once`, async () => {
    const { script, goOn } = paused(scripts.good({ text: 'y'.repeat(2_000), pieces: 20 }));
    world.upstream.play(script);
    const caller = await world.makeKey();
    const answers = numbers.map(() => postKeyed(world, caller.secret, 'order-17', { stream }));
    let refusedCount = 0;
    for (const answer of answers) void answer.then(() => refusedCount++);
    while (refusedCount < CALLERS - 1) await Bun.sleep(5); // all but the first, whichever it is
    goOn();
    const responses = await Promise.all(answers);
    const texts = new Set<string>();
    let inProgress = 0;
    for (const response of responses) {
      if (response.status === 200) {
        texts.add(await response.text());
        continue;
      }
      expect(response.headers.get('retry-after')).toBe('1');
      await expectError(response, 409, 'invalid_request_error', 'idempotency_in_progress');
      inProgress++;
    }
    expect(inProgress).toBe(CALLERS - 1);
    const again = await Promise.all(numbers.map(() => postKeyed(world, caller.secret, 'order-17', { stream })));
    for (const response of again) texts.add(await response.text());
    expect(again.every(({ status }) => status === 200)).toBe(true);
    expect(texts.size).toBe(1);
    expect(callsSince(world, calls)).toBe(1);
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed' }]);
  });

  test(`${form} sent ${CALLERS} times at once by clients that retry is returned to all of them and charged once`, async () => {
    world.upstream.play(async (answer, request) => {
      await Bun.sleep(100);
      await scripts.good()(answer, request);
    });
    const caller = await world.makeKey();
    const responses = await Promise.all(
      numbers.map(() => postUntilAnswered(() => postKeyed(world, caller.secret, 'order-17', { stream }))),
    );
    expect(responses.map(({ status }) => status)).toEqual(Array<number>(CALLERS).fill(200));
    expect(new Set(await Promise.all(responses.map((response) => response.text()))).size).toBe(1);
    expect(responses.filter((response) => response.headers.has('idempotency-replayed'))).toHaveLength(CALLERS - 1);
    expect(callsSince(world, calls)).toBe(1);
    await expectMoney(world, caller, [GOOD]);
  });

  test(`${form} whose first client disconnects is finished for the others, with one provider call and one charge`, async () => {
    const { script, goOn } = stream ? pausedHalfway() : paused(scripts.good());
    world.upstream.play(script);
    const aborted = world.upstream.abortedCount;
    const caller = await world.makeKey({}, { concurrency: 1 });
    const leaving = new AbortController();
    const first = postKeyed(world, caller.secret, 'order-17', { stream }, { signal: leaving.signal });
    first.catch(() => {});
    if (stream) {
      const reader = ((await first).body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
    } else while (callsSince(world, calls) === 0) await Bun.sleep(2);
    leaving.abort();
    await Bun.sleep(50);
    const early = await postKeyed(world, caller.secret, 'order-17', { stream });
    await expectError(early, 409, 'invalid_request_error', 'idempotency_in_progress');
    world.upstream.play(scripts.overloaded()); // a further request to the provider would fail
    goOn();
    const responses = await Promise.all(
      numbers.map(() => postUntilAnswered(() => postKeyed(world, caller.secret, 'order-17', { stream }))),
    );
    const texts = new Set(await Promise.all(responses.map((response) => response.text())));
    expect(texts.size).toBe(1);
    if (stream) expect([...texts][0]).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n');
    expect(callsSince(world, calls)).toBe(1);
    expect(world.upstream.abortedCount).toBe(aborted);
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone' }]);
  });
}

test('a retry of a disconnected stream gets the same bytes that the first client would have received', async () => {
  const { script, goOn } = pausedHalfway();
  world.upstream.play(script);
  const caller = await world.makeKey();
  const leaving = new AbortController();
  const first = await postKeyed(world, caller.secret, 'order-17', { stream: true }, { signal: leaving.signal });
  const reader = (first.body as ReadableStream<Uint8Array>).getReader();
  let read = '';
  while (!read.includes('text_delta')) read += Buffer.from((await reader.read()).value ?? []).toString();
  leaving.abort();
  await Bun.sleep(20);
  goOn();
  const again = await postUntilAnswered(() => postKeyed(world, caller.secret, 'order-17', { stream: true }));
  const text = await again.text();
  expect(text.startsWith(read)).toBe(true);
  const whole = upstreamEvents({ text: 'x'.repeat(40), pieces: 10 }).filter((event) => !event.includes('"ping"'));
  expect(text).toBe(whole.join(''));
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone', usage_source: 'reported' }]);
});

test('at the time limit for finishing, the provider is stopped, its output is charged, and the idempotency key is free', async () => {
  await using bounded = await startWorld({ settings: { finish_without_caller_seconds: 1 } });
  bounded.upstream.play(scripts.hangMidStream({ text: 'x'.repeat(400), pieces: 10 }), scripts.good());
  const caller = await bounded.makeKey();
  const leaving = new AbortController();
  const first = await postKeyed(bounded, caller.secret, 'order-17', { stream: true }, { signal: leaving.signal });
  await (first.body as ReadableStream<Uint8Array>).getReader().read();
  leaving.abort();
  await bounded.upstream.aborted();
  const again = await postUntilAnswered(() => postKeyed(bounded, caller.secret, 'order-17', { stream: true }));
  expect(again.headers.has('idempotency-replayed')).toBe(false);
  await again.text();
  await expectMoney(bounded, caller, [GOOD, { outcome: 'client_gone', usage_source: 'estimated' }]);
});
