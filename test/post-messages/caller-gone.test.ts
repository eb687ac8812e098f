// A caller who leaves. Before a stream has begun, or where nothing streams, the provider is let finish
// and its count is billed; midway it is stopped, and what was produced is billed. The places are free at once.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { type Answer, type Script, scripts, upstreamEvents } from '../support/scripted-upstream.ts';
import { EVENTS, startHandMade, streamOf } from './hand-made-service.ts';
import { bodyOf, expectMoney, GOOD, startWorld } from './world.ts';

const world = await startWorld({ settings: { finish_without_caller_seconds: 1 } });
afterAll(() => world.stop());

let arrivals = 0;
beforeEach(() => {
  arrivals = world.upstream.requests.length;
});

async function untilArrived(): Promise<void> {
  while (world.upstream.requests.length === arrivals) await Bun.sleep(2);
}

/** Posts, leaves when `mayLeave` resolves, and resolves when the caller is gone. */
async function postAndLeave(secret: string, stream: boolean, mayLeave: () => Promise<void>): Promise<void> {
  const leaving = new AbortController();
  const answer = world.post(secret, bodyOf({ stream }), { signal: leaving.signal });
  await mayLeave();
  leaving.abort();
  await answer.then(
    (response) => response.text().catch(() => ''),
    () => '',
  );
}

/** A script that waits for `goOn` before it answers. */
function held(script: Script): { script: Script; goOn: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    script: async (answer: Answer, request) => {
      await promise;
      await script(answer, request);
    },
    goOn: resolve,
  };
}

test('who leaves a message that is not streamed pays what the provider reports', async () => {
  const { script, goOn } = held(scripts.message());
  world.upstream.play(script);
  const abortedBefore = world.upstream.abortedCount;
  const caller = await world.makeKey();
  await postAndLeave(caller.secret, false, untilArrived);
  await Bun.sleep(30);
  goOn();
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone', status: 499, stream: false }]);
  expect(world.upstream.abortedCount).toBe(abortedBefore);
});

test('who leaves a stream before it has begun pays what the provider reports', async () => {
  const { script, goOn } = held(scripts.stream());
  world.upstream.play(script);
  const abortedBefore = world.upstream.abortedCount;
  const caller = await world.makeKey();
  await postAndLeave(caller.secret, true, untilArrived);
  await Bun.sleep(30);
  goOn();
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone', status: 499, stream: true }]);
  expect(world.upstream.abortedCount).toBe(abortedBefore);
});

test('who leaves when the provider then fails pays nothing', async () => {
  for (const stream of [false, true]) {
    arrivals = world.upstream.requests.length;
    const { script, goOn } = held(scripts.overloaded());
    world.upstream.play(script);
    const caller = await world.makeKey();
    await postAndLeave(caller.secret, stream, untilArrived);
    await Bun.sleep(20);
    goOn();
    await expectMoney(world, caller, [{ cost: '0', usage_source: 'none', outcome: 'failed' }]);
  }
});

test('past the bound of waiting the provider is stopped, and the prompt’s estimate is billed', async () => {
  const abortedBefore = world.upstream.abortedCount;
  world.upstream.play(scripts.hangBeforeHead());
  const callers = [await world.makeKey(), await world.makeKey()];
  const bothArrived = async () => {
    while (world.upstream.requests.length < arrivals + 2) await Bun.sleep(2);
  };
  await Promise.all(callers.map(({ secret }, index) => postAndLeave(secret, index === 0, bothArrived)));
  await world.upstream.aborted(abortedBefore + 2);
  await Bun.sleep(50);
  for (const caller of callers) {
    const [record] = await expectMoney(world, caller, [
      { outcome: 'client_gone', status: 499, usage_source: 'estimated', output_tokens: 0 },
    ]);
    const input = record?.['input_tokens'] as number;
    expect(input).toBeWithin(1, 60);
    expect(Number(record?.['cost'])).toBeCloseTo((input * 3) / 1e6, 9);
  }
});

