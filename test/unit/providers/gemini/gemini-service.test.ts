// Gemini behind the running service, as unmodified clients see it: responses streamed and not, tools over two turns,
// billing, counts, and failures.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAnthropic } from '@ai-sdk/anthropic';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import {
  type Caller,
  eventsOf,
  expectError,
  expectErrorEvent,
  expectMoney,
} from '../../../contract/post-messages/world.ts';
import { type Script, type ScriptedUpstream, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../../support/start-turnpike.ts';
import { type Anthropic, makeClient, sdks } from '../../../verify/clients/official-sdks.ts';
import { GEMINI_KEY } from './gemini-attempt.ts';

type Json = Record<string, unknown>;

const fixture = (name: string) => readFileSync(join(import.meta.dir, 'fixtures', name), 'utf8');
const chunksOf = (text: string) => text.split(/(?<=\n\r?\n)/);
const STREAM = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json; charset=UTF-8' };

/** Responds as Gemini does, depending on the requested method: chunks one by one, or all of them as one. */
const playing =
  (text: string): Script =>
  async (answer, { path }) => {
    if (path.includes(':countTokens')) return answer.send(200, JSON_TYPE, '{"totalTokens":31}');
    if (path.includes(':generateContent')) return answer.send(200, JSON_TYPE, wholeOf(text));
    answer.begin(200, STREAM);
    for (const chunk of chunksOf(text)) await answer.write(chunk);
    answer.end();
  };

/**
 * All parts of a stream's chunks merged into the last of them. Its numbers stay text, because a double cannot
 * represent them.
 */
function wholeOf(text: string): string {
  const chunks = chunksOf(text).map((chunk) => chunk.replace(/^data: /, '').trim());
  const parts = chunks.flatMap((chunk) => /"parts": (\[.*?\]), "role"/s.exec(chunk)?.[1]?.slice(1, -1) ?? []);
  return (chunks.at(-1) as string).replace(/"parts": \[.*?\], "role"/s, () => `"parts": [${parts.join(', ')}], "role"`);
}

const failing =
  (status: number, code: string, message: string): Script =>
  (answer) =>
    answer.send(status, JSON_TYPE, JSON.stringify([{ error: { code: status, status: code, message } }]));

let turnpike: Turnpike;
let upstream: ScriptedUpstream;
let caller: Caller;

beforeAll(async () => {
  upstream = await startScriptedUpstream(playing(fixture('text.txt')));
  turnpike = await startTurnpike({
    providers: { g: { kind: 'gemini', base_url: upstream.url, api_key: GEMINI_KEY, private_network: true } },
    models: {
      flash: {
        price: { input: '3', output: '15', cache_read: '1' },
        routes: [{ provider: 'g', model: 'models/gemini-2.5-flash' }],
      },
      new: { price: { input: '3', output: '15' }, routes: [{ provider: 'g', model: 'gemini-3.6-flash' }] },
    },
  });
});
beforeEach(async () => {
  caller = await turnpike.makeKey();
  upstream.play(playing(fixture('text.txt')));
  upstream.requests.length = 0;
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
  await turnpike.stop();
  await upstream.close();
});

const post = (members: Json = {}, more: RequestInit = {}) =>
  turnpike.post(
    caller.secret,
    { model: 'flash', max_tokens: 2000, messages: [{ role: 'user', content: 'Hi' }], ...members },
    more,
  );
const sentBody = (index = -1) => JSON.parse(upstream.requests.at(index)?.body ?? '') as Json;
const thinking = { type: 'enabled' as const, budget_tokens: 1024 };

describe('a response', () => {
  // 25 input tokens at 3, 12 output tokens at 15 millionths of a dollar.
  const bill = {
    input_tokens: 25,
    output_tokens: 12,
    cost: '0.000255',
    usage_source: 'reported',
    outcome: 'completed',
  };

  test('that is streamed is billed as reported', async () => {
    const response = await post({ stream: true });
    const events = eventsOf(await response.text());
    expect(events[0]?.json).toMatchObject({ message: { model: 'gemini-2.5-flash', usage: { input_tokens: 25 } } });
    expect(events.map(({ json }) => (json['delta'] as Json | undefined)?.['text'] ?? '').join('')).toBe(
      'The quick — brünette ✓ 🦊',
    );
    expect(events.at(-1)?.name).toBe('message_stop');
    await expectMoney(turnpike, caller, [bill]);
    expect(upstream.requests[0]).toMatchObject({
      path: '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      headers: { 'x-goog-api-key': GEMINI_KEY },
    });
    expect(JSON.stringify(upstream.requests)).not.toContain(caller.secret);
  });

  test('that is not streamed is the same message at the same price', async () => {
    const response = await post();
    expect((await response.json()) as Json).toMatchObject({
      type: 'message',
      content: [{ type: 'text', text: 'The quick — brünette ✓ 🦊' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 25, output_tokens: 12 },
    });
    await expectMoney(turnpike, caller, [bill]);
  });

  test('is billed at the cache rate for cached tokens, and thoughts as output', async () => {
    upstream.play(playing(fixture('tools.txt')));
    await (await post({ stream: true, thinking })).text();
    // 24 × 3 + 16 × 1 + 56 × 15 = 928 millionths
    await expectMoney(turnpike, caller, [
      { input_tokens: 24, cache_read_input_tokens: 16, output_tokens: 56, cost: '0.000928', usage_source: 'reported' },
    ]);
  });

  test('that was refused is a response, and its prompt is billed', async () => {
    upstream.play(playing(fixture('refused.txt')));
    expect((await (await post()).json()) as Json).toMatchObject({ content: [], stop_reason: 'refusal' });
    await expectMoney(turnpike, caller, [{ input_tokens: 9, output_tokens: 0, cost: '0.000027' }]);
  });

  test('that was cut during thinking has the matching stop reason, and the thinking is billed', async () => {
    upstream.play(playing(fixture('thoughts-only.txt')));
    const events = eventsOf(await (await post({ stream: true, thinking })).text());
    expect(events.at(-2)?.json).toMatchObject({ delta: { stop_reason: 'max_tokens' }, usage: { output_tokens: 64 } });
    await expectMoney(turnpike, caller, [{ input_tokens: 9, output_tokens: 64, cost: '0.000987' }]);
  });
});

describe.each(sdks)('with the SDK $name', (sdk) => {
  const weather = {
    name: 'get_weather',
    description: 'The weather of a city',
    input_schema: {
      type: 'object' as const,
      properties: { city: { type: 'string' as const }, id: { type: 'integer' as const } },
      additionalProperties: false,
    },
  };
  const question = { role: 'user' as const, content: 'The weather in Zürich?' };
  const request = { model: 'new', max_tokens: 2000, thinking, tools: [weather], messages: [question] };
  const answerOf = (id: string, content: string, more: object = {}) => ({
    type: 'tool_result' as const,
    tool_use_id: id,
    content,
    ...more,
  });

  async function runDialogue(client: Anthropic, isStreamed: boolean) {
    const ask = (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> =>
      isStreamed
        ? client.messages.stream({ ...request, messages }).finalMessage()
        : client.messages.create({ ...request, messages });
    upstream.play(playing(fixture('tools.txt')), playing(fixture('text.txt')));
    const first = await ask([question]);
    const ids = first.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
    const results = [answerOf(ids[1] as string, 'rain'), answerOf(ids[0] as string, 'no', { is_error: true })];
    const second = await ask([
      question,
      { role: 'assistant', content: first.content },
      { role: 'user', content: results },
    ]);
    return { first, second };
  }

  test.each([true, false])('a dialogue with tools runs over two turns; streamed: %p', async (isStreamed) => {
    const { client } = makeClient(sdk, turnpike.url, caller.secret);
    const { first, second } = await runDialogue(client, isStreamed);
    expect(first.stop_reason).toBe('tool_use');
    expect(first.content.map(({ type }) => type)).toEqual(['thinking', 'text', 'thinking', 'tool_use', 'tool_use']);
    expect(first.content[3]).toMatchObject({ name: 'get_weather', input: { city: 'Zürich', days: [1, 2] } });
    expect(second.content).toMatchObject([{ type: 'text', text: 'The quick — brünette ✓ 🦊' }]);
    // The second turn contains the first one unchanged: the signature on its call, the ids of Gemini, results in
    // order.
    expect((sentBody()['contents'] as Json[]).slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { text: 'Let me look.' },
          {
            functionCall: { name: 'get_weather', args: { city: 'Zürich', id: expect.any(Number), days: [1, 2] } },
            thoughtSignature: 'CpsBAR/+x0aZ==',
          },
          { functionCall: { id: 'fc-2', name: 'get_weather', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'get_weather', response: { error: 'no' } } },
          { functionResponse: { id: 'fc-2', name: 'get_weather', response: { output: 'rain' } } },
        ],
      },
    ]);
    expect(sentBody()['generationConfig']).toMatchObject({ thinkingConfig: { includeThoughts: true } });
    await expectMoney(turnpike, caller, [{ output_tokens: 12 }, { output_tokens: 56 }]);
  });

  test('tokens are counted by the provider, free of charge', async () => {
    const { client } = makeClient(sdk, turnpike.url, caller.secret);
    expect(await client.messages.countTokens({ model: 'flash', messages: [question] })).toEqual({ input_tokens: 31 });
    expect(upstream.requests[0]?.path).toBe('/v1beta/models/gemini-2.5-flash:countTokens');
    await expectMoney(turnpike, caller, []);
  });
});

