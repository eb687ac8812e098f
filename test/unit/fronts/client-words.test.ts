// Errors name fields and values of the client's own protocol, by front and refused feature: those that the fronts refuse, those
// that a kind of provider refuses, and those of a provider of the Messages protocol.

import { describe, expect, test } from 'bun:test';
import { TurnpikeError } from '../../../src/errors.ts';
import { chatCompletions } from '../../../src/fronts/chat-completions/chat-completions.ts';
import type { Front, Translated } from '../../../src/fronts/front.ts';
import { gemini } from '../../../src/fronts/gemini/gemini.ts';
import { withClientPaths } from '../../../src/fronts/origins.ts';
import { responses } from '../../../src/fronts/responses/responses.ts';
import { refusalError } from '../../../src/gateway/message-errors.ts';
import { kinds } from '../providers/conformance/drivers.ts';
import { ask, attemptOf, json } from '../providers/conformance/exchange.ts';
import { replyOf, text } from '../providers/conformance/model-reply.ts';
import { translateBytes } from './translate-bytes.ts';

type Json = Record<string, unknown>;

interface Case {
  front: Front;
  /** Names that only this protocol has. */
  own: readonly string[];
  plain: Json;
  /** Requests that are refused somewhere. */
  refused: Readonly<Record<string, Json>>;
}

const CHAT_CALL = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
const RESPONSES_CALL = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const hi = { role: 'user', content: 'Hi' };
const says = { role: 'user', parts: [{ text: 'Hi' }] };

const CASES: readonly Case[] = [
  {
    front: chatCompletions,
    own: ['max_completion_tokens', 'tool_calls', 'tool_call_id', 'response_format', 'reasoning_effort'],
    plain: { messages: [hi] },
    refused: {
      'a tier': { service_tier: 'flex' },
      'a tier of Messages': { service_tier: 'standard_only' },
      'a call without a result': { messages: [hi, { role: 'assistant', tool_calls: [CHAT_CALL] }, hi] },
      'a result without a call': { messages: [hi, { role: 'tool', tool_call_id: 'x', content: '' }] },
      'a last turn of the assistant': { messages: [hi, { role: 'assistant', content: 'So' }] },
      'too many stops': { stop: Array.from({ length: 99 }, (_, place) => `s${place}`) },
      'no output': { max_completion_tokens: 0 },
      'a negative limit': { max_tokens: -7 },
      'an unknown format': { response_format: { type: 'x' } },
      'an unknown effort': { reasoning_effort: 'x' },
      'a wrong temperature': { temperature: 'x' },
      'a tool without a name': { tools: [{ type: 'function', function: {} }] },
      'a forced tool': { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: 'required' },
      'a local image': {
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'file:///a' } }] }],
      },
    },
  },
  {
    front: responses,
    own: ['max_output_tokens', 'function_call', 'function_call_output', 'text.format', 'reasoning.effort'],
    plain: { input: 'Hi' },
    refused: {
      'a tier': { service_tier: 'flex' },
      'a tier of Messages': { service_tier: 'standard_only' },
      'a call without a result': { input: [hi, RESPONSES_CALL, hi] },
      'a result without a call': { input: [hi, { type: 'function_call_output', call_id: 'x', output: '' }] },
      'a last turn of the assistant': { input: [hi, { role: 'assistant', content: 'So' }] },
      'no output': { max_output_tokens: 0 },
      'a negative limit': { max_output_tokens: -7 },
      'an unknown format': { text: { format: { type: 'x' } } },
      'an unknown effort': { reasoning: { effort: 'x' } },
      'a wrong temperature': { temperature: 'x' },
      'a tool without a name': { tools: [{ type: 'function' }] },
      'a forced tool': { tools: [{ type: 'function', name: 'f' }], tool_choice: 'required' },
      'a local image': { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'file:///a' }] }] },
    },
  },
  {
    front: gemini,
    own: [
      'generationConfig',
      'maxOutputTokens',
      'functionCall',
      'functionResponse',
      'thinkingConfig',
      'responseSchema',
    ],
    plain: { contents: [says] },
    refused: {
      'a tier': { serviceTier: 'flex' },
      'a call without a result': {
        contents: [says, { role: 'model', parts: [{ functionCall: { name: 'f' } }] }, says],
      },
      'a result without a call': { contents: [says, { role: 'user', parts: [{ functionResponse: { name: 'f' } }] }] },
      'a last turn of the assistant': { contents: [says, { role: 'model', parts: [{ text: 'So' }] }] },
      'too many stops': { generationConfig: { stopSequences: Array.from({ length: 99 }, (_, place) => `s${place}`) } },
      'a negative limit': { generationConfig: { maxOutputTokens: -7 } },
      'an unknown format': { generationConfig: { responseMimeType: 'x' } },
      'an unknown effort': { generationConfig: { thinkingConfig: { thinkingLevel: 'x' } } },
      'a wrong temperature': { generationConfig: { temperature: 'x' } },
      'a tool without a name': { tools: [{ functionDeclarations: [{}] }] },
      'a forced tool': {
        tools: [{ functionDeclarations: [{ name: 'f' }] }],
        toolConfig: { functionCallingConfig: { mode: 'ANY' } },
      },
      'a local image': { contents: [{ parts: [{ fileData: { mimeType: 'image/png', fileUri: 'file:///a' } }] }] },
    },
  },
];
/** Names of the Messages protocol that no other protocol has. */
const MESSAGES = [
  'tool_use',
  'tool_use_id',
  'tool_result',
  'input_schema',
  'stop_sequences',
  'budget_tokens',
  'output_config',
  'standard_only',
  'x.document',
  'x.image',
];
/** The limit of output is `max_tokens` in two protocols. */
const LIMIT = 'max_tokens';

