// Bodies of Responses at the path of Chat Completions: read as at the path of Responses, answered as here.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { convertMessage } from '../../../../src/fronts/chat-completions/convert-message.ts';
import { convertResponsesBody } from '../../../../src/fronts/chat-completions/responses-body.ts';
import { type JsonObject, makeEvent, unfoldMessage } from '../../../../src/wire/wire.ts';
import { readAsMessages as readAtOwnPath } from '../responses/read-response.ts';
import { chunksOf, foldChunks } from './chunks.ts';
import { type Json, readAsMessages, refusalOf, streamWith, user } from './read-as-messages.ts';

const text = (words: string) => ({ type: 'input_text', text: words });
const patch = { type: 'custom', name: 'ApplyPatch', description: 'Edits files.', format: { type: 'grammar' } };
const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false };
const CALL = { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"x":1}' };

const SAME: readonly [what: string, members: Json][] = [
  ['a text', { input: 'Hi' }],
  ['messages with parts', { input: [{ role: 'user', content: [text('Hi')] }], instructions: 'Be brief.' }],
  ['no messages but an empty list', { input: 'Hi', messages: [] }],
  [
    'tools, calls and results',
    {
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' },
        CALL,
        { type: 'function_call_output', call_id: 'a', output: [text('seen')] },
        { type: 'custom_tool_call', call_id: 'b', name: 'ApplyPatch', input: '*** Begin Patch' },
        { type: 'custom_tool_call_output', call_id: 'b', output: 'Done.' },
      ],
      tools: [look, patch],
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: false,
    },
  ],
  [
    'settings',
    {
      input: 'Hi',
      max_output_tokens: 9,
      temperature: 1,
      top_p: 0.5,
      stream: true,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_schema', name: 'f', schema: { type: 'object' } }, verbosity: 'low' },
      include: ['reasoning.encrypted_content'],
      store: false,
      prompt_cache_key: 'k',
      metadata: { a: 'b' },
    },
  ],
];

test.each(SAME)('with %s it is the message that it would be at its own path', (_, members) => {
  const own = Object.fromEntries(Object.entries(members).filter(([name]) => name !== 'messages'));
  expect(readAsMessages({ messages: undefined, ...members })).toEqual(readAtOwnPath(own));
});

const read = (members: Json) => readAsMessages({ messages: undefined, input: 'Hi', ...members });

test('fields and tools in the words of Chat Completions are read, too', () => {
  expect(
    read({
      max_completion_tokens: 7,
      stop: 'END',
      seed: 1,
      store: true,
      stream_options: { include_usage: true },
      tools: [{ type: 'function', function: { name: 'look', parameters: {} } }],
      tool_choice: { type: 'function', function: { name: 'look' } },
    }),
  ).toEqual({
    ...read({ max_output_tokens: 7, tools: [look], tool_choice: { type: 'function', name: 'look' } }),
    stop_sequences: ['END'],
    seed: 1,
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
  });
  expect(read({ max_output_tokens: 7, max_tokens: 9 })['max_tokens']).toBe(7);
});

const chatCall = { id: 'a', type: 'function', function: { name: 'look', arguments: '{"x":1}' } };
const OUTPUT = { type: 'function_call_output', call_id: 'a', output: 'seen' };
const png = 'data:image/png;base64,AAAA';
const pdf = 'data:application/pdf;base64,JVBERi0';

