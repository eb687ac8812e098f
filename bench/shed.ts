// Measures load shedding: messages at a steady pace, alone and beside 500 callers whose bodies of 32 MB do
// not fit. What the served ones wait for, how soon the others are refused, and what memory it takes.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MeasuredProcess, startMeasured } from './measured-process.ts';
import type { ShedFigures } from './shed-clients.ts';

const refusedClients = Number(process.env['BENCH_REFUSED'] ?? 500);
const servedClients = Number(process.env['BENCH_SERVED'] ?? 32);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 10);
const pauseMs = 100; // of a served client between two messages
const bodyBytes = 32 * 1024 * 1024;
const bun = process.execPath;
const here = import.meta.dir;

const upstream = await startMeasured([bun, join(here, 'upstream.ts')]);
const data = mkdtempSync(join(tmpdir(), 'turnpike-shed-'));
const turnpike = await startTurnpike();
const [key, floodKey, heldKey] = [await makeKey(), await makeKey(), await makeKey()] as const;

try {
  await serve(2);
  const held = await holdBody();
  report('alone', await serve(seconds), null);
  for (const manners of ['polite', 'deaf']) {
    const flood = floodFor(seconds + 2, manners);
    await Bun.sleep(1_000);
    const peak = watchMemory();
    const served = await serve(seconds);
    report(`beside ${refusedClients} ${manners} callers`, served, await flood);
    console.log(`  resident at most ${peak().toFixed(0)} MB, at the end ${turnpike.residentMegabytes().toFixed(0)} MB`);
  }
  held();
} finally {
  for (const one of [turnpike, upstream]) await one.stop();
  rmSync(data, { recursive: true, force: true });
}

async function startTurnpike(): Promise<MeasuredProcess> {
  const file = join(data, 'apply.yaml');
  writeFileSync(
    file,
    `providers:
  bench: { kind: anthropic, base_url: ${upstream.url}, api_key: credential, private_network: true }
models:
  bench:
    price: { input: "3", output: "15" }
    routes: [{ provider: bench, model: upstream-model }]
settings:
  shed_body_bytes: ${bodyBytes + 8 * 1024 * 1024}
`,
  );
  const command = ['sh', join(here, '..', 'bin', 'turnpike'), 'serve', '--listen', '127.0.0.1:0', '--data', data];
  return startMeasured([...command, '--apply', file], { TURNPIKE_LOG: process.env['BENCH_LOG'] ?? 'json' });
}

/** A key of an account of its own. */
async function makeKey(): Promise<string> {
  const { token } = JSON.parse(readFileSync(join(data, 'operator.json'), 'utf8')) as { token: string };
  const post = async (path: string, more: object) => {
    const response = await fetch(`${turnpike.url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(more),
    });
    return (await response.json()) as { id: string; key: string };
  };
  const account = await post('/accounts', { name: 'bench', credit: '1000000.00' });
  return (await post('/keys', { account: account.id })).key;
}

/** One body of 32 MB that comes slowly: while it does, there is no room for another. */
async function holdBody(): Promise<() => void> {
  const { hostname, port } = new URL(turnpike.url);
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data() {} } });
  socket.write(
    `POST /v1/messages HTTP/1.1\r\nhost: a\r\nx-api-key: ${heldKey}\r\n` +
      `content-type: application/json\r\ncontent-length: ${bodyBytes}\r\n\r\n`,
  );
  const timer = setInterval(() => socket.write('x'.repeat(32 * 1024)), 500);
  return () => {
    clearInterval(timer);
    socket.end();
  };
}

/** Times in milliseconds of messages that were answered, in order of length. Throws when one was not. */
async function serve(forSeconds: number): Promise<number[]> {
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  const messages = [{ role: 'user', content: 'y'.repeat(920) }];
  const body = JSON.stringify({ model: 'bench', max_tokens: 1000, messages });
  const endMs = performance.now() + forSeconds * 1000;
  const timesMs: number[] = [];
  const sendAll = async () => {
    while (performance.now() < endMs) {
      const startedMs = performance.now();
      const response = await fetch(`${turnpike.url}/v1/messages`, { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
      timesMs.push(performance.now() - startedMs);
      await Bun.sleep(pauseMs * (0.5 + Math.random()));
    }
  };
  await Promise.all(Array.from({ length: servedClients }, sendAll));
  return timesMs.sort((one, other) => one - other);
}

async function floodFor(forSeconds: number, manners: string): Promise<ShedFigures> {
  const script = join(here, 'shed-clients.ts');
  const command = [bun, script, turnpike.url, floodKey, String(refusedClients), String(forSeconds), manners];
  return JSON.parse(await new Response(Bun.spawn(command, { stdout: 'pipe' }).stdout).text()) as ShedFigures;
}

/** Looks at the memory until it is asked for the most that it saw. */
function watchMemory(): () => number {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, turnpike.residentMegabytes());
  }, 50);
  return () => {
    clearInterval(timer);
    return most;
  };
}

function report(name: string, servedMs: number[], refused: ShedFigures | null): void {
  const at = (share: number) => (servedMs[Math.floor((servedMs.length - 1) * share)] ?? Number.NaN).toFixed(1);
  console.log(`${name}: ${servedMs.length} served, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms`);
  if (refused === null) return;
  const { answers, p50Ms, p99Ms, maxMs, megabytesSent } = refused;
  const words = Object.entries(answers).map(([status, count]) => `${count} of ${status}`);
  console.log(
    `  refused: ${words.join(', ')}; p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ` +
      `at most ${maxMs.toFixed(1)} ms; they sent ${megabytesSent.toFixed(0)} MB`,
  );
}
