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
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    (await request.json()) as object;
    return new Response(message, { headers: { 'content-type': 'application/json', 'request-id': 'req_bench' } });
  },
});
console.log(`listening on ${server.url.origin}`);

export {};
