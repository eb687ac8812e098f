// A Messages conversation for a provider of Chat Completions: nothing is lost, and unsupported content is refused
// with the path of the field.

import { describe, expect, test } from 'bun:test';
import { sealReasoning } from '../../../../src/protocols/thinking.ts';
import { convertBody } from '../../../../src/providers/openai/convert-request.ts';
import { chooseProfile } from '../../../../src/providers/openai/profile.ts';
import { ProviderFault } from '../../../../src/providers/providers.ts';
import { type JsonObject, type JsonValue, jsonObjects } from '../../../../src/wire/wire.ts';
import { attemptAt, type Family } from './read-fixture.ts';

function messagesOf(members: object, family: Family = 'openai', upstreamModel = 'gpt-4.1'): JsonValue {
  const attempt = attemptAt(family, members, { upstreamModel });
  return convertBody(attempt, chooseProfile(attempt.provider.baseUrl, upstreamModel))['messages'] ?? null;
}

function refusalOf(members: object, family: Family = 'openai', model?: string): string {
  try {
    messagesOf(members, family, model);
  } catch (thrown) {
    if (!(thrown instanceof ProviderFault)) throw thrown;
    expect([thrown.kind, thrown.status, thrown.errorType]).toEqual(['rejected', 400, 'invalid_request_error']);
    return thrown.message;
  }
  return 'the request was not refused';
}

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });
const use = (id: string, input: object = {}, name = 'look') => ({ type: 'tool_use', id, name, input });
const result = (id: string, content?: unknown, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
});
const PNG = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
const PNG_PART = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
const LINK = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
const PDF = {
  type: 'document',
  title: 'a.pdf',
  source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
};
const tools = [{ name: 'look', input_schema: { type: 'object' } }];

describe('the system prompt', () => {
  test('is the first message, as text, whether it was one text or blocks with cache breakpoints', () => {
    const messages = [user('Hi')];
    const userMessage = { role: 'user', content: 'Hi' };
    const expected: JsonValue = [{ role: 'system', content: 'Be brief.' }, userMessage];
    expect(messagesOf({ system: 'Be brief.', messages })).toEqual(expected);
    const blocks = [text('Be', { cache_control: { type: 'ephemeral', ttl: '1h' } }), text('brief.')];
    expect(messagesOf({ system: blocks, messages })).toEqual([
      { role: 'system', content: 'Be\n\nbrief.' },
      userMessage,
    ]);
    expect(messagesOf({ system: '', messages })).toEqual([userMessage]);
  });

  test('keeps its cache breakpoints for a router, without their lifetime, because the router’s usage does not report it', () => {
    const system = [text('Long.', { cache_control: { type: 'ephemeral', ttl: '1h' } }), text('Short.')];
    expect(messagesOf({ system, messages: [user('Hi')] }, 'openrouter')).toEqual([
      { role: 'system', content: [text('Long.', { cache_control: { type: 'ephemeral' } }), text('Short.')] },
      { role: 'user', content: 'Hi' },
    ]);
  });

  test('has the developer role for models that reason, and lacks the billing line of agents', () => {
    const system = [text('x-anthropic-billing-header: cc_version=2.1;'), text('You are an agent.')];
    expect(messagesOf({ system, messages: [user('Hi')] }, 'openai', 'gpt-5.6')).toEqual([
      { role: 'developer', content: 'You are an agent.' },
      { role: 'user', content: 'Hi' },
    ]);
  });

  test('in the middle of a conversation is a system message if supported, otherwise a reminder in a user message', () => {
    const messages = [
      user('Hi'),
      { role: 'system', content: [text('It is Friday.')] },
      assistant('Hello.'),
      user('So?'),
    ];
    expect(messagesOf({ messages })).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'It is Friday.' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'So?' },
    ]);
    expect(messagesOf({ messages }, 'compatible')).toEqual([
      { role: 'user', content: 'Hi\n\n<system-reminder>\nIt is Friday.\n</system-reminder>' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'So?' },
    ]);
  });
});

