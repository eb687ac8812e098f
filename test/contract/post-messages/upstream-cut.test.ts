// A stream that breaks off after its beginning: an error event, never a normal end, and the received output is
// billed.

import { afterAll, expect, test } from 'bun:test';
import { costOf, countText } from '../../support/count-text.ts';
import { eventText, type Script, scripts, upstreamEvents } from '../../support/scripted-upstream.ts';
import { bodyOf, type Event, expectErrorEvent, expectMoney, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const SAYING = { text: 'x'.repeat(160), pieces: 4 }; // 10 events: a start, a block, a ping, 4 of 40 characters, 3
const RESET = scripts.resetMidStream(SAYING);
const STREAM = bodyOf({ stream: true, max_tokens: 1_000 });
const received = (events: readonly Event[]) =>
  events.map(({ json }) => (json['delta'] as { text?: string } | undefined)?.text ?? '').join('');

test.each<[string, Script, string, string]>([
  ['is reset', RESET, 'api_error', 'upstream_failed'],
  ['is dropped', scripts.dropMidStream(SAYING), 'api_error', 'upstream_failed'],
  ['ends without a final event', scripts.halfStream(SAYING), 'api_error', 'upstream_failed'],
])('a stream that %s ends with an error event and is billed as received', async (_words, script, type, code) => {
  world.upstream.play(script);
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, STREAM);
  const events = await expectErrorEvent(response, type, code);
  // A connection reset may overtake data sent just before it: the output that the client received counts.
  const characters = received(events).length;
  expect(script === RESET || characters === 80).toBe(true);
  const tokens = countText('x'.repeat(characters));
  await expectMoney(world, caller, [
    {
      outcome: 'upstream_cut',
      status: 200,
      usage_source: 'estimated',
      input_tokens: 25,
      output_tokens: tokens,
      cost: costOf(25, 3, tokens, 15),
      request_id: response.headers.get('request-id'),
    },
  ]);
});

test.each([
  ['overloaded_error', 'overloaded_error', 'upstream_overloaded'],
  ['rate_limit_error', 'rate_limit_error', 'upstream_rate_limited'],
  ['api_error', 'api_error', 'upstream_failed'],
  ['authentication_error', 'api_error', 'upstream_failed'],
  ['error_of_the_future', 'api_error', 'upstream_failed'],
])(
  'an error event of the provider (%s) is passed on in the standard error format',
  async (upstreamType, type, code) => {
    world.upstream.play(scripts.errorEvent(upstreamType, 'the words of the provider'));
    const caller = await world.makeKey();
    const events = await expectErrorEvent(await world.post(caller.secret, STREAM), type, code);
    expect(JSON.stringify(events)).not.toContain('the words of the provider');
    await expectMoney(world, caller, [{ outcome: 'upstream_cut', input_tokens: 25 }]);
  },
);

test('garbage after the beginning ends the stream, and the content before it is passed on', async () => {
  const events = upstreamEvents(SAYING).slice(0, 5).join('');
  for (const garbage of ['event: x\ndata: {"type":\n\n', 'data: 12\n\n', 'event: x\ndata: {"no":"type"}\n\n']) {
    world.upstream.play(scripts.rawStream(events + garbage + events));
    const caller = await world.makeKey();
    const passed = await expectErrorEvent(await world.post(caller.secret, STREAM), 'api_error', 'upstream_failed');
    expect(received(passed)).toBe('x'.repeat(80));
    const tokens = countText('x'.repeat(80));
    await expectMoney(world, caller, [
      { outcome: 'upstream_cut', output_tokens: tokens, cost: costOf(25, 3, tokens, 15) },
    ]);
  }
});

test('a stream that breaks after its final counts is billed with these counts', async () => {
  const events = upstreamEvents(SAYING);
  const arrived = Promise.withResolvers<void>();
  world.upstream.play(async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write(events.slice(0, -1).join(''));
    await arrived.promise; // a reset overtakes what was not read
    answer.reset();
  });
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, STREAM);
  arrived.resolve();
  await expectErrorEvent(response, 'api_error', 'upstream_failed');
  // 25 × 3 + 12 × 15 = 255
  await expectMoney(world, caller, [{ outcome: 'upstream_cut', usage_source: 'reported', cost: '0.000255' }]);
});

test('received thinking and tool input are billed as well', async () => {
  const [start = ''] = upstreamEvents();
  const delta = (index: number, members: object) => eventText({ type: 'content_block_delta', index, delta: members });
  world.upstream.play(
    scripts.rawStream(
      start +
        eventText({ type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } }) +
        delta(0, { type: 'thinking_delta', thinking: 'x'.repeat(40) }) +
        delta(1, { type: 'input_json_delta', partial_json: 'x'.repeat(40) }),
    ),
  );
  const caller = await world.makeKey();
  await expectErrorEvent(await world.post(caller.secret, STREAM), 'api_error', 'upstream_failed');
  await expectMoney(world, caller, [{ outcome: 'upstream_cut', output_tokens: 2 * countText('x'.repeat(40)) }]);
});

test('broken streams of the sandbox are handled in the same way', async () => {
  const caller = await world.makeKey({ groups: ['sandbox'] });
  const messages = [{ role: 'user', content: 'x'.repeat(80) }];
  const response = await world.post(caller.secret, { ...STREAM, model: 'sandbox-cut', messages });
  const events = await expectErrorEvent(response, 'api_error', 'upstream_failed');
  expect(received(events)).toBe('x'.repeat(40));
  // 20 input tokens at 1, 10 output tokens at 5.
  const record = { outcome: 'upstream_cut', input_tokens: 20, output_tokens: 10, cost: '0.00007' };
  await expectMoney(world, caller, [record]);
});
