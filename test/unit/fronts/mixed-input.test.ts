// Items of Responses and messages of Chat Completions in one list, at the paths of both: each is read by its own shape.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readAsMessages as readChat, refusalOf as refusalOfChat } from './chat-completions/read-as-messages.ts';
import { type Json, readAsMessages, refusalOf, translate } from './responses/read-response.ts';

const png = 'data:image/png;base64,AAAA';
const pdf = 'data:application/pdf;base64,JVBERi0';
const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
const patch = { type: 'custom', name: 'patch' };
const tools = [look, patch];

interface Turn {
  item: Json;
  /** The same in Chat Completions. */
  message: Json;
}

const say = (role: string, item: object, message: object): Turn => ({
  item: { role, content: [item] },
  message: { role, content: [message] },
});

const call = (id: string): Turn => ({
  item: { type: 'function_call', call_id: id, name: 'look', arguments: '{"x":1}' },
  message: {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{"x":1}' } }],
  },
});
const edit = (id: string): Turn => ({
  item: { type: 'custom_tool_call', call_id: id, name: 'patch', input: '*** Begin' },
  message: { role: 'assistant', tool_calls: [{ id, type: 'custom', custom: { name: 'patch', input: '*** Begin' } }] },
});
const result = (id: string): Turn => ({
  item: { type: 'function_call_output', call_id: id, output: [{ type: 'input_text', text: 'seen' }] },
  message: { role: 'tool', tool_call_id: id, content: [{ type: 'text', text: 'seen' }] },
});

const TURNS: readonly Turn[] = [
  say('user', { type: 'input_text', text: 'go' }, { type: 'text', text: 'go' }),
  say('user', { type: 'input_image', image_url: png }, { type: 'image_url', image_url: { url: png } }),
  say('user', { type: 'input_file', file_data: pdf }, { type: 'file', file: { file_data: pdf } }),
  say('assistant', { type: 'output_text', text: 'So.' }, { type: 'text', text: 'So.' }),
  say('developer', { type: 'input_text', text: 'Be brief.' }, { type: 'text', text: 'Be brief.' }),
  call('a'),
  edit('b'),
  result('a'),
  result('b'),
];

const conversation = fc.array(fc.tuple(fc.constantFrom(...TURNS), fc.boolean()), { minLength: 1, maxLength: 8 });

test('a list of both is the conversation of a list of items, whichever elements are messages', () => {
  fc.assert(
    fc.property(conversation, (turns) => {
      const items = turns.map(([{ item }]) => item);
      const mixed = turns.map(([{ item, message }, isMessage]) => (isMessage ? message : item));
      const expected = readAsMessages({ input: items, tools });
      expect(readAsMessages({ input: mixed, tools })).toEqual(expected);
      // At the path of Chat Completions, a list without items is one of messages, which are not joined.
      if (!mixed.some((element) => !('role' in element))) return;
      for (const name of ['input', 'messages'])
        expect(readChat({ messages: undefined, [name]: mixed, tools })).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

const chatCall = call('a').message;

describe('messages among items', () => {
  test('have the thinking and the blocks of Messages that clients return', () => {
    const { messages } = readAsMessages({
      input: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          reasoning_content: 'Hm.',
          content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }],
        },
        { type: 'function_call_output', call_id: 'a', output: 'seen' },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'again' }] },
      ],
      tools,
    });
    expect(messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'Hm.' },
          { type: 'tool_use', id: 'a' },
        ],
      },
      { content: [{ type: 'tool_result' }, { type: 'tool_result', content: 'again' }] },
    ]);
  });

  test('call tools of a namespace by their names in the message', () => {
    const namespace = { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'wait' }] };
    const calls = [{ id: 'a', type: 'function', function: { name: 'agents__wait', arguments: '{}' } }];
    const input = [
      { role: 'user', content: 'go' },
      { role: 'assistant', tool_calls: calls },
    ];
    expect(readAsMessages({ input, tools: [namespace] })['messages']).toMatchObject([
      {},
      { content: [{ name: 'agents__wait' }] },
    ]);
  });

  test.each([
    ['a call', chatCall],
    ['a result', result('a').message],
    ['a text part', { role: 'user', content: [{ type: 'text', text: 'go' }] }],
    ['an image', { role: 'user', content: [{ type: 'image_url', image_url: { url: png } }] }],
    ['the URL of an image as an object', { role: 'user', content: [{ type: 'input_image', image_url: { url: png } }] }],
    ['a result of text parts', { type: 'function_call_output', call_id: 'a', output: [{ type: 'text', text: 'go' }] }],
    ['arguments as an object', { type: 'function_call', call_id: 'a', name: 'look', arguments: {} }],
  ])('reach a provider of Responses as the translation: %s', (_, element) => {
    expect(
      translate({ model: 'm', input: ['Hi', 'there'].map((content) => ({ role: 'user', content })) }).native,
    ).toBeTruthy();
    expect(translate({ model: 'm', input: [{ role: 'user', content: 'Hi' }, element] }).native).toBeNull();
  });

  test('items that only Responses has go to a provider of Responses as they are', () => {
    const input = [
      { type: 'reasoning', encrypted_content: 'gAAA', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: { query: 'files' } },
      { type: 'tool_search_output', call_id: 's', execution: 'client', tools: [] },
    ];
    expect(translate({ model: 'm', input }).native?.text).toContain('reasoning_text');
  });
});

test.each<[path: string, element: unknown]>([
  ['input.1', 'Hi'],
  ['input.1', []],
  ['input.1.type', {}],
  ['input.1.type', { content: 'Hi' }],
  ['input.1.type', { type: 7 }],
  ['input.1.type', { type: 'text', text: 'Hi' }],
  ['input.1.role', { role: 'model', content: 'Hi' }],
  ['input.1.role', { type: 'message', content: 'Hi' }],
  ['input.1.content', { role: 'user' }],
  ['input.1.content', { role: 'user', content: 7 }],
  ['input.1.content.0', { role: 'user', content: ['Hi'] }],
  ['input.1.content.0.type', { role: 'user', content: [{ type: 'video_url' }] }],
  ['input.1.content.0.image_url.url', { role: 'user', content: [{ type: 'image_url', image_url: { url: 7 } }] }],
  ['input.1.tool_call_id', { role: 'tool', content: 'seen' }],
  ['input.1.tool_calls', { role: 'assistant', tool_calls: {} }],
  ['input.1.tool_calls.0.id', { role: 'assistant', tool_calls: [{ function: { name: 'look' } }] }],
  ['input.1.tool_calls.0.function.name', { role: 'assistant', tool_calls: [{ id: 'a', function: {} }] }],
  ['input.1.call_id', { type: 'function_call_output', output: 'seen' }],
])('%s is named for what is neither, or wrong: %j', (path, element) => {
  const input = [call('z').item, element];
  expect(refusalOf({ input }).message).toStartWith(`${path}: `);
  expect(refusalOfChat({ messages: undefined, input }).message).toStartWith(`${path}: `);
});