/** Lists of the other protocol under the name of one, and the same conversation in the words of that name. */
const MIXED: readonly [what: string, mixed: Json, plain: Json][] = [
  ['items in `messages`', { messages: [user('go'), CALL, OUTPUT] }, { input: [user('go'), CALL, OUTPUT] }],
  [
    'an item in `messages`, with fields of Responses',
    { messages: [CALL], instructions: 'Be brief.', max_output_tokens: 9, tools: [look] },
    { input: [CALL], instructions: 'Be brief.', max_output_tokens: 9, tools: [look] },
  ],
  [
    'parts of Responses in `messages`',
    {
      messages: [
        user([
          text('go'),
          { type: 'input_image', image_url: png },
          { type: 'input_image', image_url: { url: png } },
          { type: 'input_file', file_data: pdf, filename: 'a.pdf' },
        ]),
        { role: 'assistant', content: [{ type: 'output_text', text: 'So.', annotations: [] }] },
      ],
    },
    {
      messages: [
        user([
          { type: 'text', text: 'go' },
          { type: 'image_url', image_url: { url: png } },
          { type: 'image_url', image_url: { url: png } },
          { type: 'file', file: { file_data: pdf, filename: 'a.pdf' } },
        ]),
        { role: 'assistant', content: 'So.' },
      ],
    },
  ],
  [
    'calls of messages in `input`',
    {
      input: [
        user([text('go')]),
        { role: 'assistant', tool_calls: [chatCall] },
        { role: 'tool', tool_call_id: 'a', content: 'seen' },
      ],
    },
    { input: [user('go'), CALL, OUTPUT] },
  ],
  [
    'a function call of messages in `input`',
    {
      input: [
        user('go'),
        { role: 'assistant', function_call: chatCall.function },
        { role: 'function', name: 'look', content: 'seen' },
      ],
    },
    {
      messages: [
        user('go'),
        { role: 'assistant', function_call: chatCall.function },
        { role: 'function', name: 'look', content: 'seen' },
      ],
    },
  ],
  [
    'blocks of Messages in `input`',
    {
      input: [
        user('go'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: { x: 1 } }] },
        user([{ type: 'tool_result', tool_use_id: 'a', content: 'seen' }]),
      ],
    },
    { input: [user('go'), CALL, OUTPUT] },
  ],
  [
    'images of messages in `input`, with fields of both',
    {
      input: [user([{ type: 'image_url', image_url: { url: png } }])],
      instructions: 'Be brief.',
      max_output_tokens: 9,
    },
    { input: [user([{ type: 'input_image', image_url: png }])], instructions: 'Be brief.', max_output_tokens: 9 },
  ],
  [
    '`instructions` beside messages',
    { messages: [user('Hi')], instructions: 'Be brief.' },
    { messages: [user('Hi')], system: 'Be brief.' },
  ],
  [
    '`max_output_tokens` beside messages',
    { messages: [user('Hi')], max_output_tokens: 9 },
    { messages: [user('Hi')], max_tokens: 9 },
  ],
  [
    '`text.format` beside messages',
    { messages: [user('Hi')], text: { format: { type: 'json_schema', name: 'f', schema: { type: 'object' } } } },
    {
      messages: [user('Hi')],
      response_format: { type: 'json_schema', json_schema: { name: 'f', schema: { type: 'object' } } },
    },
  ],
  ['`system` beside `input`', { input: 'Hi', system: 'Be brief.' }, { input: 'Hi', instructions: 'Be brief.' }],
];

test.each(MIXED)('%s are read', (_, mixed, plain) => {
  expect(readAsMessages({ messages: undefined, ...mixed })).toEqual(readAsMessages({ messages: undefined, ...plain }));
});

test('`system` comes before `instructions`', () => {
  const words = [text('A'), text('B')].map((part) => ({ ...part, type: 'text' }));
  for (const conversation of [{ input: 'Hi' }, { messages: [user('Hi')] }])
    expect(readAsMessages({ messages: undefined, ...conversation, instructions: 'B', system: 'A' })['system']).toEqual(
      words,
    );
});

const grammar = { syntax: 'lark', definition: 'start: patch' };
const nested = {
  type: 'custom',
  custom: { name: 'patch', description: 'Edits.', format: { type: 'grammar', grammar } },
};
const flat = { type: 'custom', name: 'patch', description: 'Edits.', format: { type: 'grammar', ...grammar } };

/** Tools and choices as other protocols write them, and as Responses does. */
const TOOLS: readonly [what: string, given: Json, own: Json][] = [
  ['a tool of Messages', { tools: [{ name: 'look', input_schema: look.parameters }] }, { tools: [look] }],
  [
    'a custom tool with a schema',
    { tools: [{ type: 'custom', name: 'look', input_schema: look.parameters }] },
    { tools: [look] },
  ],
  [
    'a function without a type',
    { tools: [{ function: { name: 'look', parameters: look.parameters } }] },
    { tools: [look] },
  ],
  ['a nested custom tool', { tools: [nested] }, { tools: [flat] }],
  ...['auto', 'any', 'none'].map((type): [string, Json, Json] => [
    `the choice ${type} of Messages`,
    { tools: [look], tool_choice: { type } },
    { tools: [look], tool_choice: type },
  ]),
  [
    'the choice of a tool of Messages',
    { tools: [look], tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true } },
    { tools: [look], tool_choice: { type: 'function', name: 'look' }, parallel_tool_calls: false },
  ],
  [
    'the choice of a nested custom tool',
    { tools: [look, nested], tool_choice: { type: 'custom', custom: { name: 'patch' } } },
    { tools: [look, flat], tool_choice: { type: 'custom', name: 'patch' } },
  ],
  [
    'the nested choice of some',
    {
      tools: [look, nested],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] },
      },
    },
    {
      tools: [look, flat],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
    },
  ],
];

test.each(TOOLS)('%s beside `input` is read', (_, given, own) => {
  expect(read(given)).toEqual(JSON.parse(JSON.stringify(readAtOwnPath({ input: 'Hi', ...own }))));
});

test('calls of a nested custom tool are nested, and those of a flat one are functions', () => {
  const other = { ...flat, name: 'other' };
  const { terms } = convertResponsesBody({ input: 'Hi', tools: [nested, other] } as JsonObject, 'input');
  expect([...terms.customTools]).toEqual([
    ['patch', 'custom'],
    ['other', 'function'],
  ]);
});

test('messages are read where there are both', () => {
  expect(readAsMessages({ input: 'ignored' })).toEqual(readAsMessages({}));
});

