// Translation of the messages of a request: roles, order, calls and results.

import { describe, expect, test } from 'bun:test';
import { messagesOf, readAsMessages, user } from './read-as-messages.ts';

const system = (content: unknown) => ({ role: 'system', content });
const assistant = (content: unknown, more = {}) => ({ role: 'assistant', content, ...more });
const text = (words: string) => ({ type: 'text', text: words });
const call = (id: string, args: unknown, name = 'f') => ({ id, type: 'function', function: { name, arguments: args } });
const result = (tool_call_id: string, content: unknown) => ({ role: 'tool', tool_call_id, content });

describe('a system message', () => {
  test('at the beginning becomes the system prompt, under either role name', () => {
    const request = readAsMessages({
      messages: [system('One.'), { role: 'developer', content: [text('Two.'), text('')] }, user('Hi')],
    });
    expect(request['system']).toEqual([text('One.'), text('Two.')]);
    expect(request['messages']).toEqual([{ role: 'user', content: [text('Hi')] }]);
  });

  test('later in the conversation follows the user’s text, if the Messages protocol accepts it there', () => {
    const later = messagesOf([user('a'), assistant('b'), system('Be brief.'), user('c'), assistant('d'), user('e')]);
    expect(later).toEqual([
      { role: 'user', content: [text('a')] },
      { role: 'assistant', content: [text('b')] },
      { role: 'user', content: [text('c')] },
      { role: 'system', content: [text('Be brief.')] },
      { role: 'assistant', content: [text('d')] },
      { role: 'user', content: [text('e')] },
    ]);
  });

  test('without a user message before it becomes a reminder in a user message', () => {
    expect(messagesOf([user('a'), assistant('b'), system('Go on.')]).at(-1)).toEqual({
      role: 'user',
      content: [text('<system-reminder>\nGo on.\n</system-reminder>')],
    });
  });

  test('that is the only message becomes the user message', () => {
    const request = readAsMessages({ messages: [system('Be brief.'), system('Say hello.')] });
    expect(request).toMatchObject({
      system: [text('Be brief.')],
      messages: [{ role: 'user', content: [text('Say hello.')] }],
    });
  });
});

describe('a user message', () => {
  test('has images as data or by address, none of which is fetched', () => {
    const url = 'https://example.org/cat.png';
    const content = [
      text('Which?'),
      { type: 'image_url', image_url: { url: 'data:image/jpg;base64,AAAA', detail: 'high' } },
      { type: 'image_url', image_url: { url } },
      { type: 'image_url', image_url: url },
    ];
    expect(messagesOf([user(content)])[0]?.['content']).toEqual([
      text('Which?'),
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' } },
      { type: 'image', source: { type: 'url', url } },
      { type: 'image', source: { type: 'url', url } },
    ]);
  });

  test('has files: PDFs as data or by address, and texts', () => {
    const file = (file_data: string) => ({ type: 'file', file: { filename: 'a.pdf', file_data } });
    const words = Buffer.from('Grüße').toString('base64');
    const content = [
      file('data:application/pdf;base64,JVBERg=='),
      file('https://example.org/a.pdf'),
      { type: 'file', file: { file_data: 'JVBERi0=' } },
      { type: 'file', file: { file_data: `data:text/markdown;charset=utf-8;base64,${words}` } },
    ];
    expect(messagesOf([user(content)])[0]?.['content']).toEqual([
      { type: 'document', title: 'a.pdf', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' } },
      { type: 'document', title: 'a.pdf', source: { type: 'url', url: 'https://example.org/a.pdf' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüße' } },
    ]);
  });

  test('without content is kept', () => {
    expect(messagesOf([user('')])).toEqual([{ role: 'user', content: [] }]);
  });
});

describe('tools', () => {
  test('called in parallel have their results at the beginning of one message, in order', () => {
    const messages = messagesOf([
      user('go'),
      assistant('Let me see.', { tool_calls: [call('a', '{"x":1}'), call('b', '')] }),
      user('Quick!'),
      result('b', 'two'),
      result('a', [text('one'), { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]),
      system('Be brief.'),
    ]);
    expect(messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          text('Let me see.'),
          { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'b', content: 'two' },
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [
              text('one'),
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
          text('Quick!'),
        ],
      },
      { role: 'system', content: [text('Be brief.')] },
    ]);
  });

  test('whose result has a cache breakpoint keep it on the result', () => {
    const cache_control = { type: 'ephemeral' };
    const calls = { tool_calls: [call('a', '{}'), call('b', '{}')] };
    const inPart = result('a', [{ ...text('one'), cache_control }]);
    expect(
      messagesOf([user('go'), assistant(null, calls), inPart, { ...result('b', 'two'), cache_control }]).at(-1),
    ).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: 'one', cache_control },
        { type: 'tool_result', tool_use_id: 'b', content: 'two', cache_control },
      ],
    });
  });

  test('may return nothing', () => {
    const messages = messagesOf([user('go'), assistant(null, { tool_calls: [call('a', '{}')] }), result('a', '')]);
    expect(messages.at(-1)).toEqual({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] });
  });

  test('whose ids have invalid characters get others, the same for call and result', () => {
    const [, called, given] = messagesOf([
      user('go'),
      assistant(null, { tool_calls: [call('functions.f:0', '{}'), call('plain_id-1', '{}')] }),
      result('functions.f:0', 'one'),
      result('plain_id-1', 'two'),
    ]) as [unknown, { content: { id: string }[] }, { content: { tool_use_id: string }[] }];
    expect(called.content[0]?.id).toMatch(/^call_[\w-]{24}$/);
    expect(given.content.map(({ tool_use_id }) => tool_use_id)).toEqual(called.content.map(({ id }) => id));
    expect(called.content[1]?.id).toBe('plain_id-1');
  });
});