describe.each([true, false])('with the Vercel AI SDK; thinking: %p', (thinks) => {
  test('a dialogue with tools runs over two turns, and the second turn returns the content of the first', async () => {
    globalThis.AI_SDK_LOG_WARNINGS = false; // the SDK does not know the names of these models
    const anthropic = createAnthropic({ baseURL: `${turnpike.url}/v1`, apiKey: caller.secret });
    const execute = async ({ city }: { city?: string | undefined }) => `${city}: rain`;
    const inputSchema = z.object({ city: z.string().optional() });
    const request = {
      model: anthropic('new'),
      prompt: 'The weather in Zürich?',
      tools: { get_weather: tool({ inputSchema, execute }) },
      stopWhen: stepCountIs(3),
      ...(thinks && { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } } }),
    } as const;
    for (const isStreamed of [true, false]) {
      upstream.play(playing(fixture('tools.txt')), playing(fixture('text.txt')));
      const text = isStreamed ? await streamText(request).text : (await generateText(request)).text;
      expect(text).toBe('The quick — brünette ✓ 🦊');
      expect(sentBody()['contents']).toMatchObject([
        {},
        { parts: [{}, { thoughtSignature: 'CpsBAR/+x0aZ==' }, { functionCall: { id: 'fc-2' } }] },
        {
          parts: [
            { functionResponse: { name: 'get_weather', response: { output: 'Zürich: rain' } } },
            { functionResponse: { id: 'fc-2', name: 'get_weather', response: { output: 'undefined: rain' } } },
          ],
        },
      ]);
    }
  });
});

