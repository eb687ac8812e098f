// Scripts in a prompt, which choose the answers of the sandbox's models; docs/developer.md has the syntax.

import { expect, test } from 'bun:test';
import { type Provider, providerKinds } from '../../../src/providers/providers.ts';
import { type JsonObject, jsonObjects } from '../../../src/wire/wire.ts';
import { faultOf, makeAttempt } from './make-attempt.ts';

const sandbox = providerKinds.get('sandbox') as Provider;

const read = { name: 'read', input_schema: { type: 'object', properties: { path: {} }, required: ['path'] } };
const write = { name: 'write', input_schema: { type: 'object' } };
const tools = [read, write];

function attemptOf(messages: unknown[] | string, more: object) {
  const given = typeof messages === 'string' ? [{ role: 'user', content: messages }] : messages;
  return makeAttempt('', { model: 'sandbox-echo', max_tokens: 1_000, tools, messages: given, ...more });
}

async function answer(messages: unknown[] | string, more: object = {}): Promise<JsonObject> {
  const reply = await sandbox.submit(attemptOf(messages, more));
  if (reply.form !== 'message') throw new Error('streamed');
  return reply.message;
}

/** The content as in a script: texts, and calls with their input. */
async function content(messages: unknown[] | string, more: object = {}): Promise<unknown[]> {
  const message = await answer(messages, more);
  return jsonObjects(message['content']).map(({ type, text, name, input }) => (type === 'text' ? text : [name, input]));
}

async function refusal(messages: unknown[] | string, more: object = {}): Promise<string> {
  const { kind, status, message } = await faultOf(sandbox.submit(attemptOf(messages, more)));
  expect([kind, status]).toEqual(['rejected', 400]);
  return message;
}

const result = (...texts: unknown[]) => ({
  role: 'user',
  content: texts.map((text, at) => ({ type: 'tool_result', tool_use_id: `t${at}`, content: text })),
});
const said = { role: 'assistant', content: 'x' };

test('a script chooses the tool and its input, and each answer is one of its steps', async () => {
  const script =
    'sandbox-script: call read {"path": "a.txt"} then call write {"text": "say }then{ \\"x\\""} then say All is done.';
  const prompt = {
    role: 'user',
    content: [
      { type: 'text', text: 'Look:' },
      { type: 'text', text: script },
    ],
  };
  const first = await answer([prompt]);
  expect(first).toMatchObject({
    content: [{ type: 'tool_use', name: 'read', input: { path: 'a.txt' } }],
    stop_reason: 'tool_use',
  });
  expect(await content([prompt, said, result('A')])).toEqual([['write', { text: 'say }then{ "x"' }]]);
  const turns = [prompt, said, result('A'), said, result('B')];
  expect(await answer(turns)).toMatchObject({ content: [{ text: 'All is done.' }], stop_reason: 'end_turn' });
  expect(await content([...turns, said, { role: 'user', content: 'Thanks' }])).toEqual(['Thanks']);
});

test('a step may have several calls and texts, and each call has its own id', async () => {
  const message = await answer(
    'sandbox-script: say "I look\\nat both." call read {"path":"a"} call read{"path":"b"} say Wait',
  );
  expect(message['content']).toEqual([
    { type: 'text', text: 'I look\nat both.' },
    { type: 'tool_use', id: expect.any(String), name: 'read', input: { path: 'a' } },
    { type: 'tool_use', id: expect.any(String), name: 'read', input: { path: 'b' } },
    { type: 'text', text: 'Wait' },
  ]);
  const ids = jsonObjects(message['content']).flatMap(({ id }) => (id === undefined ? [] : [id]));
  expect(new Set(ids).size).toBe(2);
});

test('a call without input is filled by the schema of its tool', async () => {
  expect(await content('sandbox-script: call write call read')).toEqual([
    ['write', {}],
    ['read', { path: 'text' }],
  ]);
});

test('the input keeps every digit', async () => {
  const message = await answer('sandbox-script: call write {"id": 12345678901234567890}');
  expect(JSON.stringify(message)).toContain('"input":{"id":12345678901234567890}');
});

test('lines of one message are one script, between any other lines', async () => {
  const prompt = {
    role: 'user',
    content: 'Task:\r\nsandbox-script: say One\r\n\nThen the rest.\nsandbox-script: say Two',
  };
  expect(await content([prompt])).toEqual(['One']);
  expect(await content([prompt, said, { role: 'user', content: 'then?' }])).toEqual(['Two']);
});

