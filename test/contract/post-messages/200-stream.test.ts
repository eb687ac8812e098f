// A streamed message: the provider's events unchanged, and its end only once the message is billed.

import { afterAll, expect, test } from 'bun:test';
import { eventText, scripts, upstreamEvents } from '../../support/scripted-upstream.ts';
import { exchange } from '../../unit/http/raw-socket.ts';
import { bodyOf, eventsOf, expectHeadersOfAll, expectMoney, GOOD, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());
const STREAM = bodyOf({ stream: true });

/** The events without the provider's own keep-alives, which the service replaces with its own. */
const withoutPings = (events: readonly string[]) => events.filter((event) => !event.startsWith('event: ping')).join('');

test('the events arrive byte for byte as the provider sent them', async () => {
  world.upstream.play(scripts.good({ text: 'naïve — 日本語 🙂 \\u0000 "quoted"', pieces: 7 }));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, STREAM);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-cache, no-store');
  expect(response.headers.get('content-encoding')).toBeNull();
  expectHeadersOfAll(response);
  expect(await response.text()).toBe(
    withoutPings(upstreamEvents({ text: 'naïve — 日本語 🙂 \\u0000 "quoted"', pieces: 7 })),
  );
  await expectMoney(world, caller, [
    { ...GOOD, stream: true, outcome: 'completed', status: 200, request_id: response.headers.get('request-id') },
  ]);
});

test.each([5, 64])('events split into chunks of %i bytes arrive whole', async (bytes) => {
  const saying = { text: 'naïve — 日本語 🙂', pieces: 3 };
  world.upstream.play(scripts.splitStream(bytes, saying));
  const caller = await world.makeKey();
  expect(await (await world.post(caller.secret, STREAM)).text()).toBe(withoutPings(upstreamEvents(saying)));
  await expectMoney(world, caller, [GOOD]);
});

test('unusual JSON is preserved: signatures, numbers, unknown deltas, extra spaces', async () => {
  const [start = ''] = upstreamEvents();
  const odd = [
    'event: content_block_start\ndata: {"type":"content_block_start", "index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a\\u0041\\/"}}\n\n',
    'event: content_block_delta\ndata: {"delta":{"signature":"EqQB+/==","type":"signature_delta"},"index":0,"type":"content_block_delta","x":1.0e0}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"delta_of_the_future","a":[1.50]}}\n\n',
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
    eventText({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 12 } }),
    eventText({ type: 'message_stop' }),
  ];
  world.upstream.play(scripts.rawStream([start, ...odd].join('')));
  const caller = await world.makeKey();
  expect(await (await world.post(caller.secret, STREAM)).text()).toBe([start, ...odd].join(''));
  await expectMoney(world, caller, [GOOD]);
});

test('message_stop is sent only once the record is durable', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  for (let turn = 0; turn < 40; turn++) {
    const response = await world.post(caller.secret, STREAM);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    while (!text.includes('event: message_stop')) text += Buffer.from((await reader.read()).value ?? []).toString();
    // On another connection, before this stream was read to its end.
    expect(await world.admin('GET', `/usage/${response.headers.get('request-id')}`)).toMatchObject(GOOD);
    await reader.cancel();
  }
  await expectMoney(world, caller, Array(40).fill({ ...GOOD, outcome: 'completed' }));
});

test('events are relayed immediately, not when the stream is complete', async () => {
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  const events = upstreamEvents();
  world.upstream.play(async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write(events.slice(0, 4).join(''));
    await mayGoOn;
    await answer.write(events.slice(4).join(''));
    answer.end();
  });
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, STREAM);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!text.includes('text_delta')) text += Buffer.from((await reader.read()).value ?? []).toString();
  goOn();
  for (let part = await reader.read(); !part.done; part = await reader.read())
    text += Buffer.from(part.value).toString();
  expect(text).toBe(withoutPings(events));
  await expectMoney(world, caller, [GOOD]);
});

test('nothing follows message_stop, whatever the provider still sends', async () => {
  world.upstream.play(scripts.rawStream(`${upstreamEvents().join('')}data: [DONE]\n\n${upstreamEvents().join('')}`));
  const caller = await world.makeKey();
  const events = eventsOf(await (await world.post(caller.secret, STREAM)).text());
  expect(events.filter(({ name }) => name === 'message_start')).toHaveLength(1);
  expect(events.at(-1)?.name).toBe('message_stop');
  await expectMoney(world, caller, [GOOD]);
});

test('a provider that responds with JSON is streamed nevertheless', async () => {
  world.upstream.play(scripts.message({ text: 'All at once' }));
  const caller = await world.makeKey();
  const events = eventsOf(await (await world.post(caller.secret, STREAM)).text());
  expect(events.map(({ name }) => name)).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  await expectMoney(world, caller, [{ ...GOOD, stream: true }]);
});

test('a connection that was used for a stream can be used for the next message', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const text = JSON.stringify(STREAM);
  const request = `POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: ${caller.secret}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
  const endCount = (received: string) => received.split('\r\n0\r\n\r\n').length - 1;
  const port = Number(new URL(world.url).port);
  const received = await exchange(port, [request, 100, request], (all) => endCount(all) === 2);
  expect(received.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  expect(received.match(/event: message_stop/g)).toHaveLength(2);
  await expectMoney(world, caller, [GOOD, GOOD]);
});