describe('a failure', () => {
  test.each([
    [400, 'INVALID_ARGUMENT', 'Unable to process input image.', 400, 'invalid_request_error', 'upstream_rejected'],
    [400, 'INVALID_ARGUMENT', `API key not valid: ${GEMINI_KEY}`, 502, 'api_error', 'upstream_credentials'],
    [403, 'PERMISSION_DENIED', `Key ${GEMINI_KEY} is denied.`, 502, 'api_error', 'upstream_credentials'],
    [429, 'RESOURCE_EXHAUSTED', 'Quota.', 429, 'rate_limit_error', 'upstream_rate_limited'],
    [503, 'UNAVAILABLE', 'Overloaded.', 529, 'overloaded_error', 'upstream_overloaded'],
  ])('%d %s "%s" is %d %s, and costs nothing', async (code, status, message, answered, type, name) => {
    upstream.play(failing(code, status, message));
    for (const stream of [true, false]) {
      const userMessage = await expectError(await post({ stream }), answered, type, name);
      expect(userMessage).not.toContain(GEMINI_KEY);
      if (name === 'upstream_rejected') expect(userMessage).toBe(message);
    }
    await expectMoney(turnpike, caller, [{ cost: '0' }, { cost: '0' }]);
  });

  test('of a request that Gemini does not support names its field, and nothing is sent', async () => {
    const url = 'http://127.0.0.1:9/cat.png';
    const image = { type: 'image', source: { type: 'url', url } };
    const response = await post({ messages: [{ role: 'user', content: [image] }] });
    await expectError(
      response,
      400,
      'invalid_request_error',
      'upstream_rejected',
      /^messages\.0\.content\.0\.source\.url: /,
    );
    expect(upstream.requests).toEqual([]);
    await expectMoney(turnpike, caller, [{ cost: '0' }]);
  });

  test('in the middle of a stream is an error event, never a normal end', async () => {
    const [first = ''] = chunksOf(fixture('text.txt'));
    const error = `data: ${JSON.stringify({ error: { code: 503, status: 'UNAVAILABLE', message: 'x' } })}\r\n\r\n`;
    upstream.play(playing(first + error), playing(first));
    await expectErrorEvent(await post({ stream: true }), 'overloaded_error', 'upstream_overloaded');
    await expectErrorEvent(await post({ stream: true }), 'api_error', 'upstream_failed');
    await expectMoney(turnpike, caller, [
      { outcome: 'upstream_cut', input_tokens: 25, usage_source: 'estimated' },
      { outcome: 'upstream_cut', input_tokens: 25, usage_source: 'estimated' },
    ]);
  });

  test('to call a tool is a failure that is final, and not a response', async () => {
    const bad = { candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL', content: {} }], usageMetadata: {} };
    upstream.play(playing(`data: ${JSON.stringify(bad)}\n\n`));
    const response = await post({ stream: true });
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([502, 'false']);
    expect(await response.json()).toMatchObject({ error: { type: 'api_error', code: 'upstream_failed' } });
  });
});

test('a client that disconnects stops Gemini, and pays for the output so far', async () => {
  upstream.play(async (answer) => {
    answer.begin(200, STREAM);
    await answer.write(chunksOf(fixture('text.txt'))[0] as string);
  });
  const controller = new AbortController();
  const response = await post({ stream: true }, { signal: controller.signal });
  await response.body?.getReader().read();
  const before = upstream.abortedCount;
  controller.abort();
  await upstream.aborted(before + 1);
  await expectMoney(turnpike, caller, [{ outcome: 'client_gone', input_tokens: 25, usage_source: 'estimated' }]);
});

test('the credential appears in no list, and its provider can be tested', async () => {
  upstream.play((answer) => answer.send(200, JSON_TYPE, '{"models":[{"name":"models/gemini-2.5-flash"}]}'));
  const result = await turnpike.admin('POST', '/providers/g/test');
  expect(result).toMatchObject({ ok: true, models: 1 });
  expect(JSON.stringify(await turnpike.admin('GET', '/providers'))).not.toContain(GEMINI_KEY);
});