describe('tool results', () => {
  const called = assistant([text('Looking.'), use('toolu_a', { at: 1 }), use('toolu_b')]);
  const calls = [
    { id: 'toolu_a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
    { id: 'toolu_b', type: 'function', function: { name: 'look', arguments: '{}' } },
  ];

  test('come first, each in a message of its own, followed by the text beside them', () => {
    const answered = user([result('toolu_a', 'One'), result('toolu_b', [text('Two'), text('Three')]), text('Go on.')]);
    expect(messagesOf({ tools, messages: [user('Hi'), called, answered] })).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Looking.', tool_calls: calls },
      { role: 'tool', tool_call_id: 'toolu_a', content: 'One' },
      { role: 'tool', tool_call_id: 'toolu_b', content: 'Two\n\nThree' },
      { role: 'user', content: 'Go on.' },
    ]);
  });

  test('come first even if the text is before them, or in a message of its own', () => {
    const separate = [user([result('toolu_a', 'One')]), user([text('Go on.'), result('toolu_b', 'Two')])];
    const messages = messagesOf({ tools, messages: [user('Hi'), called, ...separate] }) as JsonObject[];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
  });

  test('contain the text that follows them if the family accepts no user message there', () => {
    const answered = user([result('toolu_a', 'One'), result('toolu_b', 'Two'), text('Go on.')]);
    for (const family of ['mistral', 'compatible'] as const) {
      const messages = messagesOf({ tools, messages: [user('Hi'), called, answered] }, family, 'mistral-large-latest');
      expect((messages as JsonObject[]).slice(-2)).toMatchObject([
        { role: 'tool', content: 'One' },
        { role: 'tool', content: 'Two\n\nGo on.' },
      ]);
    }
  });

  test('are marked if they are errors, may be empty, and have their images right after them', () => {
    const answered = user([
      result('toolu_a', 'Not found', { is_error: true }),
      result('toolu_b', [text('A picture'), PNG]),
    ]);
    expect((messagesOf({ tools, messages: [user('Hi'), called, answered] }) as JsonObject[]).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'toolu_a', content: 'Error: Not found' },
      { role: 'tool', tool_call_id: 'toolu_b', content: 'A picture\n\n[What it shows follows.]' },
      { role: 'user', content: [text('Shown by the tool call toolu_b:'), PNG_PART] },
    ]);
    const empty = user([result('toolu_a'), result('toolu_b', [])]);
    expect((messagesOf({ tools, messages: [user('Hi'), called, empty] }) as JsonObject[]).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'toolu_a', content: '' },
      { role: 'tool', tool_call_id: 'toolu_b', content: '' },
    ]);
  });

  test('without their call, and calls without their result, are refused with text that clients know', () => {
    expect(refusalOf({ messages: [user('Hi'), called, user([result('toolu_a', '')])] })).toBe(
      'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_b. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    );
    expect(refusalOf({ messages: [user([text('Hi'), result('toolu_z', '')])] })).toBe(
      'messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_z. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    );
    expect(refusalOf({ messages: [user('Hi'), called] })).toContain('`tool_use` ids were found without');
  });

  test('of tools that are loaded later name these tools', () => {
    const answered = user([
      result('toolu_a', [{ type: 'tool_reference', tool_name: 'mcp__x__y' }]),
      result('toolu_b', 'b'),
    ]);
    expect((messagesOf({ tools, messages: [user('Hi'), called, answered] }) as JsonObject[])[2]).toMatchObject({
      content: '[The tool mcp__x__y is available.]',
    });
  });
});

describe('call ids', () => {
  const turn = (id: string) => [user('Hi'), assistant([use(id)]), user([result(id, 'x')])];
  const idsOf = (id: string, family: Family) => {
    const [, call, answer] = messagesOf({ tools, messages: turn(id) }, family, 'm') as JsonObject[];
    return [jsonObjects(call?.['tool_calls'])[0]?.['id'], answer?.['tool_call_id']];
  };

  test('have the form that the provider requires, the same in call and result', () => {
    const [call, answer] = idsOf('toolu_01T1x1fJ34qAmk2tNTrN7Up6', 'mistral');
    expect(call).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(answer).toBe(call ?? null);
    expect(idsOf('D681PevKs', 'mistral')).toEqual(['D681PevKs', 'D681PevKs']);
    expect(String(idsOf(`toolu_${'x'.repeat(60)}`, 'openai')[0]).length).toBeLessThanOrEqual(40);
  });

  test('are restored to the provider’s own if the service had replaced them', () => {
    const id = `toolu_tp12345678_${Buffer.from('functions.get_weather:0').toString('base64url')}`;
    expect(idsOf(id, 'moonshot')).toEqual(['functions.get_weather:0', 'functions.get_weather:0']);
  });
});