/** Sentences of the service, and of a provider of Messages (https://platform.claude.com/docs/en/api/errors). */
const SENTENCES = [
  'max_tokens: must be greater than `thinking.budget_tokens`',
  'thinking.budget_tokens: Input should be greater than or equal to 1024',
  'messages.0: `tool_use` ids were found without `tool_result` blocks immediately after: c. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
  'messages.0: unexpected `tool_use_id` found in `tool_result` blocks: c.',
  'messages.0: all messages must have non-empty content except for the optional final assistant message',
  'JSON schema is invalid: see `input_schema`',
  'stop_sequences: each of `stop_sequences` must contain non-whitespace',
  'input length and `max_tokens` exceed context limit: 7 + 8 > 10, decrease input length or `max_tokens` and try again',
  'output_config.format: Extra inputs are not permitted: `output_config.format`',
  '`max_tokens` must be greater than `thinking.budget_tokens`.',
];

function read({ front, plain }: Case, members: Json): Translated {
  const bytes = new TextEncoder().encode(JSON.stringify({ model: 'm', ...plain, ...members }));
  return translateBytes(front, bytes, { operation: { asks: 'message', model: 'm', stream: false } });
}

/** The words of other protocols in a message. */
function foreignWords({ front, own }: Case, message: string): string[] {
  const names = new Set(message.match(/[A-Za-z]+(?:[._][A-Za-z]+)*/g) ?? []);
  const limit = front === chatCompletions ? [] : [LIMIT];
  const others = [...MESSAGES, ...limit, ...CASES.flatMap((one) => (one.front === front ? [] : one.own))];
  return others.filter(
    (name) => !own.includes(name) && [...names].some((one) => one.split('.').includes(name) || one === name),
  );
}

/** The messages of a request, by each kind of provider that refuses it; or of the front itself. */
async function refusalsOf(one: Case, members: Json): Promise<string[]> {
  let translated: Translated;
  try {
    translated = read(one, members);
  } catch (thrown) {
    if (!(thrown instanceof TurnpikeError)) throw thrown;
    return [thrown.message];
  }
  const { message, answer } = translated;
  const found: string[] = [];
  for (const driver of kinds) {
    try {
      const body = JSON.stringify({ max_tokens: 64, ...message });
      const attempt = attemptOf(driver, body);
      const maxTokens = typeof message['max_tokens'] === 'number' ? message['max_tokens'] : 64;
      const { fault } = await ask(driver, { ...attempt, maxTokens }, () => json(driver.whole(replyOf([text('.')]))));
      if (fault !== null)
        found.push(withClientPaths(new TurnpikeError('upstream_rejected', fault.message), answer.origins).message);
    } catch (thrown) {
      if (!(thrown instanceof TurnpikeError)) throw thrown;
      found.push(withClientPaths(thrown, answer.origins).message);
    }
  }
  return found;
}

describe.each(CASES.map((one) => [one.front.protocol, one] as const))('%s', (_, one) => {
  test.each(Object.entries(one.refused))('%s', async (_name, members) => {
    for (const message of await refusalsOf(one, members))
      expect([message, foreignWords(one, message)]).toEqual([message, []]);
  });

  test('sentences', () => {
    const { answer } = read(one, {});
    // One protocol has no stop sequences.
    const reachable = SENTENCES.filter((sentence) => one.front !== responses || !sentence.startsWith('stop_sequences'));
    for (const sentence of reachable) {
      const { message } = withClientPaths(new TurnpikeError('upstream_rejected', sentence), answer.origins);
      expect([message, foreignWords(one, message)]).toEqual([message, []]);
    }
  });

  test('the limit of output that would fit the balance', () => {
    const refusal = {
      reason: 'insufficient',
      meter: 'wallet',
      window: null,
      available: 1,
      behindHolds: false,
      retryAtMs: null,
      ofKey: false,
    };
    const context = { nowMs: 0, amount: 2, isLeast: false, headers: {}, maxTokensThatFit: 5 };
    const { message } = withClientPaths(refusalError(refusal as never, context), read(one, {}).answer.origins);
    expect(message).toEndWith(
      `, or send ${{ 'chat-completions': 'max_tokens', responses: 'max_output_tokens', gemini: 'generationConfig.maxOutputTokens' }[one.front.protocol as string]} of at most 5.`,
    );
    expect(foreignWords(one, message)).toEqual([]);
  });
});

test('words of another protocol are found', () => {
  const [chat] = CASES as [Case];
  expect(foreignWords(chat, 'messages.1: `tool_use` ids, and max_output_tokens')).toEqual([
    'tool_use',
    'max_output_tokens',
  ]);
});
