// Measures what a message costs one, two and three nodes on one PostgreSQL, and the database itself, beside a service on
// SQLite: on one account that all share, and on a thousand. The provider is the sandbox, so that nothing else is measured.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { startPostgres } from '../test/support/start-postgres.ts';
import { DatabaseWatch } from './database-watch.ts';
import { type MeasuredProcess, startMeasured } from './measured-process.ts';

const nodeCounts = (process.env['BENCH_NODES'] ?? '0,1,2,3').split(',').map(Number); // 0: SQLite
const connections = Number(process.env['BENCH_CONNECTIONS'] ?? 96);
const requests = Number(process.env['BENCH_REQUESTS'] ?? 10_000);
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const accountCounts = (process.env['BENCH_ACCOUNTS'] ?? '1,1000').split(',').map(Number);
const callersAtOnce = 16;
const secret = Buffer.alloc(32, 5).toString('base64');
const body = JSON.stringify({
  model: 'sandbox-echo',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'y'.repeat(400) }],
});

interface Node extends MeasuredProcess {
  token: string;
}

interface Figures {
  perSecond: number;
  nodesMicroseconds: number;
  databaseMicroseconds: number;
  batchesPerSecond: number;
  bundlesPerBatch: number;
  waitingShare: number;
  p50Ms: number;
  p99Ms: number;
}

/** The keys of one installation: those of one account, those of many. */
type Callers = Map<number, string[]>;

const directory = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
const server = await startPostgres({ max_connections: '200', shared_buffers: '256MB' });
try {
  const database = await server.newDatabase();
  const many: Node[] = [];
  for (let node = 1; node <= Math.max(...nodeCounts); node++) many.push(await startNode(`node-${node}`, database.url));
  const single = nodeCounts.includes(0) ? await startNode('sqlite', null) : null;
  try {
    const callersOfMany = many.length === 0 ? new Map() : await makeCallers(many[0] as Node);
    const callersOfSingle = single === null ? new Map() : await makeCallers(single);
    const watch = new DatabaseWatch(new SQL({ url: database.url, max: 1 }));
    for (const accounts of accountCounts) await measure(accounts, single, many, callersOfSingle, callersOfMany, watch);
    await watch.close();
  } finally {
    await Promise.all([...many, ...(single === null ? [] : [single])].map((node) => node.stop()));
  }
} finally {
  await server.remove();
  rmSync(directory, { recursive: true, force: true });
}

async function startNode(name: string, databaseUrl: string | null): Promise<Node> {
  const data = join(directory, name);
  const command = [
    'sh',
    join(import.meta.dir, '..', 'bin', 'turnpike'),
    'serve',
    '--listen',
    '127.0.0.1:0',
    '--data',
    data,
  ];
  const settings = databaseUrl === null ? {} : { TURNPIKE_DATABASE_URL: databaseUrl, TURNPIKE_SECRET: secret };
  const process = await startMeasured(command, settings as Record<string, string>);
  const { token } = JSON.parse(readFileSync(join(data, 'operator.json'), 'utf8')) as { token: string };
  return Object.assign(process, { token });
}

async function makeCallers(node: Node): Promise<Callers> {
  const callers: Callers = new Map();
  for (const count of accountCounts) {
    const keys: string[] = [];
    const makeAll = async () => {
      while (keys.length < count) {
        const at = keys.push('') - 1;
        const account = await post(node, '/accounts', { name: 'bench', groups: ['sandbox'], credit: '1000.00' });
        keys[at] = (await post(node, '/keys', { account: account.id })).key;
      }
    };
    await Promise.all(Array.from({ length: callersAtOnce }, makeAll));
    callers.set(count, keys);
  }
  return callers;
}

