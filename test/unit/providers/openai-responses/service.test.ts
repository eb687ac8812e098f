// The whole service with a provider of the Responses protocol: responses to clients, requests to the provider, and
// billing.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { expectError, expectErrorEvent, expectMoney } from '../../../contract/post-messages/world.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../../support/start-turnpike.ts';
import { type Anthropic, makeClient, sdks } from '../../../verify/clients/official-sdks.ts';
import { answering, breaking, called, eventText, messageItem, refusing, thought } from './scripted-responses.ts';

const PRICE = { input: '3', output: '15', cache_read: '0.3' };
// 20 × 3 + 100 × 0.3 + 40 × 15 = 690 millionths
const BILLED = {
  outcome: 'completed',
  usage_source: 'reported',
  input_tokens: 20,
  cache_read_input_tokens: 100,
  output_tokens: 40,
  cost: '0.00069',
};
const BODY = { model: 'gpt', max_tokens: 500, messages: [{ role: 'user' as const, content: 'What weather?' }] };
const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' as const } } },
};

let upstream: ScriptedUpstream;
let second: ScriptedUpstream;
let turnpike: Turnpike;
beforeAll(async () => {
  upstream = await startScriptedUpstream(answering(messageItem('Hello.')));
  second = await startScriptedUpstream(answering(messageItem('From the second.')));
  const provider = (base_url: string) => ({
    kind: 'openai-responses',
    base_url,
    api_key: 'sk-upstream-credential-1',
    private_network: true,
  });
  const route = { provider: 'first', model: 'gpt-theirs' };
  turnpike = await startTurnpike({
    providers: { first: provider(upstream.url), second: provider(`${second.url}/v1`) },
    models: {
      gpt: { price: PRICE, routes: [route] },
      deployed: { price: PRICE, routes: [{ ...route, model: 'our-deployment' }] },
      'gpt-5': { price: PRICE, routes: [{ ...route, model: 'gpt-5' }] },
      paired: { price: PRICE, routes: [route, { ...route, provider: 'second', priority: 1 }] },
    },
  });
});
beforeEach(() => {
  upstream.requests.length = 0;
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  await turnpike.stop();
  await upstream.close();
  await second.close();
});

const sent = (index = -1): JsonObject => JSON.parse(upstream.requests.at(index)?.body ?? '{}');

describe.each(sdks)('the SDK $name', (sdk) => {
  type Ask = (client: Anthropic, body: Anthropic.MessageCreateParamsNonStreaming) => Promise<Anthropic.Message>;
  const asks: [string, Ask][] = [
    ['streamed', (client, body) => client.messages.stream(body).finalMessage()],
    ['whole', (client, body) => client.messages.create(body)],
  ];

  test.each(asks)('reads a message %s, and is billed exactly', async (_words, ask) => {
    upstream.play(answering(messageItem('Sun, ünd ✓.')));
    const caller = await turnpike.makeKey();
    const { client } = makeClient(sdk, turnpike.url, caller.secret);
    const message = await ask(client, BODY);
    expect(message).toMatchObject({
      role: 'assistant',
      model: 'gpt-theirs-2026',
      content: [{ type: 'text', text: 'Sun, ünd ✓.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 40 },
    });
    expect(message.id).toMatch(/^msg_/);
    expect(upstream.requests.at(-1)).toMatchObject({ method: 'POST', path: '/v1/responses' });
    expect(upstream.requests.at(-1)?.headers).toMatchObject({ authorization: 'Bearer sk-upstream-credential-1' });
    expect(sent()).toMatchObject({ model: 'gpt-theirs', store: false, max_output_tokens: 500 });
    await expectMoney(turnpike, caller, [BILLED]);
  });

  test.each(asks)(
    'has its tools called over three turns %s, with the reasoning of each sent back in the next',
    async (_words, ask) => {
      const first = [thought('rs_1', 'It asks.', 'I look.'), called('call_1', 'get_weather', { city: 'Zürich' })];
      const then = [
        thought('rs_2', 'And Paris.'),
        messageItem('One more.'),
        called('call_2', 'get_weather', { city: 'Paris' }),
      ];
      upstream.play(
        answering(...first),
        answering(...then),
        answering(thought('rs_3', 'Done.'), messageItem('Sun in both.')),
      );
      const caller = await turnpike.makeKey();
      const { client } = makeClient(sdk, turnpike.url, caller.secret);
      const messages: Anthropic.MessageParam[] = [...BODY.messages];
      const thinking = { type: 'adaptive' as const };
      let answer = await ask(client, { ...BODY, messages, thinking, tools: [WEATHER] });
      for (let turn = 0; turn < 3 && answer.stop_reason === 'tool_use'; turn++) {
        const results = answer.content.flatMap((block) =>
          block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'Sun.' }] : [],
        );
        messages.push({ role: 'assistant', content: answer.content }, { role: 'user', content: results });
        answer = await ask(client, { ...BODY, messages, thinking, tools: [WEATHER] });
      }
      expect(answer.content).toMatchObject([
        { type: 'thinking', thinking: 'Done.' },
        { type: 'text', text: 'Sun in both.' },
      ]);
      expect(upstream.requests).toHaveLength(3);
      expect(sent()).toMatchObject({ include: ['reasoning.encrypted_content'], reasoning: { summary: 'auto' } });
      expect(sent()['input']).toEqual([
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What weather?' }] },
        first[0],
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Zürich"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'Sun.' },
        then[0],
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One more.' }] },
        { type: 'function_call', call_id: 'call_2', name: 'get_weather', arguments: '{"city":"Paris"}' },
        { type: 'function_call_output', call_id: 'call_2', output: 'Sun.' },
      ] as never);
      expect(JSON.stringify(sent(1)['input'])).toBe(JSON.stringify((sent()['input'] as JsonObject[]).slice(0, 4)));
      await expectMoney(turnpike, caller, [BILLED, BILLED, BILLED]);
    },
  );
});

