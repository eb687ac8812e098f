// Custom tools, whose input is a text: as OpenAI documents them here, and as Cursor writes them, in the form of Responses.

import { expect, test } from 'bun:test';
import { convertMessage } from '../../../../src/fronts/chat-completions/convert-message.ts';
import { type JsonObject, unfoldMessage } from '../../../../src/wire/wire.ts';
import { type Chunk, chunksOf } from './chunks.ts';
import { type Json, readAsMessages, streamWith, termsOf, user } from './read-as-messages.ts';

const words = '*** Begin "Patch"\n+é';
const grammar = { syntax: 'lark', definition: 'start: patch' };
const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };

/** Each way to write the tool, with its calls in an answer. */
const FORMS: readonly [form: string, tool: Json, call: Json][] = [
  [
    'nested',
    { type: 'custom', custom: { name: 'patch', description: 'Edits.', format: { type: 'grammar', grammar } } },
    { type: 'custom', custom: { name: 'patch', input: words } },
  ],
  [
    'flat',
    { type: 'custom', name: 'patch', description: 'Edits.', format: { type: 'grammar', ...grammar } },
    { type: 'function', function: { name: 'patch', arguments: words } },
  ],
];

test.each(FORMS)('a %s one is a tool with one text, beside functions', (_, tool, call) => {
  const calls = { role: 'assistant', content: null, tool_calls: [{ id: 'a', ...call }] };
  const request = readAsMessages({
    tools: [look, tool],
    tool_choice: { type: 'custom', custom: { name: 'patch' } },
    messages: [user('go'), calls, { role: 'tool', tool_call_id: 'a', content: 'Done.' }],
  });
  expect(request).toMatchObject({
    tools: [
      { name: 'look' },
      {
        name: 'patch',
        description: 'Edits.\n\nThe input must match this lark grammar:\nstart: patch',
        input_schema: { properties: { input: { type: 'string' } }, required: ['input'] },
      },
    ],
    tool_choice: { type: 'tool', name: 'patch' },
    messages: [{}, { content: [{ type: 'tool_use', id: 'a', name: 'patch', input: { input: words } }] }, {}],
  });
});

test.each(FORMS)('a call of a %s one has its text, whole and streamed', (_, tool, call) => {
  const terms = termsOf({ tools: [look, tool], stream: true });
  const use = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input });
  const content = [use('a', 'patch', { input: words }), use('b', 'look', { x: 1 })];
  const message = { id: 'msg_1', model: 'm', content, stop_reason: 'tool_use', usage: {} };
  const calls = [
    { id: 'a', ...call },
    { id: 'b', type: 'function', function: { name: 'look', arguments: '{"x":1}' } },
  ];
  const { choices } = JSON.parse(convertMessage(message as JsonObject, terms, 0));
  expect(choices[0].message.tool_calls).toEqual(calls);
  expect(callsIn(chunksOf(streamWith(terms).take(unfoldMessage(message as JsonObject))))).toEqual(calls);
});

/** The calls that the chunks add up to, as OpenAI's SDK adds them: texts of a member are joined. */
function callsIn(chunks: readonly Chunk[]): Json[] {
  const calls: Record<string, Json>[] = [];
  for (const { choices } of chunks)
    for (const { index, ...piece } of (choices[0]?.delta['tool_calls'] ?? []) as ({ index: number } & Json)[]) {
      const begun = calls[index];
      if (begun === undefined) calls[index] = piece as Record<string, Json>;
      else
        for (const [form, { name: _, ...texts }] of Object.entries(piece as Record<string, Json>))
          for (const [name, text] of Object.entries(texts)) (begun[form] as Json)[name] += text as string;
    }
  return calls;
}
