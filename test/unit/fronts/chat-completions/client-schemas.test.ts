// Every member of answers and chunks has a type that the strict clients of this protocol accept: the types of the SDKs of
// OpenAI (openai 6.49) and OpenRouter (@openrouter/sdk 1.3.19), where both have the member. Members of neither are for other clients.

import { expect, test } from 'bun:test';
import { z } from 'zod';
import { convertMessage } from '../../../../src/fronts/chat-completions/convert-message.ts';
import { type JsonObject, unfoldMessage } from '../../../../src/wire/wire.ts';
import { chunksOf } from './chunks.ts';
import { streamWith, termsOf } from './read-as-messages.ts';

const usage = z.strictObject({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.strictObject({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
  completion_tokens_details: z.strictObject({ reasoning_tokens: z.int() }).optional(),
});
const details = z.array(
  z.union([
    z.strictObject({
      type: z.literal('reasoning.text'),
      text: z.string(),
      signature: z.string().optional(),
      index: z.int(),
    }),
    z.strictObject({ type: z.literal('reasoning.encrypted'), data: z.string(), index: z.int() }),
  ]),
);
const extra_content = z.strictObject({ google: z.strictObject({ thought_signature: z.string() }) }).optional();
const finish = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);
const called = z.strictObject({ name: z.string(), arguments: z.string() });
const shared = { id: z.string(), created: z.int(), model: z.string(), system_fingerprint: z.string() };

const whole = z.strictObject({
  ...shared,
  object: z.literal('chat.completion'),
  usage,
  choices: z
    .array(
      z.strictObject({
        index: z.int(),
        logprobs: z.null(),
        finish_reason: finish,
        message: z.strictObject({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          refusal: z.null(),
          reasoning_content: z.string().optional(),
          reasoning_details: details.optional(),
          tool_calls: z
            .array(z.strictObject({ id: z.string(), type: z.literal('function'), function: called, extra_content }))
            .optional(),
          function_call: called.optional(),
        }),
      }),
    )
    .length(1),
});
const chunk = z.strictObject({
  ...shared,
  object: z.literal('chat.completion.chunk'),
  usage: usage.optional(), // OpenRouter's takes no null
  choices: z.array(
    z.strictObject({
      index: z.int(),
      logprobs: z.null(),
      finish_reason: finish.nullable(),
      delta: z.strictObject({
        role: z.literal('assistant').optional(),
        content: z.string().optional(),
        reasoning_content: z.string().optional(),
        reasoning_details: details.optional(),
        tool_calls: z
          .array(
            z.strictObject({
              index: z.int(),
              id: z.string().optional(),
              type: z.literal('function').optional(),
              function: called.partial(),
              extra_content,
            }),
          )
          .optional(),
        function_call: called.partial().optional(),
      }),
    }),
  ),
});

const blocks: JsonObject[] = [
  { type: 'text', text: 'Good morning!' },
  { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
  { type: 'redacted_thinking', data: 'c2VhbA==' },
  { type: 'thinking', thinking: '', signature: 'gemini.call.c2ln' },
  { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} },
  { type: 'tool_use', id: 'toolu_2', name: 'weather', input: { at: 'Köln' } },
];
const requests = [
  {},
  { stream_options: { include_usage: true } },
  { stream_options: { include_usage: false } },
  { functions: [{ name: 'now' }] },
];
const reasons = ['end_turn', 'max_tokens', 'tool_use', 'refusal', 'model_context_window_exceeded', 'pause_turn', null];
/** All sequences that leave blocks out. */
const contents = Array.from({ length: 2 ** blocks.length }, (_, set) => blocks.filter((__, at) => (set >> at) & 1));

test.each(requests)('answers and chunks for %j', (members) => {
  const terms = termsOf({ stream: true, ...members });
  for (const content of contents)
    for (const stop_reason of reasons) {
      const thinking = content.length % 2 === 0 ? { output_tokens_details: { thinking_tokens: 1 } } : {};
      const counts = { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3, ...thinking };
      const message = {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content,
        stop_reason,
        usage: counts,
      };
      whole.parse(JSON.parse(convertMessage(message as JsonObject, terms, 0)));
      const chunks = chunksOf(streamWith(terms).take(unfoldMessage(message as JsonObject)));
      expect(chunks.length).toBeGreaterThan(1);
      for (const one of chunks) chunk.parse(one);
    }
});