describe('a failure', () => {
  test('before any output leads to the next route, also inside a stream that had begun', async () => {
    const failed = { status: 'failed', error: { code: 'server_error', message: 'Oh.' }, output: [] };
    upstream.play(breaking((answer) => void answer.write(eventText({ type: 'response.failed', response: failed }))));
    const caller = await turnpike.makeKey();
    for (const stream of [true, false]) {
      const response = await turnpike.post(caller.secret, { ...BODY, model: 'paired', stream });
      expect(response.status).toBe(200);
      expect(await response.text()).toContain(stream ? 'second.' : 'From the second.');
      upstream.play(refusing(429, { code: 'insufficient_quota', message: 'No credit.' }));
    }
    await expectMoney(turnpike, caller, [BILLED, BILLED]);
  });

  test('of the content keeps the text of the provider, and costs nothing', async () => {
    upstream.play(refusing(400, { type: 'invalid_request_error', code: null, message: 'Could not process image.' }));
    const caller = await turnpike.makeKey();
    const response = await turnpike.post(caller.secret, { ...BODY, model: 'paired' });
    expect(await expectError(response, 400, 'invalid_request_error', 'upstream_rejected')).toBe(
      'Could not process image.',
    );
    await expectMoney(turnpike, caller, [{ outcome: 'failed', cost: '0' }]);
  });

  test('to convert the request names the field, and nothing is sent', async () => {
    const caller = await turnpike.makeKey();
    const response = await turnpike.post(caller.secret, { ...BODY, stop_sequences: ['END'] });
    expect(await expectError(response, 400, 'invalid_request_error', 'upstream_rejected')).toStartWith(
      'stop_sequences: ',
    );
    expect(upstream.requests).toHaveLength(0);
  });

  test.each<[number, object, number, string, string]>([
    [401, { code: 'invalid_api_key', message: 'Incorrect API key.' }, 502, 'api_error', 'upstream_credentials'],
    [429, { code: 'insufficient_quota', message: 'No credit.' }, 502, 'api_error', 'upstream_credentials'],
    [429, { code: 'rate_limit_exceeded', message: 'Slow.' }, 429, 'rate_limit_error', 'upstream_rate_limited'],
    [500, { type: 'server_error', message: 'Oh.' }, 502, 'api_error', 'upstream_failed'],
  ])('with status %i and %j is %i for the client', async (status, error, ours, type, code) => {
    upstream.play(refusing(status, error, { 'retry-after': '3' }));
    const caller = await turnpike.makeKey();
    const message = await expectError(await turnpike.post(caller.secret, BODY), ours, type, code);
    expect(message).not.toContain((error as { message: string }).message);
  });

  test('midway is an error event and never a normal end, and the output before it is billed', async () => {
    const endings = [
      breaking((answer) => answer.end(), messageItem('x'.repeat(80))),
      breaking((answer) => answer.drop(), messageItem('x'.repeat(80))),
      breaking(
        async (answer) => {
          await answer.write(eventText({ type: 'error', code: 'server_error', message: 'secret words' }));
          answer.end();
        },
        messageItem('x'.repeat(80)),
      ),
    ];
    for (const ending of endings) {
      upstream.play(ending);
      const caller = await turnpike.makeKey();
      const response = await turnpike.post(caller.secret, { ...BODY, stream: true });
      const events = await expectErrorEvent(response, 'api_error', 'upstream_failed');
      expect(JSON.stringify(events)).not.toContain('secret words');
      await expectMoney(turnpike, caller, [{ outcome: 'upstream_cut', usage_source: 'estimated', output_tokens: 10 }]); // by the tokenizer
    }
  });
});

