// Replays cases: requests of clients and answers of providers that someone reported. A case is a folder with a readme.md, and either
// requests (request*.json) and the provider's answer (upstream.json or upstream.sse), or a program (run.sh or run.py) that is
// given BASE, PORT, KEY and TOKEN. No tests of its own.

import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

/** Characters of a body that are printed. */
const SHOWN_MAX = 2_000;
const PROGRAM_MS_MAX = 60_000;

export interface Replayed {
  /** Name of the folder and of the request's file. */
  name: string;
  path: string;
  status: number;
  /** Path and body of the last request to the provider; null if there was none. */
  sent: string | null;
  /** Body of the answer. */
  came: string;
  /** The usage record as the key reads it; null without one. */
  recorded: Record<string, unknown> | null;
}

export interface ReplayedCase {
  name: string;
  /** The right result, as the README words it. */
  right: string;
  requests: Replayed[];
  /** Output of the program; null if the case has none. */
  printed: string | null;
  /** Facts of `right` that no result has: a status, strings in quotes, counts such as "input_tokens 1500", or a success. */
  unseen: string[];
}

/** The folders of cases in this folder, or the folder itself if it is a case. */
export function findCases(directory: string, names: readonly string[] = []): string[] {
  if (isCase(directory)) return [directory];
  return readdirSync(directory)
    .filter((name) => names.length === 0 || names.some((start) => name.startsWith(start)))
    .map((name) => join(directory, name))
    .filter(isCase)
    .sort();
}

/** Sends the requests of a case in the order of their names, with a new key, or runs its program. */
export async function replayCase(turnpike: Turnpike, directory: string): Promise<ReplayedCase> {
  const readme = readFileSync(join(directory, readmeIn(directory) ?? ''), 'utf8');
  await using upstream = await startProvider(directory, readme);
  await turnpike.admin('POST', '/apply', { document: documentOf(directory, upstream.url) });
  const { secret } = await turnpike.makeKey();
  const requests: Replayed[] = [];
  for (const name of requestsIn(directory)) {
    const file = { name, path: pathOf(readme, name), body: readFileSync(join(directory, name), 'utf8') };
    requests.push(await send(turnpike.url, secret, upstream, file));
  }
  const right = /^- Right: (.*)$/m.exec(readme)?.[1] ?? '';
  const unseen = factsOf(right).filter((fact) => !isSeen(fact, requests));
  const isRefused = requests.some(({ status }) => status >= 400) && !/^[45]\d{2}\b/.test(right);
  return {
    ...{ name: basename(directory), right, requests },
    printed: await runProgram(turnpike, secret, directory),
    unseen: [...unseen, ...(isRefused ? ['a success'] : [])],
  };
}

/** Describes a case for a reader, one line for each part. */
export function describeCase({ name, right, requests, printed, unseen }: ReplayedCase): string {
  const lines = requests.flatMap((one) => [
    `${one.name} to POST ${one.path}: ${one.status}`,
    `  sent      ${one.sent === null ? 'nothing' : show(one.sent)}`,
    `  came      ${show(one.came)}`,
    `  recorded  ${one.recorded === null ? 'nothing' : JSON.stringify(one.recorded)}`,
  ]);
  if (printed !== null) lines.push(`  printed   ${show(printed)}`);
  if (unseen.length > 0) lines.push(`  NOT SEEN  ${unseen.join(', ')}`);
  return [`=== ${name}`, ...lines, `  right     ${right}`].join('\n');
}

function show(text: string): string {
  const lines = text.trimEnd().split(/\n+/).join('\n            ');
  return lines.length > SHOWN_MAX ? `${lines.slice(0, SHOWN_MAX)}…` : lines;
}

const isCase = (directory: string) =>
  readmeIn(directory) !== undefined && (requestsIn(directory).length > 0 || programIn(directory) !== undefined);

/** Its letters may be of either case: README.md is usual elsewhere. */
const readmeIn = (directory: string) =>
  lstatSync(directory).isDirectory() ? readdirSync(directory).find((name) => /^readme\.md$/i.test(name)) : undefined;

const programIn = (directory: string) => ['run.sh', 'run.py'].find((name) => existsSync(join(directory, name)));

/** "request.json" comes first. */
const requestsIn = (directory: string) =>
  readdirSync(directory)
    .filter((name) => /^request.*\.json$/.test(name))
    .sort((one, other) => one.length - other.length || (one < other ? -1 : 1));

