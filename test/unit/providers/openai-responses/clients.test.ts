// Clients that are unaware of the provider behind the service: one with its own strict schemas, and a coding agent
// with long requests full of vendor-specific fields.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { eventsOf, expectMoney } from '../../../contract/post-messages/world.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../../../support/start-turnpike.ts';
import { answering, called, messageItem, thought } from './scripted-responses.ts';

let upstream: ScriptedUpstream;
let turnpike: Turnpike;
beforeAll(async () => {
  globalThis.AI_SDK_LOG_WARNINGS = false; // the SDK does not know the name of this model, and logs that each time
  upstream = await startScriptedUpstream(answering(messageItem('Hello.')));
  const provider = { kind: 'openai-responses', base_url: upstream.url, api_key: 'sk-theirs', private_network: true };
  turnpike = await startTurnpike({
    providers: { openai: provider },
    models: { gpt: { price: { input: '3', output: '15' }, routes: [{ provider: 'openai' }] } },
  });
});
beforeEach(() => {
  upstream.requests.length = 0;
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  await turnpike.stop();
  await upstream.close();
});

const sent = (): JsonObject => JSON.parse(upstream.requests.at(-1)?.body ?? '{}');

test.each(['streamed', 'whole'])('the Vercel AI SDK calls tools and sends the reasoning back, %s', async (way) => {
  const reasoning = thought('rs_1', 'It asks.');
  upstream.play(answering(reasoning, called('call_1', 'weather', { city: 'Zürich' })), answering(messageItem('Sun.')));
  const { secret } = await turnpike.makeKey();
  const anthropic = createAnthropic({ baseURL: `${turnpike.url}/v1`, apiKey: secret });
  const weather = tool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => `${city}: sun` });
  const request = {
    model: anthropic('gpt'),
    prompt: 'What weather?',
    maxOutputTokens: 500,
    tools: { weather },
    stopWhen: stepCountIs(3),
    providerOptions: { anthropic: { thinking: { type: 'enabled' as const, budgetTokens: 1024 } } },
  };
  const { text, steps } =
    way === 'whole'
      ? await generateText(request)
      : await (async () => {
          const streaming = streamText(request);
          return { text: await streaming.text, steps: await streaming.steps };
        })();
  expect(text).toBe('Sun.');
  expect(steps[0]).toMatchObject({ reasoningText: 'It asks.', usage: { outputTokens: 40 } });
  expect(sent()['input']).toMatchObject([
    { role: 'user' },
    reasoning,
    { type: 'function_call', call_id: 'call_1', arguments: '{"city":"Zürich"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'Zürich: sun' },
  ]);
});

test('a coding agent is served, and fields specific to its vendor are not forwarded', async () => {
  upstream.play(answering(thought('rs_2', 'Now.'), called('call_2', 'Bash', { command: 'ls' })));
  const caller = await turnpike.makeKey({ credit: '100' });
  const response = await turnpike.post(caller.secret, AGENT_BODY, {
    headers: { 'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14' },
  });
  const events = eventsOf(await response.text());
  expect(events.at(0)?.json).toMatchObject({ message: { usage: { input_tokens: expect.any(Number) } } });
  expect(events.at(-2)?.json).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  const started = events.filter(({ name }) => name === 'content_block_start').map(({ json }) => json['content_block']);
  expect(started).toMatchObject([{ type: 'thinking' }, { type: 'tool_use', name: 'Bash', input: {} }]);
  expect(sent()).toEqual({
    model: 'gpt',
    instructions: 'You are an agent.',
    input: [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: '<system-reminder>Friday.</system-reminder>' },
          { type: 'input_text', text: 'Fix it.' },
        ],
      },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Working directory: /' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', call_id: 'toolu_1', name: 'Bash', arguments: '{"command":"pwd"}' },
      { type: 'function_call_output', call_id: 'toolu_1', output: '/' },
    ],
    tools: [
      {
        type: 'function',
        name: 'Bash',
        parameters: { type: 'object', properties: { command: { type: 'string' } } },
        strict: false,
      },
    ],
    reasoning: { effort: 'medium' },
    include: ['reasoning.encrypted_content'],
    max_output_tokens: 64000,
    store: false,
    stream: true,
  } as never);
  await expectMoney(turnpike, caller, [{ outcome: 'completed', usage_source: 'reported', output_tokens: 40 }], '100');
});

const CACHED = { cache_control: { type: 'ephemeral' } };
const AGENT_BODY = {
  model: 'gpt',
  max_tokens: 64000,
  stream: true,
  system: [
    { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli;' },
    { type: 'text', text: 'You are an agent.', ...CACHED },
  ],
  tools: [
    {
      name: 'Bash',
      input_schema: { type: 'object', properties: { command: { type: 'string' } } },
      defer_loading: true,
      eager_input_streaming: true,
      ...CACHED,
    },
  ],
  thinking: { type: 'adaptive', display: 'omitted' },
  output_config: { effort: 'medium' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  metadata: { user_id: '{"device_id":"0","session_id":"1"}' },
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: '<system-reminder>Friday.</system-reminder>' },
        { type: 'text', text: 'Fix it.', ...CACHED },
      ],
    },
    { role: 'system', content: [{ type: 'text', text: 'Working directory: /' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Of another provider.', signature: 'EqQBCgIYAhIM' },
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'pwd' }, ...CACHED },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '/', ...CACHED }] },
  ],
};
