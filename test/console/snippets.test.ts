// Runs the code snippets with a shell, Bun and Python.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chatBodyOf, openaiPythonOf, openaiTypescriptOf } from '../../console/openai-snippets.ts';
import { claudeCodeOf, curlOf, KEY_VARIABLE, pythonOf, shellQuoted, typescriptOf } from '../../console/snippets.ts';
import { sharedTurnpike } from '../support/shared-turnpike.ts';
import type { Turnpike } from '../support/start-turnpike.ts';

/** Contains characters that are special in shells, JavaScript or Python. */
const WORDS = `it's "quoted" \${HOME} $(id) \`id\` \\n \\\\ é 🙂 %s !x # \u2028 {a} \t\r\n@end \u0007`;
const body = {
  model: 'sandbox-echo',
  max_tokens: 300,
  temperature: 0.5,
  system: [{ type: 'text', text: "Say it's so." }],
  tools: [{ name: 'none', input_schema: { type: 'object', properties: {}, additionalProperties: false } }],
  messages: [{ role: 'user', content: WORDS }],
};

let turnpike: Turnpike;
let secret: string;
let directory: string;
beforeAll(async () => {
  turnpike = await sharedTurnpike();
  secret = (await turnpike.makeKey()).secret;
  directory = mkdtempSync(join(tmpdir(), 'turnpike-snippets-'));
});
afterAll(async () => {
  await turnpike.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function run(command: string[], environment: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(command, {
    cwd: directory,
    env: { PATH: process.env['PATH'], HOME: directory, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command[0]} ended with ${code}: ${complaint}`);
  return output;
}

test('the curl command sends exactly the message, with the key inline or from the environment', async () => {
  for (const key of [secret, null]) {
    const code = curlOf({ baseUrl: turnpike.url, key, body });
    const output = await run(['sh', '-c', code], { [KEY_VARIABLE]: secret });
    expect((JSON.parse(output) as { content: { text: string }[] }).content[0]?.text).toBe(WORDS);
  }
});

test('the curl command of a streamed message streams', async () => {
  const code = curlOf({ baseUrl: turnpike.url, key: secret, body: { ...body, stream: true } });
  expect(await run(['sh', '-c', code])).toContain('event: message_stop');
});

/** Runs a program beside this file, so that packages resolve, and returns the JSON in its last line. */
async function runScript(code: string, environment: Record<string, string>): Promise<unknown> {
  const program = join(import.meta.dir, `.snippet-${crypto.randomUUID()}.ts`);
  writeFileSync(program, code);
  try {
    return JSON.parse((await run([process.execPath, program], environment)).trim().split('\n').at(-1) ?? '');
  } finally {
    rmSync(program);
  }
}

test('the TypeScript snippet sends exactly the message, streamed and not streamed', async () => {
  for (const stream of [false, true]) {
    const code = typescriptOf({ baseUrl: turnpike.url, key: null, body: { ...body, stream } });
    const printed = `${code}\nconsole.log(JSON.stringify(message.content));\n`;
    expect(await runScript(printed, { [KEY_VARIABLE]: secret })).toMatchObject([{ type: 'text', text: WORDS }]);
  }
});

test('the TypeScript snippet for the SDK of OpenAI sends exactly the message, streamed and not streamed', async () => {
  for (const stream of [false, true])
    for (const key of [secret, null]) {
      const code = openaiTypescriptOf({ baseUrl: turnpike.url, key, body: { ...body, stream } });
      const printed = `${code}\nconsole.log(JSON.stringify(completion.choices[0]?.message));\n`;
      expect(await runScript(printed, { OPENAI_API_KEY: secret })).toMatchObject({ content: WORDS });
    }
});

test('the Python snippet for the SDK of OpenAI passes the same address, key and message', async () => {
  const stub = [
    'import json, contextlib, types',
    'completion = types.SimpleNamespace(choices=[types.SimpleNamespace(message=None)], usage=None)',
    'def told(**named): print(json.dumps(named)); return completion',
    'class Streamed:',
    '    def __iter__(self): return iter([types.SimpleNamespace(type="content.delta", delta="")])',
    '    def get_final_completion(self): return completion',
    'class Completions:',
    '    def create(self, **named): return told(**named)',
    '    @contextlib.contextmanager',
    '    def stream(self, **named): told(**named); yield Streamed()',
    'class OpenAI:',
    '    def __init__(self, **named):',
    '        print(json.dumps(named))',
    '        self.chat = types.SimpleNamespace(completions=Completions())',
  ].join('\n');
  writeFileSync(join(directory, 'openai.py'), stub);
  for (const stream of [false, true]) {
    const code = openaiPythonOf({ baseUrl: turnpike.url, key: null, body: { ...body, stream } });
    writeFileSync(join(directory, 'snippet.py'), code);
    const output = await run(['python3', 'snippet.py'], { OPENAI_API_KEY: "k'1" });
    const [client, message] = output.split('\n').map((line) => (line.startsWith('{') ? JSON.parse(line) : line));
    expect(client).toEqual({ base_url: `${turnpike.url}/v1`, api_key: "k'1" });
    expect(message).toEqual(chatBodyOf(body));
  }
});

test('the body for the SDKs of OpenAI keeps tool calls, tool results and images', () => {
  const chat = chatBodyOf({
    ...{ model: 'm', max_tokens: 10, thinking: { type: 'enabled', budget_tokens: 2_000 }, system: 'Be brief.' },
    tools: [
      { name: 'look', input_schema: { type: 'object' } },
      { type: 'web_search_20250305', name: 'web_search' },
    ],
    messages: [
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 's' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 't1', name: 'look', input: { at: 1 } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 't1', content: 'Nothing' },
          { type: 'text', text: 'So?' },
        ],
      },
    ],
  });
  expect(chat).toEqual({
    model: 'm',
    max_completion_tokens: 10,
    reasoning_effort: 'medium',
    tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [{ id: 't1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
      },
      { role: 'tool', tool_call_id: 't1', content: 'Nothing' },
      { role: 'user', content: [{ type: 'text', text: 'So?' }] },
    ],
  });
});

test('the Python snippet passes the same address, key and message', async () => {
  const stub = [
    'import json, sys, contextlib, types',
    'def told(**named): print(json.dumps(named)); return types.SimpleNamespace(content=None, usage=None)',
    'class Streamed:',
    '    text_stream = []',
    '    def get_final_message(self): return types.SimpleNamespace(content=None, usage=None)',
    'class Messages:',
    '    def create(self, **named): return told(**named)',
    '    @contextlib.contextmanager',
    '    def stream(self, **named): told(**named); yield Streamed()',
    'class Anthropic:',
    '    def __init__(self, **named): print(json.dumps(named)); self.messages = Messages()',
  ].join('\n');
  writeFileSync(join(directory, 'anthropic.py'), stub);
  for (const stream of [false, true]) {
    const more = { ...body, stop_sequences: [], metadata: { a: null, b: true, c: false } };
    const code = pythonOf({ baseUrl: turnpike.url, key: null, body: { ...more, stream } });
    writeFileSync(join(directory, 'snippet.py'), code);
    const output = await run(['python3', 'snippet.py'], { [KEY_VARIABLE]: "k'1" });
    const [client, message] = output.split('\n').map((line) => (line.startsWith('{') ? JSON.parse(line) : line));
    expect(client).toEqual({ base_url: turnpike.url, api_key: "k'1" });
    expect(message).toEqual(more);
  }
});

test('the Claude Code snippet sets its variables, whatever characters they contain', async () => {
  const code = claudeCodeOf({ baseUrl: 'http://h/$(id)', key: "k'1", model: 'a b' }).replace(/claude$/, 'env');
  const output = await run(['sh', '-c', code]);
  expect(output).toContain('ANTHROPIC_BASE_URL=http://h/$(id)\n');
  expect(output).toContain("ANTHROPIC_AUTH_TOKEN=k'1\n");
  expect(output).toContain('ANTHROPIC_DEFAULT_HAIKU_MODEL=a b\n');
});

test('a quoted shell word keeps all of its characters', async () => {
  for (const word of ['', "'", "''", '\\', "a'b'c", WORDS])
    expect(await run(['sh', '-c', `printf %s ${shellQuoted(word)}`])).toBe(word);
});
