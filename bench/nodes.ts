// Measures the cost of a message for one, two and three nodes on one PostgreSQL and for the database, against a service
// on SQLite: with one shared account, and with a thousand. The sandbox answers, so nothing else is measured.

import { SQL } from 'bun';
import { startPostgres } from '../test/support/start-postgres.ts';
import { DatabaseWatch } from './database-watch.ts';
import { type Figure, median, quantile, ratios } from './figures.ts';
import { gates } from './gates.ts';
import { bodyOf, models, post, type Service, startService, startUpstream } from './processes.ts';

const nodeCounts = (process.env['BENCH_NODES'] ?? '0,1,2,3').split(',').map(Number); // 0: SQLite
const connections = Number(process.env['BENCH_CONNECTIONS'] ?? 96);
const requests = Number(process.env['BENCH_REQUESTS'] ?? 10_000);
const accountCounts = (process.env['BENCH_ACCOUNTS'] ?? '1,1000').split(',').map(Number);
const callersAtOnce = 16;
const secret = Buffer.alloc(32, 5).toString('base64');
const body = bodyOf(400, { model: 'sandbox-echo', max_tokens: 100 });
const MESSAGES_ON_TIME = 500;

/** The figures of one round. */
export interface NodeFigures {
  perSecond: number;
  nodesMicroseconds: number;
  databaseMicroseconds: number;
  batchesPerSecond: number;
  bundlesPerBatch: number;
  waitingShare: number;
  p50Ms: number;
  p99Ms: number;
}

/** Keys by the number of their accounts: one account, or many. */
type Callers = Map<number, string[]>;

/** Measures nodes and database; the details go to the standard error output. */
export async function measureNodes(rounds: number): Promise<Figure[]> {
  await using upstream = await startUpstream();
  const server = await startPostgres({ max_connections: '200', shared_buffers: '256MB' });
  const services: Service[] = [];
  try {
    const database = await server.newDatabase();
    const environment = { TURNPIKE_DATABASE_URL: database.url, TURNPIKE_SECRET: secret };
    for (let node = 1; node <= Math.max(...nodeCounts); node++)
      services.push(await startService(upstream, environment));
    const many = services.slice();
    const single = nodeCounts.includes(0) ? await startService(upstream) : null;
    if (single !== null) services.push(single);
    const callersOfMany = many[0] === undefined ? new Map() : await makeCallers(many[0]);
    const callersOfSingle = single === null ? new Map() : await makeCallers(single);
    const watch = new DatabaseWatch(new SQL({ url: database.url, max: 1 }));
    const figures: Figure[] = [];
    const ofSingle: number[][] = [];
    for (const accounts of accountCounts) {
      const rows = new Map<number, NodeFigures[]>(nodeCounts.map((count) => [count, []]));
      for (let round = 0; round <= rounds; round++)
        for (const count of nodeCounts) {
          const nodes = count === 0 ? [single as Service] : many.slice(0, count);
          const keys = (count === 0 ? callersOfSingle : callersOfMany).get(accounts) as string[];
          const messages = round === 0 ? requests * nodes.length : requests; // the first round only warms up, every node alike
          const senders = nodes.map((node) => ({ node, keys }));
          const found = await load(senders, count === 0 ? [] : [watch], { messages, connections });
          if (round > 0) rows.get(count)?.push(found);
        }
      printDetails(accounts, rounds, rows);
      figures.push(...figuresOf(accounts, rows));
      if (single !== null) ofSingle.push((rows.get(0) ?? []).map((one) => one.nodesMicroseconds));
    }
    figures.push(...figuresOfSingle(ofSingle));
    await watch.close();
    if (many[0] !== undefined) figures.push(await measureTimeBeforeSending(many[0], rounds));
    return figures;
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    await server.remove();
  }
}

function figuresOf(accounts: number, rows: Map<number, NodeFigures[]>): Figure[] {
  const sums = (count: number) =>
    (rows.get(count) ?? []).map((one) => one.nodesMicroseconds + one.databaseMicroseconds);
  const [one, three] = [sums(1), sums(3)];
  if (one.length === 0 || three.length === 0) return [];
  const named = `${accounts} account${accounts === 1 ? '' : 's'}, PostgreSQL`;
  return [
    { what: `CPU of a message with the database’s, ${named}, 1 node`, unit: 'µs', values: one },
    { what: '— 3 nodes', unit: 'µs', values: three },
    { what: '— 3 nodes against 1', unit: 'x', values: ratios(three, one), gate: gates.manyNodes },
  ];
}

/** One service on SQLite, for each number of accounts. */
function figuresOfSingle(all: readonly number[][]): Figure[] {
  const names = accountCounts.map((accounts) => `${accounts} account${accounts === 1 ? '' : 's'}`);
  const figures = all.map(
    (values, at): Figure => ({ what: `CPU of a message, ${names[at]}, SQLite`, unit: 'µs', values }),
  );
  const [first, last] = [all[0], all.at(-1)];
  if (all.length < 2 || first === undefined || last === undefined) return figures;
  const what = `— ${names.at(-1)} against ${names[0]}`;
  return [...figures, { what, unit: 'x', values: ratios(last, first), gate: gates.manyAccounts }];
}

