// The least work that a proxy can do on this runtime: parse the body, forward it, parse the response, return it. The
// baseline for Turnpike. Streams are relayed by the runtime, or parsed event by event.

const upstream = `${process.argv[2]}/v1/messages`;
const isParsing = process.argv[3] === 'parsing';

async function* parseEvents(body: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = events.pop() ?? '';
    let text = '';
    for (const event of events) {
      const data = event.slice(event.indexOf('data: ') + 'data: '.length);
      const { type } = JSON.parse(data) as { type: string };
      text += `event: ${type}\ndata: ${data}\n\n`;
    }
    if (text !== '') yield text;
  }
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const body = (await request.json()) as { model: string };
    body.model = body.model === 'bench-agent' ? body.model : 'upstream-model';
    const response = await fetch(upstream, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'credential', 'accept-encoding': 'identity' },
      body: JSON.stringify(body),
    });
    if (response.headers.get('content-type') === 'text/event-stream') {
      if (!isParsing || response.body === null) return new Response(response.body, response);
      return new Response(parseEvents(response.body) as never, { headers: { 'content-type': 'text/event-stream' } });
    }
    return new Response(JSON.stringify(await response.json()), { headers: { 'content-type': 'application/json' } });
  },
});
console.log(`listening on ${server.url.origin}`);

export {};
