// A provider's stream: events are passed on as they were sent, and never read faster than they are consumed.

import { expect, test } from 'bun:test';
import { type Attempt, type EventSource, type Provider, providerKinds } from '../../../src/providers/providers.ts';
import {
  eventText,
  type Script,
  scripts,
  startScriptedUpstream,
  UPSTREAM_REQUEST_ID,
  upstreamEvents,
} from '../../support/scripted-upstream.ts';
import { faultOf, makeAttempt, readAll, readToFault } from './make-attempt.ts';

const anthropic = providerKinds.get('anthropic') as Provider;
const BODY = { model: 'm', max_tokens: 10, stream: true, messages: [{ role: 'user', content: 'Hi' }] };
const WHOLE = upstreamEvents()
  .join('')
  .replace(eventText({ type: 'ping' }), '');

async function open(baseUrl: string, changes: Partial<Attempt> = {}): Promise<EventSource> {
  const reply = await anthropic.submit(makeAttempt(baseUrl, BODY, changes));
  if (reply.form !== 'stream') throw new Error('not streamed');
  return reply.events;
}

function asText(events: readonly { name: string; json: string }[]): string {
  return events.map(({ name, json }) => `event: ${name}\ndata: ${json}\n\n`).join('');
}

test('a stream is requested, and its events arrive unchanged, without its pings', async () => {
  await using upstream = await startScriptedUpstream(scripts.stream());
  const reply = await anthropic.submit(makeAttempt(upstream.url, BODY));
  expect(upstream.requests[0]?.headers['accept']).toBe('text/event-stream');
  expect(upstream.requests[0]?.body).toBe(JSON.stringify(BODY));
  if (reply.form !== 'stream') throw new Error('not streamed');
  expect(reply.upstreamRequestId).toBe(UPSTREAM_REQUEST_ID);
  expect(asText(await readAll(reply.events))).toBe(WHOLE);
  expect(await reply.events.next()).toBeNull();
});

test('the JSON of an event is preserved: spaces, 1.0, escapes, key order', async () => {
  const json = '{"n":1.0, "type" : "message_start","u":"\\u00e9\\/", "z":[ ]}';
  await using upstream = await startScriptedUpstream(
    scripts.rawStream(
      `: hello\n\nevent: ping\ndata: {}\n\ndata: {"type":"ping"}\n\ndata: ${json}\n\ndata: {"type":\ndata: "message_stop"}\n\n`,
    ),
  );
  const events = await readAll(await open(upstream.url));
  expect(events.map((event) => event.json)).toEqual([json, '{"type": "message_stop"}']);
  expect(events[0]).toMatchObject({ name: 'message_start', value: { n: 1, u: 'é/' } });
});

test('the value of a delta is its JSON, whatever its text, index and spaces', async () => {
  const texts = ['', 'plain', 'é中😀\u2028\u007f', '"', 'a\\b', 'line\nfeed', '{"}}', '\ud800'];
  const lines = [0, 7, 12, 1_234_567_890, -1, 1.5].flatMap((index) =>
    texts.map((text) => JSON.stringify({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })),
  );
  lines.push(...lines.slice(0, 3).map((line) => line.replace(/}$/, '   }')));
  await using upstream = await startScriptedUpstream(
    scripts.rawStream(lines.map((line) => `event: content_block_delta\ndata: ${line}\n\n`).join('')),
  );
  const { events } = await readToFault(await open(upstream.url));
  expect(events.map(({ json }) => json)).toEqual(lines);
  for (const { name, json, value } of events) expect([name, value]).toEqual(['content_block_delta', JSON.parse(json)]);
});

test('a delta that is not JSON is a fault', async () => {
  const whole = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}';
  const broken = ['"a\t"', '"a""', '"a\\"', '"a\\x"'].map((text) => whole.replace('"a"', text));
  for (const json of [...broken, whole.replace(':0', ':00'), `${whole}}`, whole.slice(0, -1)]) {
    await using upstream = await startScriptedUpstream(scripts.rawStream(`data: ${json}\n\n`));
    expect(await faultOf((await open(upstream.url)).next())).toMatchObject({ kind: 'failed' });
  }
});

test('all complete events of a chunk arrive at once, and a batch is never empty', async () => {
  await using upstream = await startScriptedUpstream(scripts.stream(), scripts.splitStream(7));
  expect((await (await open(upstream.url)).next())?.length).toBe(8);
  const source = await open(upstream.url);
  for (let batch = await source.next(); batch !== null; batch = await source.next())
    expect(batch.length).toBeGreaterThan(0);
});

