// Clients that disconnect, at each moment of a message and in both protocols. Before a stream begins, or without
// streaming, the provider may finish and its count is billed. Mid-stream it is stopped, and the output so far is
// billed. Concurrency slots are free when the provider has ended.

import { afterAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { costOf, countText } from '../support/count-text.ts';
import { type Script, scripts, upstreamEvents } from '../support/scripted-upstream.ts';
import { chatCompletions } from './fronts/drivers/chat-completions.ts';
import { post } from './fronts/front-world.ts';
import { paused } from './idempotency/post-keyed.ts';
import { type ControlledService, EVENTS, startControlled, streamOf } from './post-messages/controlled-service.ts';
import {
  bodyOf,
  expectError,
  expectMoney,
  GOOD,
  type Json,
  startWorld,
  untilUnattended,
} from './post-messages/world.ts';

const world = await startWorld({ settings: { finish_without_caller_seconds: 1 } });
afterAll(() => world.stop());

const LEFT = { outcome: 'client_gone', status: 499 };
const PIECE = 'x'.repeat(40); // one piece of the text that `hangMidStream` sends below
const IN_FLIGHT_BYTES_MAX = 80 * 1024 * 1024; // same value and reason as in test/contract/post-messages/backpressure.test.ts

interface Protocol {
  path: string;
  /** In the last event of a stream. */
  end: string;
  post(service: { url: string }, secret: string, members: Json, signal?: AbortSignal): Promise<Response>;
}

const protocols: Protocol[] = [
  {
    path: '/v1/messages',
    end: 'message_stop',
    post: ({ url }, secret, members, signal = new AbortController().signal) =>
      fetch(`${url}/v1/messages`, {
        method: 'POST',
        signal,
        headers: { 'content-type': 'application/json', 'x-api-key': secret },
        body: JSON.stringify(bodyOf(members)),
      }),
  },
  {
    path: '/v1/chat/completions',
    end: '[DONE]',
    post: (service, secret, members, signal = new AbortController().signal) =>
      post(chatCompletions, service, secret, { members }, { signal }),
  },
];

/** Reads a stream until this is true of its text. */
async function readUntil(response: Response, isEnough: (text: string) => boolean) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!isEnough(text)) text += Buffer.from((await reader.read()).value ?? []).toString();
  return reader;
}

const ignore = (): undefined => undefined;

/** Output and cost of a stream with 25 input tokens that was stopped after this text. */
function outputOf(text: string): Json {
  const tokens = countText(text);
  return { output_tokens: tokens, cost: costOf(25, 3, tokens, 15) };
}

/** Posts a message of a new key, and disconnects once the provider has the request. Resolves when that is noticed. */
async function postAndDisconnect({ post }: Protocol, stream: boolean, script: Script) {
  const { script: waiting, asked, goOn } = paused(script);
  world.upstream.play(waiting, scripts.good());
  const caller = await world.makeKey({}, { concurrency: 1 });
  const leaving = new AbortController();
  const posted = post(world, caller.secret, { stream }, leaving.signal).catch(ignore);
  await asked;
  leaving.abort();
  await posted;
  await untilUnattended(world, 1);
  return { caller, goOn };
}

/** Nothing of the service is left in use. */
async function expectAllFree(service: ControlledService): Promise<void> {
  const isFree = () => service.gateway.slots.taken === 0 && service.bodies.bytes === 0;
  while (!isFree()) await Bun.sleep(5);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
}

