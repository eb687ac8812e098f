// A client in plain Node: the official SDK, told by arguments where to go and with which key. It prints
// what it got as one line of JSON; test/verify/clients/node-client.test.ts judges it.

const [packageName, baseURL, apiKey] = process.argv.slice(2);
const { Anthropic, RateLimitError, BadRequestError } = await import(packageName);
const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
const messages = [{ role: 'user', content: 'said in Node' }];

const whole = await client.messages.create({ model: 'sandbox-echo', max_tokens: 50, messages });
const streaming = client.messages.stream({ model: 'sandbox-lorem', max_tokens: 12, messages });
const events = [];
for await (const event of streaming) events.push(event.type);
const streamed = await streaming.finalMessage();

const left = client.messages.stream({ model: 'sandbox-lorem', max_tokens: 10_000, messages });
left.on('text', () => left.abort());
const aborted = await left.done().catch((error) => error.constructor.name);

const refusal = await client.messages
  .create({ model: 'no-such-model', max_tokens: 5, messages })
  .catch((error) => ({ isBadRequest: error instanceof BadRequestError, code: error.error?.error?.code }));
const limited = await client.messages
  .create({ model: 'sandbox-error-429', max_tokens: 5, messages })
  .catch((error) => ({ isRateLimit: error instanceof RateLimitError, code: error.error?.error?.code }));
const runner = client.beta.messages.toolRunner({
  model: 'sandbox-tool',
  max_tokens: 50,
  messages,
  stream: true,
  tools: [
    {
      type: 'custom',
      name: 'now',
      input_schema: { type: 'object', properties: {} },
      parse: (input) => input,
      run: () => 'noon',
    },
  ],
});
const last = await runner.runUntilDone();

console.log(
  JSON.stringify({
    runtime: process.release.name,
    text: whole.content[0].text,
    requestId: whole._request_id,
    events,
    usage: streamed.usage,
    stopReason: streamed.stop_reason,
    aborted,
    leftRequestId: left.request_id,
    refusal,
    limited,
    toolText: last.content[0].text,
  }),
);
