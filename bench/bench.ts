// Measures what a message costs: Turnpike, billing durably, beside a bare proxy on the same
// runtime, in turns within one run. The ratio of processor time a request is the figure to quote.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MeasuredProcess, startMeasured } from './measured-process.ts';

const connections = Number(process.env['BENCH_CONNECTIONS'] ?? 32);
const requests = Number(process.env['BENCH_REQUESTS'] ?? 20_000);
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
const streams = 200;
const streamEvents = 100; // as the upstream sends them, 50 a second in each stream
const bun = process.execPath;
const here = import.meta.dir;

interface Figures {
  cpuMicroseconds: number;
  requestsPerSecond: number;
}

const upstream = await startMeasured([bun, join(here, 'upstream.ts')]);
const bare = await startMeasured([bun, join(here, 'bare-proxy.ts'), upstream.url]);
const data = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
const turnpike = await startTurnpike();
const key = await makeKey();
const body = JSON.stringify({
  model: 'bench',
  max_tokens: 1000,
  messages: [{ role: 'user', content: 'y'.repeat(920) }],
});

try {
  await load(bare, 'none', Math.min(requests, 15_000));
  await load(turnpike, key, Math.min(requests, 15_000));
  const ofBare: Figures[] = [];
  const ofTurnpike: Figures[] = [];
  for (let round = 0; round < rounds; round++) {
    ofBare.push(await load(bare, 'none', requests));
    ofTurnpike.push(await load(turnpike, key, requests));
  }
  report(ofBare, ofTurnpike);
  await measureStreams();
} finally {
  for (const one of [turnpike, bare, upstream]) await one.stop();
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
`,
  );
  const command = [
    'sh',
    join(here, '..', 'bin', 'turnpike'),
    'serve',
    '--listen',
    '127.0.0.1:0',
    '--data',
    data,
    '--apply',
    file,
  ];
  return startMeasured(command, { TURNPIKE_LOG: process.env['BENCH_LOG'] ?? 'json' });
}

/** A key of an account that can pay for everything here. */
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

/** Sends `count` messages over `connections` connections; throws when one is not answered with 200. */
async function load(target: MeasuredProcess, secret: string, count: number): Promise<Figures> {
  const headers = { 'content-type': 'application/json', 'x-api-key': secret, 'anthropic-version': '2023-06-01' };
  const cpuBeforeMs = target.cpuMs();
  const startedMs = performance.now();
  let left = count;
  const sendAll = async () => {
    while (left-- > 0) {
      const response = await fetch(`${target.url}/v1/messages`, { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendAll));
  const seconds = (performance.now() - startedMs) / 1000;
  return { cpuMicroseconds: ((target.cpuMs() - cpuBeforeMs) * 1000) / count, requestsPerSecond: count / seconds };
}

/** What an event of a stream costs, relayed as it comes. */
async function measureStreams(): Promise<void> {
  const ofBare: number[] = [];
  const ofTurnpike: number[] = [];
  for (let round = 0; round < rounds; round++) {
    ofBare.push(await stream(bare, 'none'));
    ofTurnpike.push(await stream(turnpike, key));
  }
  const ratios = ofTurnpike.map((one, round) => one / (ofBare[round] ?? Number.NaN));
  console.log(
    `${streams} streams of ${streamEvents} events: bare relay ${median(ofBare).toFixed(1)} µs CPU an event, ` +
      `turnpike ${median(ofTurnpike).toFixed(1)}, ratio ${median(ratios).toFixed(2)}`,
  );
}

async function stream(target: MeasuredProcess, secret: string): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-api-key': secret };
  const cpuBeforeMs = target.cpuMs();
  const readOne = async () => {
    const asked = { method: 'POST', headers, body: JSON.stringify({ ...JSON.parse(body), stream: true }) };
    const text = await (await fetch(`${target.url}/v1/messages`, asked)).text();
    if (!text.includes('message_stop')) throw new Error(text.slice(-200));
  };
  await Promise.all(Array.from({ length: streams }, readOne));
  return ((target.cpuMs() - cpuBeforeMs) * 1000) / (streams * streamEvents);
}

function report(ofBare: Figures[], ofTurnpike: Figures[]): void {
  const line = (name: string, figures: Figures[], process: MeasuredProcess) =>
    console.log(
      `${name.padEnd(12)} ${median(figures.map((one) => one.cpuMicroseconds))
        .toFixed(1)
        .padStart(8)} µs CPU a request ` +
        `${Math.round(median(figures.map((one) => one.requestsPerSecond)))
          .toString()
          .padStart(8)} requests/s ` +
        `${process.residentMegabytes().toFixed(0).padStart(6)} MB`,
    );
  console.log(
    `${requests} messages a round, ${rounds} rounds in turns, ${connections} connections, ${body.length} bytes a body`,
  );
  line('bare proxy', ofBare, bare);
  line('turnpike', ofTurnpike, turnpike);
  const ratios = ofTurnpike.map((one, round) => one.cpuMicroseconds / (ofBare[round]?.cpuMicroseconds ?? Number.NaN));
  const rates = ofTurnpike.map(
    (one, round) => one.requestsPerSecond / (ofBare[round]?.requestsPerSecond ?? Number.NaN),
  );
  console.log(
    `ratio of CPU a request ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}), ` +
      `of requests/s ${median(rates).toFixed(2)}`,
  );
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