test('a new script replaces the one before it', async () => {
  const scripted = (text: string) => ({
    role: 'user',
    content: `sandbox-script: say ${text} 1\nsandbox-script: say ${text} 2`,
  });
  expect(await content([scripted('old'), said, scripted('new')])).toEqual(['new 1']);
  expect(await content([scripted('old'), said, scripted('new'), said, result('')])).toEqual(['new 2']);
});

test('the turns of a script are counted, not its messages', async () => {
  const prompt = { role: 'user', content: 'sandbox-script: say 1 \nsandbox-script: say 2\nsandbox-script: say 3' };
  const system = { role: 'system', content: 'Be brief.' };
  expect(await content([prompt, said, said, system, result('')])).toEqual(['2']);
  expect(await content([prompt, prompt])).toEqual(['1']);
});

const NO_SCRIPTS = [
  'Explain the sandbox-script: say hello',
  ' sandbox-script: say hello',
  'Sandbox-script: say hello',
  '> sandbox-script: say hello',
  'sandbox-scripts: say hello',
  'say hello then call me',
];

for (const prompt of NO_SCRIPTS)
  test(`“${prompt}” is a prompt like any other`, async () => expect(await content(prompt)).toEqual([prompt]));

test('a script is read only from the text of a user', async () => {
  const script = 'sandbox-script: say hello';
  expect(await content('Hi', { system: script })).toEqual(['Hi']);
  expect(await content([{ role: 'user', content: 'Hi' }, said, result(script)])).toEqual([script]);
  const assistant = { role: 'assistant', content: script };
  expect(await content([{ role: 'user', content: 'Hi' }, assistant, { role: 'user', content: 'Ho' }])).toEqual(['Ho']);
});

const MISTAKES: Readonly<Record<string, string>> = {
  '': 'expected call, say or then at the end',
  'do it': 'expected call, say or then at "do it"',
  'then say x': 'expected call, say or then at "say x"',
  'say "x" then': 'expected call or say at the end',
  'say "x" y': 'expected call, say or then at "y"',
  'say "\\q"': 'expected a JSON string without invalid escapes at the end',
  'calls read': 'expected call, say or then at "calls read"',
  call: 'expected the name of a tool at the end',
  'call read {"path": 1': 'expected the end of the JSON object at the end',
  'call read {"path": "1}': 'expected the end of the JSON object at "\\"1}"',
  'call read {path: 1}': 'expected a valid JSON object at "{path: 1}"',
  [`call read {"a":${'['.repeat(200)}${']'.repeat(200)}}`]: 'expected a valid JSON object at',
  'call delete {}': 'delete is not among the tools that may be called: read, write',
};

for (const [script, sentence] of Object.entries(MISTAKES))
  test(`the script “${script.slice(0, 40)}” is refused with what is wrong`, async () => {
    expect(await refusal(`sandbox-script: ${script}`)).toStartWith(`sandbox-script: ${sentence}`);
  });

test('a script that is too long is refused', async () => {
  const long = `sandbox-script: say ${'x'.repeat(40_000)}`;
  expect(await content(long, { max_tokens: 100_000 })).toHaveLength(1);
  expect(await refusal(`${long}\n${long}`)).toContain('more than 65536 characters');
});

test('a script must not contradict tool_choice', async () => {
  const script = 'sandbox-script: call read {"path":"a"}';
  const choose = (type: string, more: object = {}) => ({ tool_choice: { type, ...more } });
  const called = [['read', { path: 'a' }]];
  for (const more of [{}, choose('auto'), choose('any'), choose('tool', { name: 'read' })])
    expect(await content(script, more)).toEqual(called);
  expect(await refusal(script, choose('tool', { name: 'write' }))).toContain('read is not among the tools');
  expect(await refusal('sandbox-script: say x', choose('any'))).toContain('requires a call');
  const both = `${script} call write`;
  expect(await content(both)).toHaveLength(2);
  expect(await refusal(both, choose('auto', { disable_parallel_tool_use: true }))).toContain('has 2 calls');
});

test('where no tool may be called, the calls of a script are left out', async () => {
  const none = { tool_choice: { type: 'none' } };
  expect(await content('sandbox-script: say "Looking." call read', none)).toEqual(['Looking.']);
  const calls = 'sandbox-script: call read';
  for (const more of [none, { tools: [] }]) expect(await content(calls, more)).toEqual([calls]);
});