describe('user content', () => {
  test('is one string if it is text only, and otherwise parts in order', () => {
    expect(messagesOf({ messages: [user([text('a'), text('b')])] })).toEqual([{ role: 'user', content: 'a\n\nb' }]);
    expect(messagesOf({ messages: [user([text('a'), PNG, text('b')])] })).toEqual([
      { role: 'user', content: [text('a'), PNG_PART, text('b')] },
    ]);
  });

  test('at an address stays an address, and is refused if the provider does not fetch any', () => {
    expect(messagesOf({ messages: [user([LINK])] })).toEqual([
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] },
    ]);
    for (const family of ['ollama', 'moonshot', 'deepseek'] as const)
      expect(refusalOf({ messages: [user([text('a'), LINK])] }, family)).toStartWith(
        'messages.0.content.1.source.url: ',
      );
  });

  test('of documents is sent as files, addresses or text, and refused if that is impossible', () => {
    expect(messagesOf({ messages: [user([PDF])] })).toEqual([
      {
        role: 'user',
        content: [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } }],
      },
    ]);
    expect(messagesOf({ messages: [user([PDF])] }, 'mistral', 'mistral-large-latest')).toMatchObject([
      { content: [{ type: 'document_url', document_url: 'data:application/pdf;base64,JVBERi0=' }] },
    ]);
    expect(refusalOf({ messages: [user([text('a'), PDF])] }, 'compatible')).toStartWith(
      'messages.0.content.1.source: ',
    );
    const linked = { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } };
    expect(messagesOf({ messages: [user([linked])] }, 'openrouter')).toMatchObject([
      { content: [{ type: 'file', file: { file_data: 'https://example.com/a.pdf' } }] },
    ]);
    expect(refusalOf({ messages: [user([linked])] })).toStartWith('messages.0.content.0.source.url: ');
    const plain = {
      type: 'document',
      title: 'T',
      context: 'C',
      source: { type: 'text', media_type: 'text/plain', data: 'Words' },
    };
    const blocks = { type: 'document', source: { type: 'content', content: [text('One'), PNG] } };
    const found = { type: 'search_result', title: 'F', source: 'https://f', content: [text('Found')] };
    expect(messagesOf({ messages: [user([plain, blocks, found])] })).toEqual([
      {
        role: 'user',
        content: [
          text('Document: T\nContext: C\n\nWords'),
          text('One'),
          PNG_PART,
          text('Search result: F\nSource: https://f\n\nFound'),
        ],
      },
    ]);
  });

  test('of an unsupported type is refused with its path', () => {
    const uploaded = { type: 'container_upload', file_id: 'file_1' };
    expect(refusalOf({ messages: [user('Hi'), assistant('Yes'), user([uploaded])] })).toStartWith(
      'messages.2.content.0.type: ',
    );
    const searched = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
    expect(refusalOf({ messages: [user('Hi'), assistant([searched]), user('So?')] })).toStartWith(
      'messages.1.content.0.type: ',
    );
  });
});

describe('an assistant message', () => {
  const thinking = (words: string, signature: string) => ({ type: 'thinking', thinking: words, signature });

  test('has null or an empty text beside calls, as its family requires', () => {
    const messages = [user('Hi'), assistant([use('toolu_a')]), user([result('toolu_a', 'x')])];
    expect((messagesOf({ tools, messages }) as JsonObject[])[1]).toHaveProperty('content', null);
    expect((messagesOf({ tools, messages }, 'compatible') as JsonObject[])[1]).toHaveProperty('content', '');
  });

  test('has no thinking if the provider does not want it back', () => {
    const messages = [user('Hi'), assistant([thinking('Hm.', 'EqQB=='), text('Yes.')]), user('So?')];
    expect((messagesOf({ messages }) as JsonObject[])[1]).toEqual({ role: 'assistant', content: 'Yes.' });
  });

  test('has its thinking within a tool loop if the provider requires it, and otherwise none', () => {
    const messages = [
      user('Hi'),
      assistant([thinking('I shall look.', sealReasoning('deepseek-v4', [])), use('toolu_a')]),
      user([result('toolu_a', 'x')]),
      assistant([use('toolu_b')]),
      user([result('toolu_b', 'y')]),
    ];
    for (const family of ['deepseek', 'moonshot'] as const) {
      const sent = messagesOf({ tools, messages }, family, 'm') as JsonObject[];
      expect([sent[1]?.['reasoning_content'], sent[3]?.['reasoning_content']]).toEqual(['I shall look.', '']);
    }
    const hosted = messagesOf({ tools, messages }, 'compatible', 'moonshotai/Kimi-K2.5') as JsonObject[];
    expect(hosted[1]).toHaveProperty('reasoning_content', 'I shall look.');
    const talk = [user('Hi'), assistant([thinking('Hm.', 's'), text('Yes.')]), user('So?')];
    expect((messagesOf({ messages: talk }, 'deepseek', 'm') as JsonObject[])[1]).not.toHaveProperty(
      'reasoning_content',
    );
  });

  test('has its reasoning details if the router and model are the same, and otherwise none', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'sealed', index: 0 }];
    const messages = [user('Hi'), assistant([thinking('', sealReasoning('a/b', details)), text('Yes.')]), user('So?')];
    expect((messagesOf({ messages }, 'openrouter', 'a/b') as JsonObject[])[1]).toHaveProperty(
      'reasoning_details',
      details,
    );
    expect((messagesOf({ messages }, 'openrouter', 'a/c') as JsonObject[])[1]).not.toHaveProperty('reasoning_details');
    const foreign = [user('Hi'), assistant([thinking('', 'turnpike.chat.1.%%%'), text('Yes.')]), user('So?')];
    expect((messagesOf({ messages: foreign }, 'openrouter', 'a/b') as JsonObject[])[1]).not.toHaveProperty(
      'reasoning_details',
    );
  });

  test('at the end is refused if the provider would not continue it', () => {
    const messages = [user('Hi'), assistant('It is')];
    expect(refusalOf({ messages })).toStartWith('messages.1: This model does not support assistant message prefill.');
    expect(messagesOf({ messages }, 'compatible')).toEqual([
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'It is' },
    ]);
  });
});