describe('calls', () => {
  const idsIn = (messages: Record<string, unknown>[]) =>
    messages.flatMap(({ content }) =>
      (content as Record<string, string>[]).flatMap(({ id, tool_use_id }) => id ?? tool_use_id ?? []),
    );

  test('with repeated ids get distinct ids, and so do their results', () => {
    const turn = (...ids: string[]) => [
      assistant(null, { tool_calls: ids.map((id) => call(id, '{}')) }),
      ...ids.map((id) => result(id, 'ok')),
    ];
    const turns = [user('go'), ...turn('a'), ...turn('a', 'b'), ...turn('a_2'), ...turn('', ''), ...turn('a')];
    const ids = idsIn(messagesOf(turns));
    expect(ids.slice(0, 8)).toEqual(['a', 'a', 'a_2', 'b', 'a_2', 'b', 'a_2_2', 'a_2_2']);
    expect(ids.slice(8, 10)).toEqual(ids.slice(10, 12));
    expect(ids.slice(12)).toEqual(['a_3', 'a_3']);
    expect(new Set(ids).size).toBe(ids.length / 2);
  });

  test('in large numbers are translated in linear time', () => {
    const turns = Array.from({ length: 8_000 }, () => [
      assistant(null, { tool_calls: [call('a', '{}')] }),
      result('a', 'ok'),
    ]);
    expect(new Set(idsIn(messagesOf([user('go'), ...turns.flat()]))).size).toBe(8_000);
  });

  test('whose arguments are not a JSON object keep them as text, so that the conversation continues', () => {
    const deep = '['.repeat(200) + ']'.repeat(200);
    for (const [args, input] of [
      ['{"x":', { arguments: '{"x":' }],
      ['[1]', { arguments: '[1]' }],
      ['12345678901234567890', { arguments: '12345678901234567890' }],
      ['"{}"', { arguments: '"{}"' }],
      [deep, { arguments: deep }],
      ['null', {}],
      [{ x: 1 }, { x: 1 }],
    ])
      expect(
        messagesOf([user('go'), assistant(null, { tool_calls: [call('a', args)] }), result('a', 'Error: no JSON')])[1],
      ).toMatchObject({ content: [{ input }] });
  });
});

describe('an assistant message', () => {
  test('at the beginning gets a user message before it', () => {
    expect(messagesOf([assistant('Welcome!'), user('Hi')]).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
    ]);
  });

  test('without content is left out', () => {
    expect(messagesOf([user('a'), assistant(''), user('b'), assistant(null), user('c')])).toEqual([
      { role: 'user', content: [text('a'), text('b'), text('c')] },
    ]);
  });

  test('with a call and only whitespace has no text', () => {
    const calls = { tool_calls: [call('a', '{}')] };
    for (const blank of ['\n\n', [text(' ')], ''])
      expect(messagesOf([user('go'), assistant(blank, calls), result('a', 'ok')])[1]?.['content']).toEqual([
        { type: 'tool_use', id: 'a', name: 'f', input: {} },
      ]);
    expect(messagesOf([user('a'), assistant(' '), user('b')])).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
    ]);
  });

  test('may call functions by their older name, each with its result', () => {
    const called = (name: string) => assistant(null, { function_call: { name, arguments: '{"x":1}' } });
    const gave = (name: string, content: string) => ({ role: 'function', name, content });
    const messages = messagesOf([user('go'), called('f'), gave('f', 'one'), called('g'), gave('g', 'two')]);
    const idIn = (at: number) => (messages[at] as { content: [{ id: string }] }).content[0].id;
    const [first, second] = [idIn(1), idIn(3)];
    expect(first).toMatch(/^[\w-]+$/);
    expect(second).not.toBe(first);
    expect(messages.slice(1)).toEqual([
      { role: 'assistant', content: [{ type: 'tool_use', id: first, name: 'f', input: { x: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: first, content: 'one' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: second, name: 'g', input: { x: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: second, content: 'two' }] },
    ]);
  });

  test('keeps its refusal as text', () => {
    const content = [{ type: 'refusal', refusal: 'No.' }];
    expect(messagesOf([user('a'), assistant(content)])[1]).toEqual({ role: 'assistant', content: [text('No.')] });
    expect(messagesOf([user('a'), assistant(null, { refusal: 'No.' })])[1]).toEqual({
      role: 'assistant',
      content: [text('No.')],
    });
  });

  test('returns its thinking with its signatures, before all else', () => {
    const reasoning_details = [
      { type: 'reasoning.text', text: 'Hm.', signature: 'c2lnbmVk', index: 0, id: null, format: 'unknown' },
      { type: 'reasoning.encrypted', data: 'c2VhbGVk', index: 1 },
      { type: 'reasoning.summary', summary: 'It thought.', index: 2 },
    ];
    const message = assistant(null, { reasoning_details, reasoning_content: 'Hm.', tool_calls: [call('a', '{}')] });
    expect(messagesOf([user('go'), message, result('a', 'ok')])[1]?.['content']).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' },
      { type: 'redacted_thinking', data: 'c2VhbGVk' },
      { type: 'tool_use', id: 'a', name: 'f', input: {} },
    ]);
  });

  test('without signatures for its thinking has it marked as unsigned', () => {
    for (const name of ['reasoning_content', 'reasoning'])
      expect(messagesOf([user('go'), assistant('Yes.', { [name]: 'Hm.' })])[1]?.['content']).toEqual([
        { type: 'thinking', thinking: 'Hm.', signature: 'turnpike.chat.1.' },
        text('Yes.'),
      ]);
  });
});
