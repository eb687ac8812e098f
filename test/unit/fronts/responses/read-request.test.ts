// Conversion of requests to Messages requests.

import { describe, expect, test } from 'bun:test';
import { messagesOf, readAsMessages, refusalOf } from './read-response.ts';

const user = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] });

describe('a conversation', () => {
  test('begins with instructions and developer messages as the system prompt', () => {
    expect(
      readAsMessages({
        instructions: 'Be brief.',
        input: [
          { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'You are an agent.' }] },
          { role: 'user', content: 'Hi' },
        ],
      }),
    ).toEqual({
      model: 'm',
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'You are an agent.' },
      ],
      messages: [user('Hi')],
    });
  });

  test('has the items of the assistant in one message, and results at the beginning of the next', () => {
    const messages = messagesOf([
      { role: 'user', content: 'Hi' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.', annotations: [] }] },
      { type: 'function_call', call_id: 'a', name: 'look', arguments: '{"n":12345678901234567890}' },
      { type: 'item_reference', id: 'rs_1' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'function_call', call_id: 'b', name: 'look', arguments: '' },
      { role: 'user', content: 'Quick!' },
      { type: 'function_call_output', call_id: 'a', output: 'one' },
      { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'two' }] },
    ]);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(messages[1]?.['content']).toMatchObject([
      { type: 'text' },
      { type: 'tool_use', id: 'a', name: 'look' },
      { type: 'tool_use', id: 'b', input: {} },
    ]);
    expect(messages[2]?.['content']).toEqual([
      { type: 'tool_result', tool_use_id: 'a', content: 'one' },
      { type: 'tool_result', tool_use_id: 'b', content: 'two' },
      { type: 'text', text: 'Quick!' },
    ]);
  });

  test('has images and files, from data or URLs', () => {
    const [message] = messagesOf([
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'auto' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
          { type: 'input_file', file_url: 'https://example.org/b.pdf' },
        ],
      },
    ]);
    expect(message?.['content']).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, title: 'a.pdf' },
      { type: 'document', source: { type: 'url', url: 'https://example.org/b.pdf' } },
    ]);
  });
});

describe('tools', () => {
  const namespace = (name: string, ...tools: object[]) => ({ type: 'namespace', name, description: '', tools });
  const wait = { type: 'function', name: 'wait', strict: false, parameters: { type: 'object', properties: {} } };
  const patch = {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits files.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  };
  const names = (request: Record<string, unknown>) =>
    (readAsMessages(request)['tools'] as { name: string }[]).map(({ name }) => name);

  test('of a namespace get its name, and calls of them, too', () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'function_call', call_id: 'a', name: 'wait', namespace: 'agents', arguments: '{}' },
    ];
    const request = { tools: [wait, namespace('agents', wait)], input };
    expect(names(request)).toEqual(['wait', 'agents__wait']);
    expect(messagesOf(input, request)[1]?.['content']).toMatchObject([{ name: 'agents__wait' }]);
  });

  test('have distinct names that every provider accepts', () => {
    const long = 'n'.repeat(80);
    const found = names({
      tools: [
        { ...wait, name: 'a__b' },
        namespace('a', { ...wait, name: 'b' }),
        namespace('x.y', wait),
        namespace(long, wait),
      ],
    });
    expect(new Set(found).size).toBe(4);
    for (const name of found) expect(name).toMatch(/^[\w-]{1,64}$/);
  });

  test('of a namespace cannot multiply a long name', () => {
    const namespaceOf = (characters: number) => ({
      tools: [{ type: 'namespace', name: 'n'.repeat(characters), tools: [{ type: 'function', name: 'f' }] }],
    });
    expect(readAsMessages(namespaceOf(256))['tools']).toHaveLength(1);
    expect(refusalOf(namespaceOf(257)).message).toBe('tools.0.name: String should have at most 256 characters');
  });

  test('that are custom become functions of one text, with the grammar in the description', () => {
    const [tool] = readAsMessages({ tools: [patch] })['tools'] as Record<string, unknown>[];
    expect(tool).toMatchObject({
      name: 'apply_patch',
      description: 'Edits files.\n\nThe input must match this lark grammar:\nstart: "x"',
      input_schema: { required: ['input'], properties: { input: { type: 'string' } } },
    });
    const messages = messagesOf([
      { role: 'user', content: 'Hi' },
      { type: 'custom_tool_call', call_id: 'a', name: 'apply_patch', input: '*** Begin' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'Done.' },
    ]);
    expect(messages[1]?.['content']).toMatchObject([{ type: 'tool_use', input: { input: '*** Begin' } }]);
    expect(messages[2]?.['content']).toMatchObject([{ type: 'tool_result', content: 'Done.' }]);
  });

  test('inside the conversation, and found by a search of the client, are tools of the message', () => {
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [namespace('functions', { ...patch, name: 'exec' })] },
      { role: 'user', content: 'Hi' },
      { type: 'tool_search_call', call_id: 's', execution: 'client', arguments: { query: 'mail' } },
      {
        type: 'tool_search_output',
        call_id: 's',
        execution: 'client',
        tools: [namespace('mail', wait), namespace('mail', wait)],
      },
    ];
    const search = {
      type: 'tool_search',
      execution: 'client',
      description: 'Finds.',
      parameters: { type: 'object', properties: {} },
    };
    expect(names({ tools: [search], input })).toEqual(['tool_search', 'functions__exec', 'mail__wait']);
    expect(messagesOf(input, { tools: [search] })[1]?.['content']).toEqual([
      { type: 'tool_use', id: 's', name: 'tool_search', input: { query: 'mail' } },
    ]);
  });

  test('that search the web are left out, and those that run at a provider are refused by name', () => {
    expect(readAsMessages({ tools: [{ type: 'web_search', external_web_access: false }] })).not.toHaveProperty('tools');
    for (const type of [
      'file_search',
      'code_interpreter',
      'computer_use_preview',
      'image_generation',
      'mcp',
      'local_shell',
    ])
      expect(refusalOf({ tools: [{ type }] }).message).toContain(`not "${type}"`);
  });

  test.each([
    ['required', { type: 'any' }],
    [
      { type: 'function', name: 'wait' },
      { type: 'tool', name: 'wait' },
    ],
    [
      { type: 'function', name: 'wait', namespace: 'agents' },
      { type: 'tool', name: 'agents__wait' },
    ],
    [{ type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'wait' }] }, { type: 'any' }],
  ])('are chosen: %j', (tool_choice, expected) => {
    const tools = [wait, namespace('agents', wait)];
    expect(readAsMessages({ tools, tool_choice })['tool_choice']).toEqual(expected);
  });

  test('are called one at a time without parallel_tool_calls', () => {
    expect(readAsMessages({ tools: [wait], parallel_tool_calls: false })['tool_choice']).toEqual({
      type: 'auto',
      disable_parallel_tool_use: true,
    });
  });
});

