// Runs a coding agent once against a service of its own, over equal routes to scripted providers of one kind, with the
// lines from docs/clients.md.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type RecordedRequest,
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
} from '../../support/scripted-upstream.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { type AgentProgram, blocksOf, turnsOf } from './agents.ts';
import { type Json, PNG, price } from './conversations/conversation.ts';
import { type Kind, speak } from './upstreams/speak.ts';
import { type Cloud, cloudMembers, cloudModels } from './upstreams/speak-clouds.ts';

const RUN_MS_MAX = 60_000;

export interface AgentRun extends AsyncDisposable {
  exitCode: number | null;
  /** Lines of its JSON output, up to the end of the first prompt. */
  printed: Json[];
  /** Its output after it was continued. */
  continued: Json[];
  errors: string;
  /** Its working directory. */
  directory: string;
  routes: readonly ScriptedUpstream[];
  /** Requests to the providers, in order. */
  requests: RecordedRequest[];
  /** Usage records, oldest first. */
  records: Json[];
  turnpike: TurnpikeProcess;
  /** Request lines to any other host. */
  callsElsewhere: string[];
}

export interface AgentTerms {
  credit?: string;
  /** The only route refuses the first such request. */
  refusesOnce?: { isOf(request: RecordedRequest): boolean; play: Script } | null;
  /** Further environment variables. */
  settings?: Record<string, string>;
}

/** Runs the turns of `turnsOf` with an account of this credit; the last one in a new process that continues the session. */
export async function runAgent(
  program: AgentProgram,
  kind: Kind,
  { credit = '100', refusesOnce = null, settings = {} }: AgentTerms = {},
): Promise<AgentRun> {
  const [directory, home] = ['work', 'home'].map((name) => mkdtempSync(join(tmpdir(), `turnpike-agent-${name}-`))) as [
    string,
    string,
  ];
  writeFileSync(join(directory, 'read.txt'), 'first line\nsecond line\n');
  writeFileSync(join(directory, 'point.png'), Buffer.from(PNG, 'base64'));
  const turns = turnsOf(program, directory);
  const requests: RecordedRequest[] = [];
  let refusal = refusesOnce;
  const script: Script = (answer, request) => {
    if (refusal?.isOf(request) === true) {
      const { play } = refusal;
      refusal = null;
      return play(answer, request);
    }
    requests.push(request);
    return speak(kind, turns[requests.length - 1] ?? { content: [] })(answer, request);
  };
  const routes = [
    await startScriptedUpstream(script),
    ...(refusesOnce === null ? [await startScriptedUpstream(script)] : []),
  ];
  const turnpike = await spawnTurnpike();
  const elsewhere = await startElsewhere();
  await turnpike.admin('POST', '/apply', { document: documentOf(program.model, kind, routes) });
  const { secret } = await turnpike.makeKey({ credit });
  const environment = {
    ...{ PATH: process.env['PATH'] ?? '', HOME: home, BASE_URL: turnpike.url, KEY: secret, MODEL: program.model },
    ...{ HTTPS_PROXY: elsewhere.url, HTTP_PROXY: elsewhere.url, NO_PROXY: '127.0.0.1' },
    ...program.prepare(home, blocksOf(program), turnpike.url),
    ...settings,
  };
  const run = (prompt: string, isContinued: boolean) =>
    runProgram(program, directory, environment, prompt, isContinued);
  const ran = await run('Do what is to be done.', false);
  const next = credit === '0' || refusesOnce !== null ? null : await run('What else?', true);
  const records = (await turnpike.admin('GET', '/usage?limit=1000'))['data'] as Json[];
  return {
    ...ran,
    ...{ directory, routes, requests, records: records.reverse(), turnpike },
    continued: next?.printed ?? [],
    callsElsewhere: elsewhere.calls,
    async [Symbol.asyncDispose]() {
      await turnpike.stop();
      for (const { close } of [...routes, elsewhere]) await close();
      for (const place of [directory, home]) rmSync(place, { recursive: true, force: true });
    },
  };
}

const isCloud = (kind: Kind): kind is Cloud => kind in cloudMembers;

function documentOf(model: string, kind: Kind, routes: readonly ScriptedUpstream[]): Json {
  const path = kind === 'openai' || kind === 'openai-responses' ? '/v1' : '';
  const route = { priority: 0, weight: 1, ...(isCloud(kind) && { model: cloudModels[kind] }) };
  const names = routes.map((_, place) => `route-${place + 1}`);
  return {
    providers: Object.fromEntries(
      routes.map(({ url }, place) => [
        names[place],
        {
          kind,
          base_url: url + path,
          api_key: 'sk-of-the-provider',
          private_network: true,
          ...(isCloud(kind) && cloudMembers[kind]),
        },
      ]),
    ),
    models: { [model]: { price, routes: names.map((provider) => ({ provider, ...route })) } },
  };
}

/** Runs the program with the `export` lines of the page; ended by its own id after RUN_MS_MAX. */
async function runProgram(
  program: AgentProgram,
  cwd: string,
  env: Record<string, string>,
  prompt: string,
  isContinued: boolean,
): Promise<Pick<AgentRun, 'exitCode' | 'printed' | 'errors'>> {
  const shown = blocksOf(program).find(({ language }) => language === 'sh');
  const lines = shown?.code.split('\n').filter((line) => line.startsWith('export ')) ?? [];
  const child = Bun.spawn(
    [
      ...['sh', '-euc', `${lines.join('\n')}\nexec "$@"`, 'sh', program.find() ?? ''],
      ...program.commandOf(prompt, isContinued),
    ],
    { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', timeout: RUN_MS_MAX },
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