test('a forced choice is obeyed by every model, and calls each tool once', async () => {
  const forced = { tool_choice: { type: 'any' } };
  for (const model of ['sandbox-echo', 'sandbox-tool', 'sandbox-thinking'])
    expect((await content('Hi', { ...forced, model })).at(-1)).toEqual(['read', { path: 'text' }]);
  const called = (name: string) => ({ role: 'assistant', content: [{ type: 'tool_use', id: 't0', name, input: {} }] });
  const first = [{ role: 'user', content: 'Hi' }, called('read'), result('A')];
  expect(await content(first, forced)).toEqual([['write', {}]]);
  const both = [...first, called('write'), result('B')];
  expect(await content(both, forced)).toEqual(['B']);
  expect(await content([...both, said, { role: 'user', content: 'Again' }], forced)).toEqual([
    ['read', { path: 'text' }],
  ]);
  const named = { tool_choice: { type: 'tool', name: 'write' } };
  expect(await content('Hi', named)).toEqual([['write', {}]]);
  expect(await content(both, named)).toEqual(['B']);
  expect(await content(first, { model: 'sandbox-tool' })).toEqual(['A']);
});

test('tools that the provider runs itself are not called, and those known by type have their own schema', async () => {
  const typed = [
    { type: 'web_search_20250305', name: 'web_search' },
    { type: 'bash_20250124', name: 'bash' },
  ];
  expect(await content('Hi', { model: 'sandbox-tool', tools: typed })).toEqual([['bash', {}]]);
  expect(await refusal('sandbox-script: call web_search', { tools: typed })).toEndWith('may be called: bash');
  const editor = [{ type: 'text_editor_20250728', name: 'edit' }];
  expect(await content('sandbox-script: call edit', { tools: editor })).toEqual([
    ['edit', { command: 'view', path: 'text' }],
  ]);
});

test('max_tokens and stop sequences cut the step', async () => {
  const script = 'sandbox-script: say "abcdefgh" call read {"path":"a"}';
  const cut = (more: object) => answer(script, more);
  expect(await cut({ max_tokens: 1 })).toMatchObject({ content: [{ text: 'abcd' }], stop_reason: 'max_tokens' });
  const before = { content: [{ text: 'abcdefgh' }], stop_reason: 'max_tokens', usage: { output_tokens: 2 } };
  expect(await cut({ max_tokens: 4 })).toMatchObject(before);
  expect(await cut({ max_tokens: 5 })).toMatchObject({ stop_reason: 'tool_use', usage: { output_tokens: 5 } });
  expect(await cut({ stop_sequences: ['ef'] })).toMatchObject({
    content: [{ text: 'abcd' }],
    stop_reason: 'stop_sequence',
  });
});

test('thinking comes before the step', async () => {
  const message = await answer('sandbox-script: call read', { model: 'sandbox-thinking' });
  expect(jsonObjects(message['content']).map(({ type }) => type)).toEqual(['thinking', 'tool_use']);
});

test('structured output is the text of an answer, unless a script says otherwise', async () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const format = { type: 'json_schema', schema };
  expect(await content('Hi', { output_config: { format } })).toEqual(['{"city":"text"}']);
  expect(await content('Hi', { output_format: format })).toEqual(['{"city":"text"}']);
  expect(await content('sandbox-script: say {"city": "Rome"}', { output_config: { format } })).toEqual([
    '{"city": "Rome"}',
  ]);
  const loop = { model: 'sandbox-tool', output_config: { format } };
  expect(await content('Hi', loop)).toEqual([['read', { path: 'text' }]]);
  expect(await content([{ role: 'user', content: 'Hi' }, said, result('x')], loop)).toEqual(['{"city":"text"}']);
  expect(await answer('Hi', { output_config: { format }, max_tokens: 1 })).toMatchObject({
    content: [{ text: '{"ci' }],
    stop_reason: 'max_tokens',
  });
  expect(await refusal('Hi', { output_config: { format: { type: 'grammar' } } })).toStartWith('output_config.format:');
});

test('more stop sequences than any provider accepts are refused', async () => {
  const many = Array.from({ length: 33 }, (_, place) => `stop ${place}`);
  expect(await refusal('Hi', { stop_sequences: many })).toStartWith('stop_sequences:');
});