test('the text of a custom tool that comes back as the arguments of a function is its input', () => {
  for (const given of ['*** Begin "Patch"', '{"input":"*** Begin \\"Patch\\""}'])
    expect(
      read({
        input: [
          { role: 'user', content: 'go' },
          { ...CALL, name: 'ApplyPatch', arguments: given },
        ],
        tools: [patch],
      })['messages'],
    ).toMatchObject([{}, { content: [{ type: 'tool_use', input: { input: '*** Begin "Patch"' } }] }]);
});

test.each<[path: string, members: Json, code?: string]>([
  ['input', { input: {} }],
  ['input.0.type', { input: [{}] }],
  ['input.0.content.0.input_audio', { input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
  ['tools.0.type', { tools: [{ type: 'mcp' }] }],
  ['tools.0.name', { tools: [{ input_schema: {} }] }],
  ['tools.0', { tools: [1] }],
  ['tool_choice.name', { tools: [look], tool_choice: { type: 'tool' } }],
  ['tool_choice.type', { tools: [look], tool_choice: { type: 'mcp' } }],
  ['previous_response_id', { previous_response_id: 'resp_1' }],
  ['n', { n: 2 }],
  ['response_format', { response_format: { type: 'json_object' } }],
  ['reasoning_effort', { reasoning_effort: 'low' }],
  ['functions', { functions: [{ name: 'f' }] }],
  ['stream_options', { stream_options: 1 }],
  ['stop.0', { stop: [1] }],
  ['system', { system: 1 }],
  ['messages.1.call_id', { input: null, messages: [user('go'), { type: 'function_call', name: 'look' }] }],
  ['input.0.tool_calls.0.function', { input: [{ role: 'assistant', tool_calls: [{ id: 'a' }] }] }],
  ['instructions', { input: null, messages: [user('Hi')], instructions: {} }],
  [
    'messages.0.content.0.file_id',
    { input: null, messages: [user([{ type: 'input_image', file_id: 'a' }])] },
    'feature_unavailable',
  ],
])('%s is named where it is wrong', (path, members, expected = 'invalid_request') => {
  const { code, message } = refusalOf({ messages: undefined, input: 'Hi', ...members });
  expect(code).toBe(expected);
  expect(message).toStartWith(`${path}: `);
});

test('arguments count toward the weight of the body', () => {
  const costly = `[${'[],'.repeat(bounds.jsonValuesMax)}[]]`;
  const item = { ...CALL, arguments: costly };
  const message = { role: 'assistant', tool_calls: [{ ...chatCall, function: { name: 'look', arguments: costly } }] };
  for (const name of ['input', 'messages'])
    for (const [element, path] of [
      [item, 'arguments'],
      [message, 'tool_calls.0.function.arguments'],
    ] as const)
      expect(refusalOf({ messages: undefined, [name]: [element] }).message).toStartWith(`${name}.0.${path}: `);
  expect(refusalOf({ messages: undefined, extra_body: { input: [item] } }).message).toStartWith('input.0.arguments: ');
});

describe('an answer', () => {
  const { terms } = convertResponsesBody(
    {
      model: 'm',
      input: 'Hi',
      tools: [patch, look],
      stream_options: { include_usage: true },
    } as JsonObject,
    'input',
  );
  const words = '*** Begin "Patch"\n+é';
  const message = {
    id: 'msg_1',
    model: 'm',
    content: [
      { type: 'text', text: 'So.' },
      { type: 'tool_use', id: 'a', name: 'ApplyPatch', input: { input: words } },
      { type: 'tool_use', id: 'b', name: 'look', input: { x: 1 } },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 1, output_tokens: 2 },
  };
  const calls = [
    { id: 'a', type: 'function', function: { name: 'ApplyPatch', arguments: words } },
    { id: 'b', type: 'function', function: { name: 'look', arguments: '{"x":1}' } },
  ];
  const stream = () => unfoldMessage(message as JsonObject);

  test('has the text of a custom tool as the arguments of a function, whole and streamed', () => {
    const { choices } = JSON.parse(convertMessage(message as JsonObject, terms, 0)) as { choices: Json[] };
    expect(choices[0]?.['message']).toMatchObject({ content: 'So.', tool_calls: calls });
    const written = streamWith(terms).take(stream());
    expect(written).toEndWith('data: [DONE]\n\n');
    expect(foldChunks(chunksOf(written))['message']).toMatchObject({ content: 'So.', tool_calls: calls });
  });

  test('ends with an error where the text of a custom tool is too long to be kept', () => {
    const writer = streamWith(terms);
    const block = { type: 'tool_use', id: 'a', name: 'ApplyPatch', input: {} };
    writer.take([makeEvent({ type: 'content_block_start', index: 0, content_block: block })]);
    const partial_json = 'x'.repeat(bounds.responseOutputCharactersMax + 1);
    const delta = { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } };
    expect(writer.take([makeEvent(delta)])).toContain('"code":"upstream_failed"');
    expect(writer.take(stream())).toBe('');
  });
});