/** The configuration beside the case or above it, with every provider on loopback at this address. */
function documentOf(directory: string, upstreamUrl: string): object {
  const file = [join(directory, 'turnpike.yaml'), join(directory, '..', 'turnpike.yaml')].find(existsSync);
  if (file === undefined) return {};
  return parse(readFileSync(file, 'utf8').replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, upstreamUrl)) as object;
}

/** Answers every request with the case's file. Its status stands behind the file's name in the README. */
async function startProvider(directory: string, readme: string): Promise<ScriptedUpstream> {
  const file = ['upstream.sse', 'upstream.json'].find((name) => existsSync(join(directory, name)));
  const status = Number(/upstream\.(?:json|sse) (\d{3})\b/.exec(readme)?.[1] ?? 200);
  const body = file === undefined ? '' : readFileSync(join(directory, file), 'utf8');
  const type = file === 'upstream.sse' ? 'text/event-stream' : 'application/json';
  return startScriptedUpstream((answer) =>
    answer.send(file === undefined ? 500 : status, { 'content-type': type }, body),
  );
}

/** The README names requests before their path: "`request.json`, then `request-2.json`, to POST /v1/messages". */
function pathOf(readme: string, file: string): string {
  const paths = [...readme.matchAll(/([^\n]*?) to POST (\/[^\s;,)]*[^\s;,.)])/g)];
  const [, , path] = paths.find(([, before]) => before?.includes(`\`${file}\``)) ?? paths[0] ?? [];
  if (path === undefined) throw new Error(`the README names no path: "Send: \`${file}\` to POST /v1/messages"`);
  return path;
}

async function send(
  url: string,
  secret: string,
  upstream: ScriptedUpstream,
  { name, path, body }: { name: string; path: string; body: string },
): Promise<Replayed> {
  const sentBefore = upstream.requests.length;
  const headers = { 'content-type': 'application/json', ...credentialsOf(path, secret) };
  const response = await fetch(url + path, { method: 'POST', headers, body });
  const came = await response.text();
  const last = upstream.requests.slice(sentBefore).at(-1);
  return {
    ...{ name, path, came, status: response.status },
    sent: last === undefined ? null : `${last.path} ${JSON.stringify(JSON.parse(last.body))}`,
    recorded: await readRecord(url, secret, response.headers.get('request-id')),
  };
}

async function runProgram(turnpike: Turnpike, secret: string, directory: string): Promise<string | null> {
  const program = programIn(directory);
  if (program === undefined) return null;
  const { token } = JSON.parse(readFileSync(join(turnpike.dataDirectory, 'operator.json'), 'utf8')) as {
    token: string;
  };
  const child = Bun.spawn([program.endsWith('.py') ? 'python3' : 'sh', program], {
    cwd: directory,
    env: { ...process.env, BASE: turnpike.url, PORT: new URL(turnpike.url).port, KEY: secret, TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: PROGRAM_MS_MAX,
  });
  const [printed, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return `${`${printed}${errors}`.trimEnd()}\nended with ${await child.exited}`;
}

function credentialsOf(path: string, secret: string): Record<string, string> {
  if (path.startsWith('/v1beta')) return { 'x-goog-api-key': secret };
  return path.startsWith('/v1/messages') ? { 'x-api-key': secret } : { authorization: `Bearer ${secret}` };
}

async function readRecord(url: string, secret: string, id: string | null): Promise<Record<string, unknown> | null> {
  if (id === null) return null;
  const response = await fetch(`${url}/v1/usage/${id}`, { headers: { 'x-api-key': secret } });
  const body = (await response.json()) as Record<string, unknown>;
  return response.ok ? body : null;
}

function factsOf(right: string): string[] {
  const status = /^\d{3}\b/.exec(right)?.[0];
  const counts = [...right.matchAll(/\b(?:[a-z]+_tokens|charged) \d+(?:\.\d+)?/g)].map(([fact]) => fact);
  return [...(status === undefined ? [] : [status]), ...counts, ...(right.match(/"[^"]+"/g) ?? [])];
}

function isSeen(fact: string, requests: readonly Replayed[]): boolean {
  return requests.some(({ status, sent, came, recorded }) => {
    if (fact.startsWith('"')) return `${sent} ${came}`.includes(fact); // A whole string of JSON, not a part of one.
    const [name, value] = fact.split(' ');
    return value === undefined ? String(status) === name : String(recorded?.[name ?? '']) === value;
  });
}
