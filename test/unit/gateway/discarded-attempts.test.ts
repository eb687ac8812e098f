// A route that began a response and failed before its first content: another route may answer instead, and the
// counts, holds and output of the first one are discarded.

import { expect, test } from 'bun:test';
import type { OpenMessage } from '../../../src/gateway/open-message.ts';
import { ProviderFault, type ProviderReply } from '../../../src/providers/providers.ts';
import { makeEvent, type StreamEvent } from '../../../src/wire/wire.ts';
import { EVENTS, startControlled, streamOf } from '../../contract/post-messages/controlled-service.ts';
import { eventsOf, expectError } from '../../contract/post-messages/world.ts';

const fault = new ProviderFault('failed', 'it broke off');
const begin = (input_tokens: number, id: string): StreamEvent =>
  makeEvent({
    type: 'message_start',
    message: { id, type: 'message', role: 'assistant', content: [], usage: { input_tokens, output_tokens: 1 } },
  });
const emptyText = makeEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });

/** Yields these events, one at a time, and then fails. */
function breaking(events: readonly StreamEvent[]): ProviderReply {
  const left = [...events];
  const next = async () => {
    const event = left.shift();
    if (event === undefined) throw fault;
    return [event];
  };
  return { form: 'stream', upstreamRequestId: null, events: { next } };
}

test('response, usage and bill are those of the route that answered', async () => {
  await using service = await startControlled({
    answer: async (model) =>
      model === 'first'
        ? breaking([begin(5_000, 'msg_first'), emptyText])
        : streamOf([begin(25, 'msg_second'), ...EVENTS.slice(1)]),
  });
  const events = eventsOf(await (await service.post(await service.makeKey(), { stream: true })).text());
  expect(events.map(({ name }) => name)).toEqual(EVENTS.map(({ name }) => name));
  expect(events[0]?.json).toMatchObject({ message: { id: 'msg_second', usage: { input_tokens: 25 } } });
  expect(await service.records()).toMatchObject([
    {
      outcome: 'completed',
      usageSource: 'reported',
      inputTokens: 25,
      outputTokens: 12,
      cost: 25 * 3_000 + 12 * 15_000,
      attempts: [
        { model: 'first', result: 'failed', reason: 'it broke off' },
        { model: 'second', result: 'answered' },
      ],
    },
  ]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('if no route reaches its first content, nothing is charged and the client gets an error status', async () => {
  await using service = await startControlled({ answer: async () => breaking([begin(5_000, 'msg'), emptyText]) });
  const response = await service.post(await service.makeKey(), { stream: true });
  await expectError(response, 502, 'api_error', 'upstream_failed');
  expect(await service.records()).toMatchObject([{ outcome: 'failed', status: 502, usageSource: 'none', cost: 0 }]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a stream that ends before its first content is not an answer', async () => {
  await using service = await startControlled({
    answer: async (model) => streamOf(model === 'first' ? EVENTS.slice(0, 2) : EVENTS),
  });
  const text = await (await service.post(await service.makeKey(), { stream: true })).text();
  expect(eventsOf(text).map(({ name }) => name)).toEqual(EVENTS.map(({ name }) => name));
  expect(await service.records()).toMatchObject([{ outcome: 'completed', upstreamModel: 'second', inputTokens: 25 }]);
});

test('the hold is based on the prompt count of the second route', async () => {
  const delta = makeEvent({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: 'x'.repeat(2_000) },
  });
  await using service = await startControlled({
    answer: async (model) =>
      model === 'first'
        ? breaking([begin(100_000, 'msg_first')])
        : streamOf([begin(25, 'msg_second'), emptyText, delta, ...EVENTS.slice(3)]),
  });
  const quota = 25 * 3_000 + 600 * 15_000; // far less than the first route's prompt count would cost
  const text = await (await service.post(await service.makeKey({ quota }), { stream: true, max_tokens: 600 })).text();
  expect(text).toContain('message_stop');
});

test('no other route is tried after a disconnect, and nothing is charged', async () => {
  for (const stream of [true, false]) {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const admissionRequest: string[] = [];
    const running: OpenMessage[] = [];
    await using service = await startControlled({
      answer: async (model) => {
        admissionRequest.push(model);
        begin();
        while (running[0]?.isAbandoned !== true) await Bun.sleep(2);
        throw fault;
      },
    });
    const add = service.gateway.running.add.bind(service.gateway.running);
    service.gateway.running.add = (message) => {
      running.push(message);
      add(message);
    };
    const client = new AbortController();
    const pending = service.post(await service.makeKey(), { stream }, client.signal).catch(() => null);
    await begun;
    client.abort();
    await pending;
    while ((await service.records()).length === 0) await Bun.sleep(2);
    expect(await service.records()).toMatchObject([{ outcome: 'failed', usageSource: 'none', cost: 0 }]);
    expect(admissionRequest).toEqual(['first']);
    expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
  }
});

test('an answer that the model spoiled is billed, and no other route is tried', async () => {
  const tried: string[] = [];
  const usage = { input_tokens: 25, output_tokens: 12 };
  await using service = await startControlled({
    answer: (model) => {
      tried.push(model);
      return Promise.reject(new ProviderFault('unusable', 'no result', { usage }));
    },
  });
  expect((await service.post(await service.makeKey())).status).toBe(502);
  expect(tried).toEqual(['first']);
  const cost = 25 * 3_000 + 12 * 15_000;
  expect(await service.records()).toMatchObject([{ outcome: 'failed', outputTokens: 12, cost }]);
});

test('an earlier failure stays the answer if a later route only does not support the request', async () => {
  const unsupported = new ProviderFault('rejected', 'tools: not supported', { status: 400, isUnsupported: true });
  const busy = new ProviderFault('overloaded', 'busy');
  const outcomes = [
    [busy, unsupported, 529],
    [unsupported, busy, 529],
    [unsupported, unsupported, 400],
  ] as const;
  for (const [first, second, status] of outcomes) {
    await using service = await startControlled({
      answer: (model) => Promise.reject(model === 'first' ? first : second),
    });
    expect((await service.post(await service.makeKey())).status).toBe(status);
    expect(await service.records()).toMatchObject([{ attempts: [{ model: 'first' }, { model: 'second' }], cost: 0 }]);
  }
});