describe('settings', () => {
  test.each<[Record<string, unknown>, Record<string, unknown>]>([
    [
      { max_output_tokens: 50, temperature: 0.5, top_p: 0.9 },
      { max_tokens: 50, temperature: 0.5, top_p: 0.9 },
    ],
    [{ reasoning: { effort: 'high' } }, { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    [{ reasoning: { effort: 'none', summary: 'auto' } }, { thinking: { type: 'disabled' } }],
    [{ reasoning: { summary: 'auto' } }, { thinking: { type: 'adaptive' } }],
    [{ reasoning: { effort: null, summary: null } }, {}],
    [{ prompt_cache_key: 'session', user: 'u' }, { metadata: { user_id: 'session' } }],
    [{ service_tier: 'auto', store: false, include: ['reasoning.encrypted_content'], metadata: { a: 'b' } }, {}],
    [{ text: { verbosity: 'low' } }, {}],
    [
      { text: { format: { type: 'json_schema', name: 'n', strict: true, schema: { type: 'object' } } } },
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
  ])('%j', (given, expected) => {
    const { model: _, messages: __, ...rest } = readAsMessages(given);
    expect(rest).toEqual(expected);
  });

  test('of the conversation replace those of the request', () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'configuration_update', reasoning: { effort: 'low' } },
    ];
    expect(readAsMessages({ input, reasoning: { effort: 'high' } })['output_config']).toEqual({ effort: 'low' });
  });
});

describe('refused by name', () => {
  const TWO_FILES = { type: 'input_file', file_data: 'data:text/plain;base64,YQ==', file_url: 'https://example.org/b' };
  const say = (...items: object[]) => ({ input: [{ role: 'user', content: 'Hi' }, ...items] });
  test.each<[string, Record<string, unknown>]>([
    ['store: ', { store: true }],
    ['previous_response_id: ', { previous_response_id: 'resp_1' }],
    ['conversation: ', { conversation: 'conv_1' }],
    ['prompt: ', { prompt: { id: 'pmpt_1' } }],
    ['background: ', { background: true }],
    ['input.1.id: ', say({ type: 'item_reference', id: 'msg_1' })],
    ['input.1.type: ', say({ type: 'compaction_trigger' })],
    ['input.1.type: ', say({ type: 'local_shell_call', call_id: 'a' })],
    [
      'input.0.content.0.file_id: ',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }] },
    ],
    [
      'input.0.content.0.file_id: ',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
    ],
    ['input.0.content.0.input_audio: ', { input: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
    ['input.0.content.0.type: ', { input: [{ role: 'user', content: [{ type: 'input_video' }] }] }],
    ['input.0.content.0: has both', { input: [{ role: 'user', content: [TWO_FILES] }] }],
  ])('%s', (beginning, members) => {
    expect(refusalOf(members).message).toStartWith(beginning);
  });
});
