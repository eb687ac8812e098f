// The least that a proxy on this runtime can do: parse the body, send it on, parse the answer,
// give it back. No keys, no money, no log. What Turnpike is measured against.

const upstream = `${process.argv[2]}/v1/messages`;
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const body = (await request.json()) as { model: string };
    body.model = 'upstream-model';
    const response = await fetch(upstream, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'credential', 'accept-encoding': 'identity' },
      body: JSON.stringify(body),
    });
    if (response.headers.get('content-type') === 'text/event-stream') return new Response(response.body, response);
    return new Response(JSON.stringify(await response.json()), { headers: { 'content-type': 'application/json' } });
  },
});
console.log(`listening on ${server.url.origin}`);

export {};