describe.each(protocols)('a client of $path that disconnects', (protocol) => {
  const { path, end, post } = protocol;

  test('during its upload leaves nothing behind', async () => {
    await using service = await startControlled({});
    const secret = await service.makeKey();
    const text = JSON.stringify(bodyOf({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(50_000) }] }));
    for (let turn = 0; turn < 10; turn++) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
      socket.on('error', ignore);
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text.slice(0, 20_000 + turn)}`,
      );
      while (service.bodies.bytes === 0) await Bun.sleep(1);
      socket.destroy();
      await expectAllFree(service);
    }
    expect(await service.records()).toEqual([]);
  });

  test('before its message is sent to the provider pays nothing, and the message is not sent', async () => {
    const admitting = Promise.withResolvers<void>();
    const mayAdmit = Promise.withResolvers<void>();
    const disconnected = Promise.withResolvers<void>();
    let sent = 0;
    await using service = await startControlled({
      onDisconnect: disconnected.resolve,
      answer: async () => {
        sent++;
        return streamOf(EVENTS);
      },
      gateOver: (gate) => ({
        batches: () => gate.batches(),
        submit: async (bundle) => {
          if (bundle.operations[0]?.kind === 'admit') {
            admitting.resolve();
            await mayAdmit.promise;
          }
          return gate.submit(bundle);
        },
      }),
    });
    const leaving = new AbortController();
    const posted = post(service, await service.makeKey(), { model: 'm', stream: true }, leaving.signal).catch(ignore);
    await admitting.promise;
    leaving.abort();
    await posted;
    await disconnected.promise;
    mayAdmit.resolve();
    while ((await service.records()).length === 0) await Bun.sleep(5);
    expect(sent).toBe(0);
    expect(await service.records()).toMatchObject([{ ...LEFT, cost: 0, usageSource: 'none', attempts: [] }]);
    await expectAllFree(service);
  });

  test.each([
    ['without streaming', false],
    ['before its stream begins', true],
  ] as const)('%s pays what the provider reports', async (_, stream) => {
    const abortedBefore = world.upstream.abortedCount;
    const { caller, goOn } = await postAndDisconnect(protocol, stream, scripts.good());
    goOn();
    await expectMoney(world, caller, [{ ...GOOD, ...LEFT, stream }]);
    expect(world.upstream.abortedCount).toBe(abortedBefore);
  });

  test.each([false, true])('pays nothing if the provider then fails (stream: %p)', async (stream) => {
    const { caller, goOn } = await postAndDisconnect(protocol, stream, scripts.overloaded());
    goOn();
    await expectMoney(world, caller, [{ cost: '0', usage_source: 'none', outcome: 'failed' }]);
  });

  test.each([false, true])(
    'pays what was held if the provider does not finish in time, and the provider is stopped (stream: %p)',
    async (stream) => {
      const abortedBefore = world.upstream.abortedCount;
      const { caller } = await postAndDisconnect(protocol, stream, scripts.hangBeforeHead());
      await world.upstream.aborted(abortedBefore + 1);
      const [record] = await expectMoney(world, caller, [{ ...LEFT, usage_source: 'estimated', output_tokens: 64 }]);
      const input = record?.['input_tokens'] as number; // a token a byte
      expect(input).toBeWithin(60, 200);
      expect(Number(record?.['cost'])).toBeCloseTo((input * 3 + 64 * 15) / 1e6, 9);
    },
  );

  test('between the start of its stream and the first content pays the reported input, and no other route is tried', async () => {
    const begun = Promise.withResolvers<void>();
    const never = new Promise(ignore);
    const tried: string[] = [];
    await using service = await startControlled({
      answer: async (model, signal) => {
        tried.push(model);
        const reply = streamOf(EVENTS, { 1: never }, signal);
        if (reply.form !== 'stream') return reply;
        let asked = 0;
        const next = () => {
          if (++asked === 2) begun.resolve(); // the service has the first event
          return reply.events.next();
        };
        return { ...reply, events: { next } };
      },
    });
    const leaving = new AbortController();
    const posted = post(service, await service.makeKey(), { model: 'm', stream: true }, leaving.signal).catch(ignore);
    await begun.promise;
    leaving.abort();
    await posted;
    while ((await service.records()).length === 0) await Bun.sleep(5);
    expect(await service.records()).toMatchObject([{ ...LEFT, inputTokens: 25, attempts: [{ result: 'aborted' }] }]);
    expect(tried).toEqual(['first']);
    await expectAllFree(service);
  });

  test('mid-stream pays the reported input and the output so far, and the provider is stopped', async () => {
    const abortedBefore = world.upstream.abortedCount;
    world.upstream.play(scripts.hangMidStream({ text: PIECE.repeat(10), pieces: 10 }));
    const caller = await world.makeKey();
    const response = await post(world, caller.secret, { stream: true, max_tokens: 1_000 });
    // 16 events, of which the client reads half: a start, a block, a ping and 5 pieces.
    const reader = await readUntil(response, (text) => text.split(PIECE).length > 5);
    await reader.cancel();
    await world.upstream.aborted(abortedBefore + 1);
    const output = outputOf(PIECE.repeat(5));
    await expectMoney(world, caller, [{ ...LEFT, usage_source: 'estimated', input_tokens: 25, ...output }]);
  });

  test('without having read its stream stops the provider, and the message is ended and billed', async () => {
    world.upstream.play(scripts.flood());
    const abortedBefore = world.upstream.abortedCount;
    const before = world.upstream.writtenBytes;
    const caller = await world.makeKey();
    const text = JSON.stringify(bodyOf({ stream: true, max_tokens: 4_000 }));
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    socket.pause();
    socket.on('error', ignore);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: ${caller.secret}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
    for (let last = -1; last !== world.upstream.writtenBytes || last === before; await Bun.sleep(150)) {
      last = world.upstream.writtenBytes;
      if (last - before > 2 * IN_FLIGHT_BYTES_MAX) break;
    }
    expect(world.upstream.writtenBytes - before).toBeLessThan(IN_FLIGHT_BYTES_MAX);
    socket.destroy();
    await world.upstream.aborted(abortedBefore + 1);
    await expectMoney(world, caller, [{ outcome: 'client_gone', output_tokens: 9_024, cost: '0.135435' }]);
  });

  test('after the last event pays the full price', async () => {
    world.upstream.play(scripts.rawStream(upstreamEvents().join('')));
    const caller = await world.makeKey();
    for (let turn = 0; turn < 10; turn++) {
      const leaving = new AbortController();
      const response = await post(world, caller.secret, { stream: true }, leaving.signal);
      await readUntil(response, (text) => text.includes(end));
      leaving.abort();
    }
    await expectMoney(world, caller, Array(10).fill({ ...GOOD, outcome: 'completed' }));
  });

  test('at a random moment, one of many, leaves no hold, and each message is billed once', async () => {
    world.upstream.play(scripts.slowStream(3));
    const caller = await world.makeKey();
    await Promise.all(
      Array.from({ length: 40 }, async (_, turn) => {
        const leaving = new AbortController();
        const answer = post(world, caller.secret, { stream: true }, leaving.signal);
        setTimeout(() => leaving.abort(), turn);
        await answer.then((response) => response.text()).catch(ignore);
      }),
    );
    await expectMoney(world, caller, await recordsAtLast(caller.account));
  });

  test.each([false, true])('keeps its concurrency slot until the provider has ended (stream: %p)', async (stream) => {
    const { caller, goOn } = await postAndDisconnect(protocol, stream, scripts.good());
    await expectError(await world.post(caller.secret, bodyOf()), 429, 'rate_limit_error', 'concurrency_exceeded');
    expect(await world.admin('GET', `/accounts/${caller.account}`)).not.toMatchObject({ held: '0' });
    goOn();
    await untilUnattended(world, 0);
    expect((await post(world, caller.secret, {})).status).toBe(200);
    await expectMoney(world, caller, [
      { ...GOOD, outcome: 'completed' },
      { ...GOOD, outcome: 'client_gone' },
    ]);
  });
});

/** The records after the last one is written: requests sent before a disconnect may reach the service later. */
async function recordsAtLast(account: string): Promise<Json[]> {
  let known: Json[] = [];
  for (let reads = 0; reads < 16; reads++) {
    await Bun.sleep(250);
    const { data } = (await world.admin('GET', `/usage?account=${account}`)) as { data: Json[] };
    if (data.length === known.length && data.length > 0) break;
    known = data;
  }
  return known;
}
