// Runs Claude Code once against a service of its own, over two equal routes to scripted providers of one kind, with
// the lines from docs/clients.md.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { readBlocks } from '../../support/read-blocks.ts';
import {
  type RecordedRequest,
  type Script,
  type ScriptedUpstream,
  scripts,
  startScriptedUpstream,
} from '../../support/scripted-upstream.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { findClaudeCode } from './clients.ts';
import { type Json, PNG, price } from './conversations/conversation.ts';
import { type Kind, speak } from './upstreams/speak.ts';
import type { Spoken } from './upstreams/speak-messages.ts';

const AGENT_MS_MAX = 60_000;
const MODEL = 'claude-sonnet-4-5';
const WRITTEN = 'odd “quotes” \u2028 \\n \t ✓ \u{1F600} <tag> & "so"\n';
export const SIGNATURE = 'EqQBCkYIBxgCKkD/+agent==';

export interface Agent extends AsyncDisposable {
  exitCode: number | null;
  /** Lines of its stream-json output, up to the end of the first prompt. */
  printed: Json[];
  /** Its last output after it was continued. */
  continued: Json | undefined;
  errors: string;
  /** Its working directory. */
  directory: string;
  routes: readonly ScriptedUpstream[];
  /** Requests to the providers, in order. */
  requests: RecordedRequest[];
  /** Usage records, oldest first. */
  records: Json[];
  /** Content that the model wrote to a file. */
  written: string;
  turnpike: TurnpikeProcess;
  /** Request lines to any other host. */
  callsElsewhere: string[];
}

/** Five turns of the model: thinking, single and parallel calls, an end, and an answer to the next prompt. */
export function turnsOf(directory: string): Spoken[] {
  const read = `{ "file_path": ${JSON.stringify(join(directory, 'read.txt'))} }`;
  const look = JSON.stringify({ file_path: join(directory, 'point.png') });
  const write = JSON.stringify({ file_path: join(directory, 'written.txt'), content: WRITTEN });
  return [
    {
      content: [
        { type: 'text', text: 'I shall read.' },
        { type: 'tool_use', id: 'toolu_agent1', name: 'Read', input: read },
        { type: 'tool_use', id: 'toolu_agent5', name: 'Read', input: look },
      ],
    },
    {
      content: [
        { type: 'thinking', thinking: 'Now I write.', signature: SIGNATURE },
        { type: 'tool_use', id: 'toolu_agent2', name: 'Write', input: write },
      ],
    },
    {
      content: [
        {
          type: 'tool_use',
          id: 'toolu_agent3',
          name: 'Bash',
          input: '{"command":"wc -c written.txt","description":"Counts"}',
        },
        { type: 'tool_use', id: 'toolu_agent4', name: 'Bash', input: '{"command": "ls ./nowhere-at-all"}' },
      ],
    },
    { content: [{ type: 'text', text: 'All is done.' }] },
    { content: [{ type: 'text', text: 'Nothing more.' }] },
  ];
}

/**
 * Runs the turns of `turnsOf` with an account of this credit; the last one in a new process that continues the
 * session.
 */
