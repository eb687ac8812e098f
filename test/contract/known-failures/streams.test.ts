// Streams that other systems billed or ended incorrectly, with each kind of provider: interrupted, abandoned by the
// client, starting with an error, or reported with zero tokens. docs/known-failures.md has the sources.

import { afterAll, describe, expect, test } from 'bun:test';
import { costOf, countText } from '../../support/count-text.ts';
import { eventText, scripts, upstreamEvents } from '../../support/scripted-upstream.ts';
import { bodyOf, eventsOf, expectErrorEvent, expectMoney } from '../post-messages/world.ts';
import { KINDS, startKindsWorld, streamError, streamText } from './provider-kinds.ts';

const world = await startKindsWorld();
afterAll(() => world.stop());

const PIECES = ['x'.repeat(40), 'y'.repeat(40)];
const PIECES_TOKENS = countText(PIECES.join(''));
const CUT = { outcome: 'upstream_cut', status: 200, usage_source: 'estimated' };

describe.each(KINDS)('a stream of a provider of the kind %s', (kind) => {
  const body = bodyOf({ model: kind, stream: true, max_tokens: 1_000 });

  test('that fails midway is billed for its output, and not for the error text', async () => {
    world.upstream.play(streamText(kind, PIECES, { error: 'the words of a failure '.repeat(200) }));
    const caller = await world.makeKey();
    const events = await expectErrorEvent(await world.post(caller.secret, body), 'api_error', 'upstream_failed');
    expect(events.filter(({ name }) => name === 'message_start')).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain('the words of a failure');
    await expectMoney(world, caller, [{ ...CUT, output_tokens: PIECES_TOKENS }]);
  });

  test('whose client disconnects is stopped, and billed for the output so far, not for the full response', async () => {
    const abortedBefore = world.upstream.abortedCount;
    world.upstream.play(streamText(kind, PIECES, 'silence'));
    const caller = await world.makeKey();
    const response = await world.post(caller.secret, body);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await readUntil(reader, PIECES[1] as string);
    await reader.cancel();
    await world.upstream.aborted(abortedBefore + 1);
    const [record] = await expectMoney(world, caller, [
      { outcome: 'client_gone', usage_source: 'estimated', output_tokens: PIECES_TOKENS },
    ]);
    expect(record?.['input_tokens']).toBeWithin(1, 60);
  });

  test('that begins with an error gets an error status, not a 200', async () => {
    world.upstream.play(streamError(kind, 'Oh.'));
    const caller = await world.makeKey();
    const response = await world.post(caller.secret, body);
    expect([response.status, response.headers.get('content-type')]).toEqual([502, 'application/json']);
    await expectMoney(world, caller, [{ outcome: 'failed', status: 502, cost: '0' }]);
  });

  test('that ends without its final event is incomplete, whatever text was received', async () => {
    world.upstream.play(streamText(kind, PIECES, 'cut'));
    const caller = await world.makeKey();
    await expectErrorEvent(await world.post(caller.secret, body), 'api_error', 'upstream_failed');
    await expectMoney(world, caller, [{ ...CUT, output_tokens: PIECES_TOKENS }]);
  });

  test('has one beginning, one end and its usage, and no [DONE]', async () => {
    world.upstream.play(streamText(kind, PIECES));
    const caller = await world.makeKey();
    const text = await (await world.post(caller.secret, body)).text();
    const events = eventsOf(text);
    const names = events.map(({ name }) => name).filter((name) => name !== 'ping');
    expect(names).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const start = events[0]?.json['message'] as { usage: { input_tokens: number } } | undefined;
    expect(start?.usage.input_tokens).toBeGreaterThan(0);
    expect(events.at(-2)?.json).toMatchObject({ usage: { output_tokens: 12 } });
    expect(text).not.toContain('[DONE]');
    await expectMoney(world, caller, [{ input_tokens: 25, output_tokens: 12, cost: '0.000255' }]);
  });
});

test('a prompt that its provider counts as zero tokens is billed as zero, also if the stream breaks off', async () => {
  const events = upstreamEvents({ text: 'x'.repeat(80), pieces: 2, usage: { input_tokens: 0, output_tokens: 0 } });
  world.upstream.play(scripts.rawStream(events.slice(0, -3).join('')));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ model: 'anthropic', stream: true }));
  await expectErrorEvent(response, 'api_error', 'upstream_failed');
  const tokens = countText('x'.repeat(80));
  await expectMoney(world, caller, [
    { ...CUT, input_tokens: 0, output_tokens: tokens, cost: costOf(0, 3, tokens, 15) },
  ]);
});

test('an output that its provider counts as zero tokens is billed as zero, also if the final event is missing', async () => {
  const events = upstreamEvents({ usage: { input_tokens: 0, output_tokens: 0 }, finalUsage: { output_tokens: 0 } });
  world.upstream.play(scripts.rawStream(events.slice(0, -1).join('')));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ model: 'anthropic', stream: true }));
  await expectErrorEvent(response, 'api_error', 'upstream_failed');
  await expectMoney(world, caller, [{ usage_source: 'reported', input_tokens: 0, output_tokens: 0, cost: '0' }]);
});

test('the relay of a stream does not delay events with timers', async () => {
  let readNext = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    await streamText('anthropic', ['0 '], 'silence')(answer, request);
    for (let piece = 1; piece < 200; piece++) {
      // Each piece is sent after the client received the one before it; otherwise the service could read several at
      // once.
      await readNext.promise;
      readNext = Promise.withResolvers();
      const delta = { type: 'text_delta', text: `${piece} ` };
      await answer.write(eventText({ type: 'content_block_delta', index: 0, delta }));
    }
    await readNext.promise;
    answer.end();
  });
  const caller = await world.makeKey();
  using timers = countTimers();
  const response = await world.post(caller.secret, bodyOf({ model: 'anthropic', stream: true, max_tokens: 1_000 }));
  let text = '';
  for await (const bytes of response.body as ReadableStream<Uint8Array>) {
    text += Buffer.from(bytes).toString();
    readNext.resolve();
  }
  expect(text.split('text_delta')).toHaveLength(201);
  expect(timers.count).toBeLessThan(100);
});

/** Throws if the stream ends before this text. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, words: string): Promise<void> {
  for (let text = ''; !text.includes(words); ) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stream ended with: ${text.slice(-500)}`);
    text += Buffer.from(value).toString();
  }
}

/** Counts the timers started from now on, through any API. */
function countTimers() {
  const { setTimeout: begin } = globalThis;
  const { sleep } = Bun;
  const timers = { count: 0 };
  globalThis.setTimeout = Object.assign((...call: Parameters<typeof begin>) => {
    timers.count++;
    return begin(...call);
  }, begin) as typeof begin;
  Bun.sleep = (ms) => {
    timers.count++;
    return sleep(ms);
  };
  return Object.assign(timers, {
    [Symbol.dispose]() {
      globalThis.setTimeout = begin;
      Bun.sleep = sleep;
    },
  });
}
