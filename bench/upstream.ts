// A provider for measurements: answers every message at once with the same message, whole or
// streamed. It does as little as it can, so that what is in front of it is what is measured.

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
const eventsMax = 100;
const pauseMs = 20;
const delta =
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"thirty bytes of text in a delta"}}\n\n';
const head = `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { ...JSON.parse(message), content: [], stop_reason: null } })}\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n`;
const tail = `event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\nevent: message_delta\ndata: ${JSON.stringify({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage })}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`;

/** One event at a time, at the pace of a fast model. */
async function* stream() {
  yield head;
  for (let event = 0; event < eventsMax; event++) {
    yield delta;
    await Bun.sleep(pauseMs);
  }
  yield tail;
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { stream: isStream } = (await request.json()) as { stream?: boolean };
    if (isStream === true) return new Response(stream() as never, { headers: { 'content-type': 'text/event-stream' } });
    return new Response(message, { headers: { 'content-type': 'application/json', 'request-id': 'req_bench' } });
  },
});
console.log(`listening on ${server.url.origin}`);

export {};