/** From the client's request to the provider's receipt of it, over one connection. */
async function measureTimeBeforeSending(node: Service, rounds: number): Promise<Figure> {
  const key = await node.makeKey();
  const clockBody = bodyOf(920, { model: models.clock });
  const values: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const tookMs: number[] = [];
    for (let at = 0; at < MESSAGES_ON_TIME; at++) {
      const sentAtMs = performance.timeOrigin + performance.now();
      const { id } = (await (await post(node, key, clockBody)).json()) as { id: string };
      tookMs.push(Number(id.slice('msg_'.length)) - sentAtMs);
    }
    values.push(median(tookMs));
  }
  return { what: 'time before a message is sent on, PostgreSQL, p50', unit: 'ms', values };
}

async function makeCallers(node: Service): Promise<Callers> {
  const callers: Callers = new Map();
  for (const count of accountCounts) callers.set(count, await makeKeys(node, count));
  return callers;
}

/** A key for each of so many new accounts. */
export async function makeKeys(node: Service, count: number): Promise<string[]> {
  const keys: string[] = [];
  const makeAll = async () => {
    while (keys.length < count) {
      const at = keys.push('') - 1;
      keys[at] = await node.makeKey({ groups: ['sandbox'], credit: '1000.00' });
    }
  };
  await Promise.all(Array.from({ length: callersAtOnce }, makeAll));
  return keys;
}

function printDetails(accounts: number, rounds: number, rows: Map<number, NodeFigures[]>): void {
  console.error(
    `\n${accounts} account(s), ${connections} connections, ${requests} messages a round, medians of ${rounds}`,
  );
  console.error(HEADER);
  for (const [count, ofCount] of rows) console.error(lineOf(count === 0 ? 'SQLite' : String(count), ofCount));
}

/** Above the lines of `lineOf`. */
export const HEADER =
  'nodes    messages/s  CPU µs: nodes  database   batches/s  messages a batch  waiting for locks   p50 / p99 ms';

/** Medians of the rounds. */
export function lineOf(name: string, all: NodeFigures[]): string {
  const of = (read: (figures: NodeFigures) => number, digits: number) => median(all.map(read)).toFixed(digits);
  return [
    name.padEnd(8),
    of(({ perSecond }) => perSecond, 0).padStart(10),
    of(({ nodesMicroseconds }) => nodesMicroseconds, 0).padStart(14),
    of(({ databaseMicroseconds }) => databaseMicroseconds, 0).padStart(9),
    of(({ batchesPerSecond }) => batchesPerSecond, 0).padStart(11),
    of(({ bundlesPerBatch }) => bundlesPerBatch / 2, 1).padStart(16), // a message is two bundles: an admission and an ending
    `${of(({ waitingShare }) => 100 * waitingShare, 0)} %`.padStart(18),
    `${of(({ p50Ms }) => p50Ms, 1)} / ${of(({ p99Ms }) => p99Ms, 1)}`.padStart(15),
  ].join(' ');
}

/** A node, and keys whose accounts are in its database. */
export interface Sender {
  node: Service;
  keys: readonly string[];
}

/** Sends the messages, spread over nodes and keys; throws when a response is not 200. `watches`: one for each database. */
export async function load(
  senders: readonly Sender[],
  watches: readonly DatabaseWatch[],
  { messages, connections }: { messages: number; connections: number },
): Promise<NodeFigures> {
  const nodes = senders.map(({ node }) => node);
  const batchesBefore = await readBatches(nodes);
  const nodesBefore = nodes.map((node) => node.cpuMs());
  await Promise.all(watches.map((watch) => watch.begin()));
  const startedMs = performance.now();
  const tookMs: number[] = [];
  let sent = 0;
  const sendAll = async () => {
    while (sent < messages) {
      const at = sent++;
      const { node, keys } = senders[at % senders.length] as Sender;
      const beganMs = performance.now();
      const response = await post(node, keys[at % keys.length] as string, body);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
      tookMs.push(performance.now() - beganMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendAll));
  const seconds = (performance.now() - startedMs) / 1000;
  const watched = await Promise.all(watches.map((watch) => watch.end()));
  const databaseMs = watched.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  const waiting = watched.reduce((sum, { waitingShare }) => sum + waitingShare, 0);
  const nodesMs = nodes.reduce((sum, node, at) => sum + node.cpuMs() - (nodesBefore[at] as number), 0);
  const batches = await readBatches(nodes);
  return {
    perSecond: messages / seconds,
    nodesMicroseconds: (nodesMs * 1000) / messages,
    databaseMicroseconds: (databaseMs * 1000) / messages,
    batchesPerSecond: (batches.count - batchesBefore.count) / seconds,
    bundlesPerBatch: (batches.sum - batchesBefore.sum) / (batches.count - batchesBefore.count),
    waitingShare: waiting / Math.max(1, watches.length),
    p50Ms: median(tookMs),
    p99Ms: quantile(tookMs, 0.99),
  };
}

async function readBatches(nodes: readonly Service[]): Promise<{ count: number; sum: number }> {
  const total = { count: 0, sum: 0 };
  for (const node of nodes) {
    const text = await node.scrape();
    for (const name of ['count', 'sum'] as const)
      total[name] += Number(new RegExp(`^turnpike_ledger_batch_bundles_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  }
  return total;
}

if (import.meta.main) await measureNodes(Number(process.env['BENCH_ROUNDS'] ?? 3));
