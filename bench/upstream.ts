// A provider for measurements: answers every message at once with the same message, as JSON or as a stream, with as
// little work as possible. Streams of one model stay open; answers of another say when they were asked for.

import { EVENTS, models } from './processes.ts';

const usage = { input_tokens: 250, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 200 };
const message = JSON.stringify({
  id: 'msg_bench',
  type: 'message',
  role: 'assistant',
  model: 'upstream-model',
  content: [{ type: 'text', text: 'x'.repeat(800) }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
});
const pauseMs = 20; // the pace of a fast model
const openPauseMs = 5_000;
const delta =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"thirty bytes of text in a delta"}}\n\n';
const head = `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { ...JSON.parse(message), content: [], stop_reason: null } })}\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n`;
const tail = `event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\nevent: message_delta\ndata: ${JSON.stringify({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage })}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`;

async function* stream(model: string) {
  yield head;
  for (let event = 0; event < EVENTS; event++) {
    yield delta;
    await Bun.sleep(model === models.open ? openPauseMs : pauseMs);
  }
  yield tail;
}

const event = (data: { type: string; [member: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

/** Thinking, text and a tool's input: 400 deltas. */
const agentEvents: readonly string[] = [
  {
    block: { type: 'thinking', thinking: '', signature: '' },
    delta: { type: 'thinking_delta', thinking: ' I look at the file' },
    count: 120,
  },
  { block: { type: 'text', text: '' }, delta: { type: 'text_delta', text: ' the "fault" is in\nline 12' }, count: 160 },
  {
    block: { type: 'tool_use', id: 'toolu_1', name: 'tool_1', input: {} },
    delta: { type: 'input_json_delta', partial_json: '"a piece of ' },
    count: 120,
  },
].flatMap(({ block, delta: piece, count }, index) => [
  event({ type: 'content_block_start', index, content_block: block }),
  ...Array.from({ length: count }, () => event({ type: 'content_block_delta', index, delta: piece })),
  ...(index === 0
    ? [event({ type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: 'c2ln' } })]
    : []),
  event({ type: 'content_block_stop', index }),
]);

/** In bursts of one to three events. */
async function* streamTurn() {
  yield head.slice(0, head.indexOf('event: content_block_start'));
  for (let at = 0, burst = 1; at < agentEvents.length; at += burst, burst = (burst % 3) + 1) {
    yield agentEvents.slice(at, at + burst).join('');
    if (process.env['PACE'] === 'none') await null;
    else if (process.env['PACE'] === 'now') await new Promise((r) => setImmediate(r));
    else await Bun.sleep(Number(process.env['PACE'] ?? 1));
  }
  yield tail.slice(tail.indexOf('event: message_delta'));
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 60,
  async fetch(request) {
    const { stream: isStream = false, model } = (await request.json()) as { stream?: boolean; model: string };
    if (model === models.agent)
      return new Response(streamTurn() as never, { headers: { 'content-type': 'text/event-stream' } });
    if (isStream) return new Response(stream(model) as never, { headers: { 'content-type': 'text/event-stream' } });
    const headers = { 'content-type': 'application/json', 'request-id': 'req_bench' };
    return new Response(
      model === models.clock
        ? message.replace('msg_bench', `msg_${performance.timeOrigin + performance.now()}`)
        : message,
      { headers },
    );
  },
});
console.log(`listening on ${server.url.origin}`);
