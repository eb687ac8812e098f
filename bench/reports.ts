// Measures whether reports slow down messages: a closed loop of messages, alternately alone and beside a hundred
// concurrent reports, on ten million usage records that it creates first. Linux only.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillUsage } from './fill-usage.ts';
import { type MeasuredProcess, startMeasured } from './measured-process.ts';
import type { ReportRequest, ReportTimes } from './report-client.ts';

const records = Number(process.env['BENCH_RECORDS'] ?? 10_000_000);
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 25);
const roundMs = Number(process.env['BENCH_ROUND_MS'] ?? 2_000);
const connections = Number(process.env['BENCH_CONNECTIONS'] ?? 16);
const accounts = 40;
const keysOfAccount = 25;
const here = import.meta.dir;

const data = process.env['BENCH_DATA'] ?? mkdtempSync(join(tmpdir(), 'turnpike-reports-'));
let turnpike = await serve();
try {
  const paying = await makeAccounts();
  await turnpike.stop();
  const startedMs = performance.now();
  fillUsage(join(data, 'turnpike.db'), records, Date.now());
  console.log(`${records} usage records created in ${Math.round((performance.now() - startedMs) / 1000)} s`);
  turnpike = await serve();
  await measure(paying);
} finally {
  await turnpike.stop();
  rmSync(data, { recursive: true, force: true });
}

function serve(): Promise<MeasuredProcess> {
  const command = ['sh', join(here, '..', 'bin', 'turnpike'), 'serve', '--listen', '127.0.0.1:0', '--data', data];
  return startMeasured(command, { TURNPIKE_LOG: 'off' });
}

function operatorToken(): string {
  return (JSON.parse(readFileSync(join(data, 'operator.json'), 'utf8')) as { token: string }).token;
}

/** Creates accounts with keys and credit. Returns the secret of the key that sends the messages. */
async function makeAccounts(): Promise<string> {
  const headers = { authorization: `Bearer ${operatorToken()}`, 'content-type': 'application/json' };
  const post = async (path: string, more: object) => {
    const response = await fetch(`${turnpike.url}/api/v1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(more),
    });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as { id: string; key: string };
  };
  let secret = '';
  for (let at = 0; at < accounts; at++) {
    const account = await post('/accounts', { name: `account ${at}`, credit: '1000000.00' });
    for (let key = 0; key < keysOfAccount; key++) secret = (await post('/keys', { account: account.id })).key;
  }
  return secret;
}

async function measure(secret: string): Promise<void> {
  const client = await startReportClient();
  const singleTimes = await client.request(0);
  await sendMessages(secret, 5 * roundMs);
  const alone: number[][] = [];
  const beside: number[][] = [];
  const concurrentTimes: ReportTimes[] = [];
  for (let round = 0; round < rounds; round++) {
    alone.push(await sendMessages(secret, roundMs));
    const pending = client.request(roundMs);
    beside.push(await sendMessages(secret, roundMs));
    concurrentTimes.push(await pending);
  }
  client.stop();
  console.log(
    `messages over ${connections} connections, alone and beside 100 concurrent reports, ${rounds} rounds each`,
  );
  describe('messages alone', alone);
  describe('messages beside reports', beside);
  const ratios = beside.map((latencies, round) => quantile(latencies, 0.99) / quantile(alone[round] ?? [], 0.99));
  const range = `${quantile(ratios, 0.25).toFixed(2)} to ${quantile(ratios, 0.75).toFixed(2)}`;
  console.log(`ratio of p99 beside reports to p99 alone: median ${median(ratios).toFixed(2)} (p25 to p75: ${range})`);
  printReportTimes(singleTimes, concurrentTimes);
  console.log(`memory ${turnpike.residentMegabytes().toFixed(0)} MB`);
}

function printReportTimes(single: ReportTimes, concurrent: ReportTimes[]): void {
  for (const [name, latencies] of Object.entries(single.latenciesMs)) {
    const beside = concurrent.flatMap((one) => one.latenciesMs[name] ?? []);
    console.log(`${name.padEnd(28)} alone ${words(median(latencies))}, one of 100 ${words(median(beside))}`);
  }
  const count = concurrent.flatMap((one) => Object.values(one.latenciesMs).flat()).length;
  const refused = concurrent.reduce((sum, one) => sum + one.refused, 0);
  console.log(`${Math.round((count * 1000) / (rounds * roundMs))} reports/s, ${refused} of them refused`);
}

/** Sends messages one after another over each connection. Resolves to their times in milliseconds. */
async function sendMessages(secret: string, forMs: number): Promise<number[]> {
  const headers = { 'content-type': 'application/json', 'x-api-key': secret };
  const messages = [{ role: 'user', content: 'y'.repeat(920) }];
  const body = JSON.stringify({ model: 'sandbox-echo', max_tokens: 1000, messages });
  const latencies: number[] = [];
  const endsAt = performance.now() + forMs;
  const sendAll = async () => {
    while (performance.now() < endsAt) {
      const startedMs = performance.now();
      const response = await fetch(`${turnpike.url}/v1/messages`, { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
      latencies.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendAll));
  return latencies;
}

async function startReportClient() {
  let heard: (message: unknown) => void = () => {};
  const child = Bun.spawn([process.execPath, join(here, 'report-client.ts')], {
    env: { ...process.env, ASK_URL: turnpike.url, ASK_TOKEN: operatorToken() },
    ipc: (message) => heard(message),
  });
  const next = () => new Promise<unknown>((resolve) => (heard = resolve));
  await next();
  const request = (ms: number) => {
    const answer = next();
    child.send({ ms } satisfies ReportRequest);
    return answer as Promise<ReportTimes>;
  };
  return { request, stop: () => child.kill() };
}

/** Quantiles over all rounds, so that other load on this machine affects both alike. */
function describe(name: string, turns: number[][]): void {
  const latencies = turns.flat();
  const of = (share: number) => words(quantile(latencies, share));
  const perSecond = Math.round((latencies.length * 1000) / (rounds * roundMs));
  console.log(`${name.padEnd(28)} p50 ${of(0.5)}, p99 ${of(0.99)}, p99.9 ${of(0.999)}, ${perSecond} messages/s`);
}

function quantile(values: number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? Number.NaN;
}

function median(values: number[]): number {
  return quantile(values, 0.5);
}

function words(ms: number): string {
  return `${ms.toFixed(2)} ms`;
}
