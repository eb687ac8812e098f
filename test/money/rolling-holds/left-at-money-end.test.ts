// A client disconnects while more arrives than its balance pays for: the stream still ends when the balance is used
// up. Nothing is written off, and output that was not paid for is no answer to a retry.

import { expect, test } from 'bun:test';
import type { EventSource, ProviderReply } from '../../../src/providers/providers.ts';
import { makeEvent, type StreamEvent } from '../../../src/wire/wire.ts';
import { type ControlledService, startControlled } from '../../contract/post-messages/controlled-service.ts';

const QUOTA = 8_000_000; // 500 tokens of output and a little more.
const TEXT = 'abc '.repeat(4_000);

const start = makeEvent({
  type: 'message_start',
  message: { type: 'message', role: 'assistant', content: [], usage: { input_tokens: 25, output_tokens: 1 } },
});
const rest = [
  makeEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  makeEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } }),
  makeEvent({ type: 'content_block_stop', index: 0 }),
  makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4_000 } }),
  makeEvent({ type: 'message_stop' }),
];

/** Sends both parts, the second one when `goOn` resolves. */
function inParts(parts: StreamEvent[][], goOn: Promise<void>): ProviderReply {
  let place = 0;
  const events: EventSource = {
    async next() {
      if (place > 0) await goOn;
      return parts[place++] ?? null;
    },
  };
  return { form: 'stream', events, upstreamRequestId: null };
}

async function settled(service: ControlledService): Promise<void> {
  while (service.gateway.running.count > 0 || service.gateway.ledger.unfinished > 0) await Bun.sleep(5);
}

const MEMBERS = { model: 'm', max_tokens: 8_000, stream: true, messages: [{ role: 'user', content: 'hi' }] };
/** Thinking may be hidden, so max_tokens is lowered to what the money pays for. */
const THINKING = { thinking: { type: 'enabled', budget_tokens: 1_024 } };

const ask = (members: object, signal?: AbortSignal): RequestInit & { headers: Record<string, string> } => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', 'idempotency-key': 'once' },
  body: JSON.stringify({ ...MEMBERS, ...members }),
  ...(signal === undefined ? {} : { signal }),
});

const stopped = [
  ...rest.slice(0, 1),
  makeEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'abc '.repeat(300) } }),
  makeEvent({ type: 'content_block_stop', index: 0 }),
  makeEvent({ type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 528 } }),
  makeEvent({ type: 'message_stop' }),
];

test.each([
  ['in one piece', [rest], {}],
  ['event by event', rest.map((event) => [event]), {}],
  ['up to the max_tokens that the money pays for', [stopped], THINKING],
])('what comes %s for a caller who left, and is not paid for, ends his message', async (_, parts, members) => {
  const going = Promise.withResolvers<void>();
  const noticed = Promise.withResolvers<void>();
  await using service = await startControlled({
    answer: async () => inParts([[start], ...parts], going.promise),
    onDisconnect: noticed.resolve,
  });
  const secret = await service.makeKey({ quota: QUOTA });
  const leaving = new AbortController();
  const post = (init: RequestInit & { headers: Record<string, string> }) =>
    fetch(`${service.url}/v1/messages`, { ...init, headers: { ...init.headers, 'x-api-key': secret } });
  const response = await post(ask(members, leaving.signal));
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  leaving.abort();
  await reader.closed.catch(() => {});
  await noticed.promise;
  going.resolve();
  await settled(service);
  const [record] = await service.records();
  expect(record).toMatchObject({ outcome: 'quota_cut', writtenOff: 0 });
  expect(record?.cost).toBeGreaterThan(QUOTA - 15_000);
  expect(record?.cost).toBeLessThanOrEqual(QUOTA);
  const again = await post(ask(members));
  expect(again.headers.get('idempotency-replayed')).toBeNull();
  expect(await again.text()).not.toContain('abc');
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});
