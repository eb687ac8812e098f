// Requests of every front that end early: revoked, drained, out of money, sent twice at once, abandoned by the client. Each ends
// in the format of its clients and costs the same as the equivalent message.

import { describe, expect, test } from 'bun:test';
import { costOf, countText } from '../../support/count-text.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { paused } from '../idempotency/post-keyed.ts';
import { EVENTS, startControlled, streamOf } from '../post-messages/controlled-service.ts';
import { afterReading, expectMoney, expectNoTrace, GOOD } from '../post-messages/world.ts';
import { fronts } from './drivers/drivers.ts';
import { answerOf, expectError, expectLastError, post, sharedFronts } from './front-world.ts';

const world = await sharedFronts();

describe.each(fronts)('%s', (_, front) => {
  test('a stream of a revoked key ends with an error, and the output so far is billed', async () => {
    const abortedBefore = world.upstream.abortedCount;
    world.upstream.play(scripts.pingsOnly(10, { text: 'x'.repeat(160), pieces: 4 }));
    const caller = await world.makeKey();
    const begun = await post(front, world, caller.secret, { stream: true, maxTokens: 1_000 });
    const response = await afterReading(begun, (text) => text.split('x'.repeat(40)).length > 2);
    await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
    await expectLastError(front, response, 'key_disabled');
    await world.upstream.aborted(abortedBefore + 1);
    await expectError(front, await post(front, world, caller.secret), 'key_disabled');
    const tokens = countText('x'.repeat(80));
    await expectMoney(world, caller, [
      { outcome: 'service_cut', usage_source: 'estimated', output_tokens: tokens, cost: costOf(25, 3, tokens, 15) },
    ]);
  });

  test('when the money runs out a stream ends with an error, and no more output is sent', async () => {
    world.upstream.play(scripts.slowStream(1, { text: 'word '.repeat(20_000), pieces: 500 }));
    const caller = await world.makeKey({ credit: '0.02' });
    const long = { stream: true, maxTokens: 30_000 };
    const response = await post(front, world, caller.secret, long);
    const { pieces } = await expectLastError(front, response, 'insufficient_user_quota');
    const [record] = await expectMoney(world, caller, [{ outcome: 'quota_cut', written_off: '0' }], '0.02');
    const relayed = pieces.join('').length;
    expect(relayed).toBeGreaterThan(500);
    expect(relayed / 5).toBeLessThanOrEqual(record?.['output_tokens'] as number); // each word is a token
    const next = await post(front, world, caller.secret, { ...long, stream: false });
    await expectError(front, next, 'insufficient_user_quota');
  });

  test('while the server drains, streams past the time limit end with an error', async () => {
    await using service = await startControlled({
      answer: async (__, signal) => streamOf(EVENTS, { 3: new Promise(() => {}) }, signal),
    });
    const begun = await post(front, service, await service.makeKey(), { model: 'm', stream: true });
    service.gateway.running.cutAll();
    await expectLastError(front, begun, 'draining');
    expect(await service.gateway.running.waitUntilEmpty(1_000)).toBe(true);
    expect(await service.records()).toMatchObject([
      { outcome: 'service_cut', usageSource: 'estimated', outputTokens: 2 },
    ]);
    expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test.each([false, true])(
    'a request sent twice at once under one idempotency-key runs and is billed once (streamed: %p)',
    async (stream) => {
      const { script, asked, goOn } = paused(scripts.good());
      world.upstream.play(script);
      const caller = await world.makeKey();
      const ask = () => post(front, world, caller.secret, { stream }, { headers: { 'idempotency-key': 'order-17' } });
      const first = ask();
      await asked;
      const second = await ask();
      expect(second.headers.get('retry-after')).toBe('1');
      await expectError(front, second, 'idempotency_in_progress');
      goOn();
      expect(await answerOf(front, await first, stream)).toMatchObject({ id: 'upstream' });
      await expectMoney(world, caller, [GOOD]);
    },
  );

  test('a client that disconnects pays for the whole answer, and gets it when it retries with its idempotency-key', async () => {
    const abortedBefore = world.upstream.abortedCount;
    world.upstream.play(scripts.slowStream(20));
    const caller = await world.makeKey();
    const leaving = new AbortController();
    const ask = (more: RequestInit = {}) =>
      post(front, world, caller.secret, { stream: true }, { headers: { 'idempotency-key': 'order-18' }, ...more });
    const first = await ask({ signal: leaving.signal });
    await (first.body as ReadableStream<Uint8Array>).getReader().read();
    leaving.abort();
    let response = await ask();
    for (let tries = 0; response.status === 409 && tries < 500; tries++) {
      await expectError(front, response, 'idempotency_in_progress');
      await Bun.sleep(20);
      response = await ask();
    }
    expect(response.headers.get('idempotency-replayed')).toBe('true');
    expect(await answerOf(front, response, true)).toMatchObject({ text: 'Hello there, world!', usage: { output: 12 } });
    expect(world.upstream.abortedCount).toBe(abortedBefore);
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone' }]);
  });

  test('a request refused before its first output costs nothing, whether the service or the provider refused it', async () => {
    const caller = await world.makeKey();
    for (const stream of [false, true])
      for (const [script, code] of [
        [scripts.refusedContent('It is too dark.'), 'upstream_rejected'],
        [scripts.html(), 'upstream_failed'],
        [scripts.resetBeforeHead(), 'upstream_failed'],
      ] as const) {
        world.upstream.play(script);
        await expectError(front, await post(front, world, caller.secret, { stream }), code);
      }
    await expectMoney(world, caller, Array(6).fill({ cost: '0' }));
    const otherCaller = await world.makeKey();
    const [members, path] = front.invalid[0] ?? expect.unreachable();
    const refused = await post(front, world, otherCaller.secret, { members });
    await expectError(front, refused, 'invalid_request', front.hasParam ? path : null);
    await expectNoTrace(world, otherCaller);
  });
});