test('data after message_stop is not part of the message', async () => {
  await using upstream = await startScriptedUpstream(
    scripts.rawStream(`${upstreamEvents().join('')}${eventText({ type: 'more' })}data: [DONE]\n\n`),
  );
  expect(asText(await readAll(await open(upstream.url)))).toBe(WHOLE);
});

test('an upstream that does not end its response after message_stop is closed', async () => {
  const endless: Script = async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write(upstreamEvents().join(''));
  };
  await using upstream = await startScriptedUpstream(endless);
  expect(asText(await readAll(await open(upstream.url)))).toBe(WHOLE);
  await upstream.aborted();
});

test('a connection is used again for the next stream', async () => {
  await using upstream = await startScriptedUpstream(scripts.stream());
  for (let turn = 0; turn < 3; turn++) {
    await readAll(await open(upstream.url));
    await Bun.sleep(20);
  }
  expect(upstream.connectionCount).toBe(1);
});

test('an error event in the same chunk loses none of the events before it', async () => {
  const error = eventText({ type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } });
  await using upstream = await startScriptedUpstream(scripts.rawStream(upstreamEvents()[0] + error));
  const source = await open(upstream.url);
  expect((await source.next())?.map((event) => event.name)).toEqual(['message_start']);
  expect(await faultOf(source.next())).toMatchObject({ kind: 'rate_limited', message: 'slow down' });
  expect((await faultOf(source.next())).kind).toBe('rate_limited');
});

test('data that is not an event is a failure, and the upstream is stopped', async () => {
  const garbage: Script = async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write('data: <h1>It works!</h1>\n\n');
  };
  await using upstream = await startScriptedUpstream(garbage);
  expect((await readToFault(await open(upstream.url))).fault.kind).toBe('failed');
  await upstream.aborted();
  for (const line of ['data: [1]', 'data: {"index":0}', 'data: [DONE]', 'data: {"type":5}']) {
    upstream.play(scripts.rawStream(`${line}\n\n`));
    expect((await readToFault(await open(upstream.url))).fault.kind).toBe('failed');
  }
});

test('an incomplete stream is a failure after its events, whether its connection ends normally or breaks off', async () => {
  await using upstream = await startScriptedUpstream(scripts.halfStream());
  for (const script of [scripts.halfStream(), scripts.dropMidStream(), scripts.resetMidStream()]) {
    upstream.play(script);
    const { events, fault } = await readToFault(await open(upstream.url));
    expect(events.at(-1)?.name).toBe('content_block_delta');
    expect(fault.kind).toBe('failed');
  }
});

test('an event above the maximum size is a failure', async () => {
  await using upstream = await startScriptedUpstream(scripts.hugeEvent(17 * 1024 * 1024));
  expect((await readToFault(await open(upstream.url))).fault.kind).toBe('failed');
});

test('keep-alives do not end a wait, and an abort ends it and reaches the upstream', async () => {
  const controller = new AbortController();
  await using upstream = await startScriptedUpstream(scripts.pingsOnly());
  const source = await open(upstream.url, { signal: controller.signal });
  await source.next();
  const waiting = source.next();
  expect(await Promise.race([waiting, Bun.sleep(80).then(() => 'still waiting')])).toBe('still waiting');
  controller.abort();
  expect((await faultOf(waiting)).kind).toBe('aborted');
  expect((await faultOf(source.next())).kind).toBe('aborted');
  await upstream.aborted();
});

// Far above what sockets and the runtime buffer, also on a busy machine. Without backpressure the upstream never stops.
const BUFFERED_BYTES_MAX = 256 * 1024 * 1024;

test('a source reads no further than its consumer', async () => {
  const controller = new AbortController();
  await using upstream = await startScriptedUpstream(scripts.flood());
  const source = await open(upstream.url, { signal: controller.signal });
  await source.next();
  let before = -1;
  while (upstream.writtenBytes !== before && before < BUFFERED_BYTES_MAX) {
    before = upstream.writtenBytes;
    await Bun.sleep(300);
  }
  expect(before).toBeLessThan(BUFFERED_BYTES_MAX); // the upstream waits for the consumer
  while (upstream.writtenBytes === before) await source.next(); // the upstream continues when the source is read
  controller.abort();
  await upstream.aborted();
});
