// Runs the code snippets with a shell, Bun and Python.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claudeCodeOf, curlOf, KEY_VARIABLE, pythonOf, shellQuoted, typescriptOf } from '../../console/snippets.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

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
let directory: string;
beforeAll(async () => {
  turnpike = await startTurnpike();
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
  for (const key of [turnpike.key, null]) {
    const code = curlOf({ baseUrl: turnpike.url, key, body });
    const output = await run(['sh', '-c', code], { [KEY_VARIABLE]: turnpike.key });
    expect((JSON.parse(output) as { content: { text: string }[] }).content[0]?.text).toBe(WORDS);
  }
});

test('the curl command of a streamed message streams', async () => {
  const code = curlOf({ baseUrl: turnpike.url, key: turnpike.key, body: { ...body, stream: true } });
  expect(await run(['sh', '-c', code])).toContain('event: message_stop');
});

test('the TypeScript snippet sends exactly the message, streamed and not streamed', async () => {
  for (const stream of [false, true]) {
    const program = join(import.meta.dir, `.snippet-${crypto.randomUUID()}.ts`); // in this folder, so that packages resolve
    const code = typescriptOf({ baseUrl: turnpike.url, key: null, body: { ...body, stream } });
    writeFileSync(program, `${code}\nconsole.log(JSON.stringify(message.content));\n`);
    try {
      const output = await run([process.execPath, program], { [KEY_VARIABLE]: turnpike.key });
      expect(JSON.parse(output.trim().split('\n').at(-1) ?? '')).toMatchObject([{ type: 'text', text: WORDS }]);
    } finally {
      rmSync(program);
    }
  }
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
