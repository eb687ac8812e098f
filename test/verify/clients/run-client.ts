// Runs the program of one client against a service of its own with a scripted provider. Tests judge what the client
// got, what the provider received and what is in the books.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RecordedRequest, type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { type Client, programsDirectory } from './clients.ts';
import { chatBodyOf, chatResultsOf } from './conversations/chat-words.ts';
import {
  type Conversation,
  type Got,
  type Held,
  type Json,
  modelOf,
  price,
  type Sent,
} from './conversations/conversation.ts';
import { MISSING_MODEL } from './conversations/failures.ts';
import { geminiRequestOf, geminiResultsOf } from './conversations/gemini-words.ts';
import { responsesBodyOf } from './conversations/responses-words.ts';
import { readRaw } from './read-raw.ts';

export const PROGRAM_MS_MAX = 90_000;
const SETTLED_MS_MAX = 5_000;

export interface Ran extends AsyncDisposable {
  exitCode: number | null;
  /** Output of the program on stderr. */
  errors: string;
  turnpike: TurnpikeProcess;
  /** Result of a conversation; null if the program printed none. */
  held(conversation: Conversation): Held | null;
}

/** Runs the program with these conversations. It is ended, by its own id, after PROGRAM_MS_MAX. */
export async function runClient(client: Client, conversations: readonly Conversation[]): Promise<Ran> {
  const stage = await startStage(conversations);
  const turnpike = await spawnTurnpike();
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-clients-'));
  try {
    await turnpike.admin('POST', '/apply', { document: documentOf(conversations, stage.upstream.url) });
    const { secret } = await turnpike.makeKey({ credit: '100' });
    const poor = await turnpike.makeKey({ credit: '0' });
    const file = join(directory, 'conversations.json');
    const asked = conversations.map(askedOf);
    writeFileSync(file, JSON.stringify({ conversations: asked }));
    for (const { name, body } of asked) writeFileSync(join(directory, `${name}.json`), JSON.stringify(body));
    const said = await runProgram(client.command, {
      BASE_URL: turnpike.url,
      KEY: secret,
      POOR_KEY: poor.secret,
      CONVERSATIONS: file,
      BODIES: directory,
      MISSING_MODEL,
    });
    await settle(turnpike);
    const records = (await turnpike.admin('GET', '/usage?limit=1000'))['data'] as Json[];
    const lines = said.printed.split('\n').filter((line) => line.startsWith('{'));
    const gots = new Map(lines.map((line) => readLine(JSON.parse(line))));
    return {
      ...said,
      turnpike,
      held(conversation) {
        const got = gots.get(conversation.name);
        if (got === undefined) return null;
        return {
          got,
          sent: stage.sent.filter(({ model }) => model === modelOf(conversation.name)),
          records: records.filter(({ model }) => model === modelOf(conversation.name)).reverse(),
          upstream: stage.upstream,
          refusedCount: (code) => countRefusals(turnpike, code),
        };
      },
      async [Symbol.asyncDispose]() {
        await turnpike.stop();
        await stage.upstream.close();
      },
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A provider that answers each request with the conversation that its model names. */
async function startStage(
  conversations: readonly Conversation[],
): Promise<{ upstream: ScriptedUpstream; sent: (Sent & { model: string })[] }> {
  const sent: (Sent & { model: string })[] = [];
  const open = new Map(conversations.map(({ name, upstream }) => [modelOf(name), [...upstream]]));
  const upstream = await startScriptedUpstream(async (answer, request) => {
    const json = await jsonOf(request);
    const model = String(json['model']);
    sent.push({ ...request, json, model });
    const scripts = open.get(model) ?? [];
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    return script?.(answer, request);
  });
  return { upstream, sent };
}

/** The body, or the fields of a form with its files in base64. */
async function jsonOf({ headers, bytes }: RecordedRequest): Promise<Json> {
  if (headers['content-type']?.startsWith('multipart/') !== true) return JSON.parse(bytes.toString()) as Json;
  const form = await new Response(new Uint8Array(bytes), { headers }).formData();
  const read = async (value: string | Blob) =>
    typeof value === 'string' ? value : Buffer.from(await value.arrayBuffer()).toString('base64');
  return Object.fromEntries(await Promise.all([...form].map(async ([name, value]) => [name, await read(value)])));
}

/** One provider per conversation, so that failures in one do not affect another. */
function documentOf(conversations: readonly Conversation[], url: string): Json {
  const usual = { kind: 'anthropic', base_url: url, api_key: 'sk-of-the-provider', private_network: true };
  return {
    providers: Object.fromEntries(conversations.map(({ name, provider }) => [`of-${name}`, { ...usual, ...provider }])),
    models: Object.fromEntries(
      conversations.map(({ name, model }) => [
        modelOf(name),
        { price, ...model, routes: [{ provider: `of-${name}` }] },
      ]),
    ),
  };
}

/** Input of the program for a conversation, in the format of each front. */
function askedOf(conversation: Conversation) {
  const { name, body, isStreamed, results, next } = conversation;
  const model = modelOf(name);
  return {
    ...{ name, isStreamed, next, missingModel: MISSING_MODEL },
    ...{ body: { model, ...body }, results },
    ...{ chat: { model, ...chatBodyOf(conversation) }, chatResults: chatResultsOf(conversation) },
    responses: { model, ...responsesBodyOf(conversation) },
    ...{ gemini: { model, ...geminiRequestOf(conversation) }, geminiResults: geminiResultsOf(conversation) },
  };
}

/** One line of the program's output: its result, or raw responses to parse here. */
function readLine({ conversation, got, raw }: { conversation: string; got?: Got; raw?: Json[] }): [string, Got] {
  return [conversation, got ?? readRaw(raw ?? [])];
}

/** Without API keys, base URLs and proxies of the machine, which the SDKs would read. */
function ownEnvironment(): Record<string, string | undefined> {
  const foreign = /^(?:ANTHROPIC|OPENAI|CLAUDE|GEMINI|GOOGLE|LANGSMITH|LANGCHAIN)_|_proxy$/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

/** Runs it beside the other programs, without the variables of the machine that clients would read, and ends it after this time. */
export async function runProgram(
  command: readonly string[],
  more: Record<string, string>,
  msMax = PROGRAM_MS_MAX,
): Promise<{ exitCode: number | null; printed: string; errors: string }> {
  const child = Bun.spawn([...command], {
    cwd: programsDirectory,
    env: { ...ownEnvironment(), ...more },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: msMax,
  });
  const [printed, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  return { exitCode: child.exitCode, printed, errors };
}

/** Waits until every message has a record, including aborted ones. */
async function settle(turnpike: TurnpikeProcess): Promise<void> {
  for (let waitedMs = 0; waitedMs < SETTLED_MS_MAX; waitedMs += 50) {
    if ((await turnpike.check()).open_holds === 0) return;
    await Bun.sleep(50);
  }
}

async function countRefusals(turnpike: TurnpikeProcess, code: string): Promise<number> {
  const page = await (await turnpike.scrape()).text();
  const counted = new RegExp(`^turnpike_refusals_total\\{code="${code}"\\} (\\d+)`, 'm').exec(page)?.[1];
  return Number(counted ?? 0);
}
