// Measures load shedding: messages at a steady pace, alone and beside 500 clients whose bodies of 32 MB exceed the limit.
// Prints the latency of served messages, the time to refusal, and memory.

import { join } from 'node:path';
import { quantile } from './figures.ts';
import { bodyOf, post, startService, startUpstream } from './processes.ts';
import type { ShedFigures } from './shed-clients.ts';

const refusedClients = Number(process.env['BENCH_REFUSED'] ?? 500);
const servedClients = Number(process.env['BENCH_SERVED'] ?? 32);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 10);
const pauseMs = 100; // between two messages of a served client
const bodyBytes = 32 * 1024 * 1024;
const bun = process.execPath;
const here = import.meta.dir;

const upstream = await startUpstream();
const settings = { shed_body_bytes: bodyBytes + 8 * 1024 * 1024 };
const turnpike = await startService(upstream, { TURNPIKE_LOG: process.env['BENCH_LOG'] ?? 'json' }, settings);
const [key, floodKey, heldKey] = [await turnpike.makeKey(), await turnpike.makeKey(), await turnpike.makeKey()];

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
}

/** One slow body of 32 MB, which occupies all memory for bodies. */
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

/** Times of answered messages in milliseconds. Throws if a message is not answered. */
async function serve(forSeconds: number): Promise<number[]> {
  const body = bodyOf(920);
  const endMs = performance.now() + forSeconds * 1000;
  const timesMs: number[] = [];
  const sendAll = async () => {
    while (performance.now() < endMs) {
      const startedMs = performance.now();
      const response = await post(turnpike, key, body);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
      timesMs.push(performance.now() - startedMs);
      await Bun.sleep(pauseMs * (0.5 + Math.random()));
    }
  };
  await Promise.all(Array.from({ length: servedClients }, sendAll));
  return timesMs;
}

async function floodFor(forSeconds: number, manners: string): Promise<ShedFigures> {
  const script = join(here, 'shed-clients.ts');
  const command = [bun, script, turnpike.url, floodKey, String(refusedClients), String(forSeconds), manners];
  return JSON.parse(await new Response(Bun.spawn(command, { stdout: 'pipe' }).stdout).text()) as ShedFigures;
}

/** Samples the memory. Returns a function that stops and returns the maximum. */
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
  const at = (share: number) => quantile(servedMs, share).toFixed(1);
  console.log(`${name}: ${servedMs.length} served, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, at most ${at(1)} ms`);
  if (refused === null) return;
  const { answers, p50Ms, p99Ms, maxMs, megabytesSent } = refused;
  const words = Object.entries(answers).map(([status, count]) => `${count} of ${status}`);
  console.log(
    `  refused: ${words.join(', ')}; p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ` +
      `at most ${maxMs.toFixed(1)} ms; they sent ${megabytesSent.toFixed(0)} MB`,
  );
}