test.each([
  "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
  'Encrypted content is not supported with this model.',
])(
  'a model that refuses reasoning parameters is tried once more without them, if its name is unknown: %s',
  async (message) => {
    const thinking = { type: 'enabled', budget_tokens: 1024 };
    const caller = await turnpike.makeKey();
    for (const [model, name, asked] of [
      ['deployed', 'our-deployment', 2],
      ['gpt-5', 'gpt-5', 1],
    ] as const) {
      upstream.requests.length = 0;
      upstream.play(refusing(400, { type: 'invalid_request_error', message }), answering(messageItem('Hello.')));
      const response = await turnpike.post(caller.secret, { ...BODY, model, max_tokens: 2000, thinking });
      expect([name, response.status, upstream.requests.length]).toEqual([name, asked === 2 ? 200 : 400, asked]);
      await response.arrayBuffer();
    }
    upstream.play(refusing(400, { message }));
    const refused = await turnpike.post(caller.secret, { ...BODY, model: 'deployed', max_tokens: 2000, thinking });
    expect(await expectError(refused, 400, 'invalid_request_error', 'upstream_rejected')).toBe(message);
    expect(sent()).not.toHaveProperty('reasoning');
    expect(sent()).not.toHaveProperty('include');
  },
);

test('a client that disconnects stops the provider', async () => {
  const before = upstream.abortedCount;
  upstream.play(breaking(() => undefined, messageItem('Half of')));
  const caller = await turnpike.makeKey();
  const leaving = new AbortController();
  const response = await turnpike.post(caller.secret, { ...BODY, stream: true }, { signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  await upstream.aborted(before + 1);
  await expectMoney(turnpike, caller, [{ outcome: 'client_gone' }]);
});

test('the service fetches no address from a request: addresses of images and documents are passed on unchanged', async () => {
  await using elsewhere = await startScriptedUpstream(scripts.html(200));
  upstream.play(answering(messageItem('Seen.')));
  const caller = await turnpike.makeKey();
  const source = { type: 'url', url: `${elsewhere.url}/a.png` };
  const content = [
    { type: 'image', source },
    { type: 'document', source },
  ];
  const response = await turnpike.post(caller.secret, { ...BODY, messages: [{ role: 'user', content }] });
  expect(response.status).toBe(200);
  expect(sent()['input']).toMatchObject([{ content: [{ image_url: source.url }, { file_url: source.url }] }]);
  expect(elsewhere.connectionCount).toBe(0);
});

test('tokens are counted by the provider, free of charge, and estimated if it has no counter', async () => {
  const caller = await turnpike.makeKey();
  const count = async () => {
    const response = await fetch(`${turnpike.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': caller.secret },
      body: JSON.stringify({ model: 'gpt', messages: BODY.messages }),
    });
    return (await response.json()) as object;
  };
  upstream.play(scripts.json('{"object":"response.input_tokens","input_tokens":31}'));
  expect(await count()).toEqual({ input_tokens: 31 });
  expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/responses/input_tokens']);
  upstream.play(scripts.html(404));
  expect(await count()).toEqual({ input_tokens: expect.any(Number) });
  await expectMoney(turnpike, caller, []);
});

test('an operator sees whether the provider accepts the credential, by its list of models', async () => {
  upstream.play(scripts.json('{"object":"list","data":[{"id":"gpt-theirs"},{"id":"other"}]}'));
  expect(await turnpike.admin('POST', '/providers/first/test')).toMatchObject({ ok: true, models: 2 });
  expect(upstream.requests.at(-1)).toMatchObject({ method: 'GET', path: '/v1/models' });
  upstream.play(refusing(401, { code: 'invalid_api_key', message: 'Incorrect API key: sk-upstream-credential-1' }));
  const refused = await turnpike.admin('POST', '/providers/first/test');
  expect(refused).toMatchObject({ ok: false, fault: 'credentials' });
  expect(JSON.stringify(refused)).not.toContain('sk-upstream');
  // A server without a list gets an invalid request.
  upstream.play(refusing(404, { message: 'Not found.' }), refusing(400, { message: 'Missing model.' }));
  expect(await turnpike.admin('POST', '/providers/first/test')).toMatchObject({ ok: true, status: 400, models: null });
  upstream.play(refusing(404, { message: 'Not found.' }));
  expect(await turnpike.admin('POST', '/providers/first/test')).toMatchObject({
    ok: false,
    message: expect.stringContaining('base_url may be wrong'),
  });
});