test('who leaves before the message was sent on pays nothing, and it is not sent', async () => {
  const { promise: mayAdmit, resolve: admitNow } = Promise.withResolvers<void>();
  let sent = 0;
  await using service = await startHandMade({
    answer: async () => {
      sent++;
      return streamOf(EVENTS);
    },
    gateOver: (gate) => ({
      batches: () => gate.batches(),
      submit: async (bundle) => {
        if (bundle.operations[0]?.kind === 'admit') await mayAdmit;
        return gate.submit(bundle);
      },
    }),
  });
  const leaving = new AbortController();
  const secret = await service.makeKey();
  const answer = service.post(secret, { stream: true }, leaving.signal).catch(() => null);
  await Bun.sleep(30);
  leaving.abort();
  await answer;
  await Bun.sleep(30);
  admitNow();
  while ((await service.records()).length === 0) await Bun.sleep(5);
  expect(sent).toBe(0);
  expect(await service.records()).toMatchObject([
    { outcome: 'client_gone', status: 499, cost: 0, usageSource: 'none', attempts: [] },
  ]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('who leaves midway pays the reported input and what was produced, and the provider is stopped', async () => {
  const abortedBefore = world.upstream.abortedCount;
  const text = 'x'.repeat(400);
  world.upstream.play(scripts.hangMidStream({ text, pieces: 10 }));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ stream: true, max_tokens: 1_000 }));
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let received = '';
  // 16 events, the first half of them: a start, a block, a ping and 5 pieces of 40 characters.
  while (received.split('text_delta').length - 1 < 5)
    received += Buffer.from((await reader.read()).value ?? []).toString();
  await reader.cancel();
  await world.upstream.aborted(abortedBefore + 1);
  // 25 × 3 + ⌈200 ÷ 4⌉ × 15 = 825
  await expectMoney(world, caller, [
    {
      outcome: 'client_gone',
      status: 499,
      usage_source: 'estimated',
      input_tokens: 25,
      output_tokens: 50,
      cost: '0.000825',
    },
  ]);
});

test('the places in the concurrency limits are free at once, while the provider still works', async () => {
  for (const stream of [false, true]) {
    arrivals = world.upstream.requests.length;
    const { script, goOn } = held(scripts.good());
    world.upstream.play(script, scripts.good());
    const caller = await world.makeKey({}, { concurrency: 1 });
    await postAndLeave(caller.secret, stream, untilArrived);
    await Bun.sleep(30);
    const next = await world.post(caller.secret, bodyOf());
    expect(next.status).toBe(200);
    expect(await world.admin('GET', `/accounts/${caller.account}`)).not.toMatchObject({ held: '0' });
    goOn();
    await expectMoney(world, caller, [
      { ...GOOD, outcome: 'client_gone' },
      { ...GOOD, outcome: 'completed' },
    ]);
  }
});

test('a place that was given up twice is given up once', async () => {
  const caller = await world.makeKey({}, { concurrency: 2 });
  for (let turn = 0; turn < 5; turn++) {
    arrivals = world.upstream.requests.length;
    const { script, goOn } = held(scripts.good());
    world.upstream.play(script);
    await postAndLeave(caller.secret, true, untilArrived);
    await Bun.sleep(10);
    goOn();
  }
  let running = 0;
  let most = 0;
  world.upstream.play(async (answer, request) => {
    most = Math.max(most, ++running);
    await Bun.sleep(30);
    running--;
    await scripts.good()(answer, request);
  });
  await Promise.all(Array.from({ length: 6 }, () => world.post(caller.secret, bodyOf())));
  expect(most).toBe(2);
  await expectMoney(world, caller, Array(7).fill(GOOD));
});

test('who leaves after message_stop has been sent pays as if he had stayed', async () => {
  world.upstream.play(scripts.rawStream(upstreamEvents().join('')));
  const caller = await world.makeKey();
  for (let turn = 0; turn < 10; turn++) {
    const leaving = new AbortController();
    const response = await world.post(caller.secret, bodyOf({ stream: true }), { signal: leaving.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let received = '';
    while (!received.includes('message_stop')) received += Buffer.from((await reader.read()).value ?? []).toString();
    leaving.abort();
  }
  await expectMoney(world, caller, Array(10).fill({ ...GOOD, outcome: 'completed' }));
});

test('many who leave at any moment leave nothing held, and each message is billed once', async () => {
  world.upstream.play(scripts.slowStream(3));
  const caller = await world.makeKey();
  await Promise.all(
    Array.from({ length: 40 }, async (_, turn) => {
      const leaving = new AbortController();
      const answer = world.post(caller.secret, bodyOf({ stream: true }), { signal: leaving.signal });
      setTimeout(() => leaving.abort(), turn);
      await answer.then((response) => response.text()).catch(() => '');
    }),
  );
  await expectMoney(world, caller, await recordsAtLast(caller.account));
});

/** The records once no more are written: what callers sent before they left may come to the service later. */
async function recordsAtLast(account: string): Promise<Record<string, unknown>[]> {
  let known: Record<string, unknown>[] = [];
  for (let reads = 0; reads < 16; reads++) {
    await Bun.sleep(250);
    const { data } = (await world.admin('GET', `/usage?account=${account}`)) as { data: Record<string, unknown>[] };
    if (data.length === known.length && data.length > 0) break;
    known = data;
  }
  return known;
}