async function post(node: Node, path: string, more: object): Promise<{ id: string; key: string }> {
  const response = await fetch(`${node.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${node.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(more),
  });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as { id: string; key: string };
}

/** Rounds in turns, so that what else goes on costs all of them alike. */
async function measure(
  accounts: number,
  single: Node | null,
  many: readonly Node[],
  callersOfSingle: Callers,
  callersOfMany: Callers,
  watch: DatabaseWatch,
): Promise<void> {
  const figures = new Map<number, Figures[]>(nodeCounts.map((count) => [count, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const count of nodeCounts) {
      const nodes = count === 0 ? [single as Node] : many.slice(0, count);
      const keys = (count === 0 ? callersOfSingle : callersOfMany).get(accounts) as string[];
      const found = await load(nodes, keys, count === 0 ? null : watch);
      if (round > 0) figures.get(count)?.push(found); // the first is for warming up
    }
  }
  console.log(
    `\n${accounts} account(s), ${connections} connections, ${requests} messages a round, medians of ${rounds}`,
  );
  console.log(
    'nodes    messages/s  CPU µs: nodes  database   batches/s  messages a batch  waiting for locks   p50 / p99 ms',
  );
  for (const [count, ofCount] of figures) console.log(lineOf(count === 0 ? 'SQLite' : String(count), ofCount));
}

function lineOf(name: string, all: Figures[]): string {
  const of = (read: (figures: Figures) => number, digits: number) => median(all.map(read)).toFixed(digits);
  return [
    name.padEnd(8),
    of(({ perSecond }) => perSecond, 0).padStart(10),
    of(({ nodesMicroseconds }) => nodesMicroseconds, 0).padStart(14),
    of(({ databaseMicroseconds }) => databaseMicroseconds, 0).padStart(9),
    of(({ batchesPerSecond }) => batchesPerSecond, 0).padStart(11),
    of(({ bundlesPerBatch }) => bundlesPerBatch / 2, 1).padStart(16), // a message is an admission and an ending
    `${of(({ waitingShare }) => 100 * waitingShare, 0)} %`.padStart(18),
    `${of(({ p50Ms }) => p50Ms, 1)} / ${of(({ p99Ms }) => p99Ms, 1)}`.padStart(15),
  ].join(' ');
}

/** Sends the messages, spread over nodes and keys; throws when one is not answered with 200. */
async function load(nodes: readonly Node[], keys: readonly string[], watch: DatabaseWatch | null): Promise<Figures> {
  const batchesBefore = await readBatches(nodes);
  const nodesBefore = nodes.map((node) => node.cpuMs());
  await watch?.begin();
  const startedMs = performance.now();
  const tookMs: number[] = [];
  let sent = 0;
  const sendAll = async () => {
    while (sent < requests) {
      const at = sent++;
      const node = nodes[at % nodes.length] as Node;
      const beganMs = performance.now();
      const headers = { 'content-type': 'application/json', 'x-api-key': keys[at % keys.length] as string };
      const response = await fetch(`${node.url}/v1/messages`, { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
      tookMs.push(performance.now() - beganMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendAll));
  const seconds = (performance.now() - startedMs) / 1000;
  const database = (await watch?.end()) ?? { cpuMs: 0, waitingShare: 0 };
  const nodesMs = nodes.reduce((sum, node, at) => sum + node.cpuMs() - (nodesBefore[at] as number), 0);
  const batches = await readBatches(nodes);
  tookMs.sort((one, other) => one - other);
  return {
    perSecond: requests / seconds,
    nodesMicroseconds: (nodesMs * 1000) / requests,
    databaseMicroseconds: (database.cpuMs * 1000) / requests,
    batchesPerSecond: (batches.count - batchesBefore.count) / seconds,
    bundlesPerBatch: (batches.sum - batchesBefore.sum) / (batches.count - batchesBefore.count),
    waitingShare: database.waitingShare,
    p50Ms: tookMs[Math.floor(requests * 0.5)] ?? Number.NaN,
    p99Ms: tookMs[Math.floor(requests * 0.99)] ?? Number.NaN,
  };
}

async function readBatches(nodes: readonly Node[]): Promise<{ count: number; sum: number }> {
  const total = { count: 0, sum: 0 };
  for (const node of nodes) {
    const headers = { authorization: `Bearer ${node.token}` };
    const text = await (await fetch(`${node.url}/metrics`, { headers })).text();
    for (const name of ['count', 'sum'] as const)
      total[name] += Number(new RegExp(`^turnpike_ledger_batch_bundles_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  }
  return total;
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