export async function runAgent(
  kind: Kind,
  { credit = '100', isOverloadedFirst = false }: { credit?: string; isOverloadedFirst?: boolean } = {},
): Promise<Agent> {
  const [directory, home] = ['work', 'home'].map((name) => mkdtempSync(join(tmpdir(), `turnpike-agent-${name}-`))) as [
    string,
    string,
  ];
  writeFileSync(join(directory, 'read.txt'), 'first line\nsecond line\n');
  writeFileSync(join(directory, 'point.png'), Buffer.from(PNG, 'base64'));
  const turns = turnsOf(directory);
  const requests: RecordedRequest[] = [];
  let isOverloaded = isOverloadedFirst;
  const script: Script = (answer, request) => {
    if (isOverloaded) {
      isOverloaded = false;
      return scripts.overloaded()(answer, request);
    }
    requests.push(request);
    return speak(kind, turns[requests.length - 1] ?? { content: [] })(answer, request);
  };
  const routes = [
    await startScriptedUpstream(script),
    ...(isOverloadedFirst ? [] : [await startScriptedUpstream(script)]),
  ];
  const turnpike = await spawnTurnpike();
  const elsewhere = await startElsewhere();
  await turnpike.admin('POST', '/apply', { document: documentOf(kind, routes) });
  const { secret } = await turnpike.makeKey({ credit });
  const environment = {
    ...{ PATH: process.env['PATH'] ?? '', HOME: home, BASE_URL: turnpike.url, KEY: secret },
    ...{ HTTPS_PROXY: elsewhere.url, HTTP_PROXY: elsewhere.url, NO_PROXY: '127.0.0.1' },
  };
  const ran = await runClaudeCode(directory, environment, ['Do what is to be done.']);
  const next = credit === '0' ? null : await runClaudeCode(directory, environment, ['--continue', 'What else?']);
  const records = (await turnpike.admin('GET', '/usage?limit=1000'))['data'] as Json[];
  const made = { directory, routes, requests, records: records.reverse(), written: WRITTEN, turnpike };
  return {
    ...ran,
    ...made,
    continued: next?.printed.at(-1),
    callsElsewhere: elsewhere.calls,
    async [Symbol.asyncDispose]() {
      await turnpike.stop();
      for (const { close } of [...routes, elsewhere]) await close();
      for (const place of [directory, home]) rmSync(place, { recursive: true, force: true });
    },
  };
}

function documentOf(kind: Kind, routes: readonly ScriptedUpstream[]): Json {
  const path = kind === 'openai' || kind === 'openai-responses' ? '/v1' : '';
  const names = routes.map((_, place) => `route-${place + 1}`);
  return {
    providers: Object.fromEntries(
      routes.map(({ url }, place) => [
        names[place],
        { kind, base_url: url + path, api_key: 'sk-of-the-provider', private_network: true },
      ]),
    ),
    models: { [MODEL]: { price, routes: names.map((provider) => ({ provider, priority: 0, weight: 1 })) } },
  };
}

/** Runs the program with the lines of the page; ended by its own id after AGENT_MS_MAX. */
async function runClaudeCode(
  cwd: string,
  env: Record<string, string>,
  prompt: readonly string[],
): Promise<Pick<Agent, 'exitCode' | 'printed' | 'errors'>> {
  const page = readFileSync(join(rootDirectory, 'docs', 'clients.md'), 'utf8');
  const shown = readBlocks(page).find(({ heading, language }) => heading === 'Claude Code' && language === 'sh');
  const lines = shown?.code.split('\n').filter((line) => line.startsWith('export ')) ?? [];
  const given = ['-p', ...prompt, '--output-format', 'stream-json', '--verbose', '--include-partial-messages'];
  const child = Bun.spawn(
    [
      ...['sh', '-euc', `${lines.join('\n')}\nexec "$@"`, 'sh', findClaudeCode() ?? '', ...given],
      ...['--allowedTools', 'Read,Write,Bash', '--permission-mode', 'acceptEdits'],
    ],
    { cwd, env: { ...env, MODEL }, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', timeout: AGENT_MS_MAX },
  );
  const [out, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  const printed = out.split('\n').filter((line) => line.startsWith('{'));
  return { exitCode: child.exitCode, printed: printed.map((line) => JSON.parse(line) as Json), errors };
}

/** A proxy that refuses everything and records the requested hosts. */
async function startElsewhere(): Promise<{ url: string; calls: string[]; close(): Promise<void> }> {
  const calls: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => {
      calls.push(bytes.toString('latin1').split('\r\n')[0] ?? '');
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as { port: number };
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `http://127.0.0.1:${address.port}`, calls, close };
}
