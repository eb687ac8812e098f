// Measures four nodes on one, two and four PostgreSQL servers of one machine, each server with its part of the accounts: as separate
// installations, where each node belongs to one database.

import { SQL } from 'bun';
import { startPostgres } from '../test/support/start-postgres.ts';
import { DatabaseWatch } from './database-watch.ts';
import { HEADER, lineOf, load, makeKeys, type NodeFigures, type Sender } from './nodes.ts';
import { type Service, startService, startUpstream } from './processes.ts';

const databaseCounts = (process.env['BENCH_DATABASES'] ?? '1,2,4').split(',').map(Number);
const nodeCount = Number(process.env['BENCH_NODES'] ?? 4);
const accounts = Number(process.env['BENCH_ACCOUNTS'] ?? 1_000);
const requests = Number(process.env['BENCH_REQUESTS'] ?? 10_000);
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const connections = Number(process.env['BENCH_CONNECTIONS'] ?? 128);
const secret = Buffer.alloc(32, 5).toString('base64');

interface Arrangement {
  senders: Sender[];
  watches: DatabaseWatch[];
  figures: NodeFigures[];
}

const stops: (() => Promise<unknown>)[] = [];
await using upstream = await startUpstream();
try {
  const arrangements = new Map<number, Arrangement>();
  for (const count of databaseCounts) arrangements.set(count, await arrange(count));
  for (let round = 0; round <= rounds; round++)
    for (const { senders, watches, figures } of arrangements.values()) {
      const found = await load(senders, watches, { messages: requests, connections });
      if (round > 0) figures.push(found); // the first only warms up
    }
  console.log(
    `${nodeCount} nodes, ${accounts} accounts, ${connections} connections, ${requests} messages a round, medians of ${rounds}`,
  );
  console.log(HEADER.replace('nodes    ', 'databases'));
  for (const [count, { figures }] of arrangements) console.log(lineOf(String(count), figures));
} finally {
  for (const stop of stops.reverse()) await stop();
}

async function arrange(databases: number): Promise<Arrangement> {
  const senders: Sender[] = [];
  const watches: DatabaseWatch[] = [];
  for (let index = 0; index < databases; index++) {
    const server = await startPostgres({ max_connections: '100', shared_buffers: '128MB' });
    stops.push(() => server.remove());
    const database = await server.newDatabase();
    const environment = { TURNPIKE_DATABASE_URL: database.url, TURNPIKE_SECRET: secret };
    const nodes: Service[] = [];
    for (let node = index; node < nodeCount; node += databases) {
      const service = await startService(upstream, environment);
      stops.push(() => service.stop());
      nodes.push(service);
    }
    const watch = new DatabaseWatch(new SQL({ url: database.url, max: 1 }));
    stops.push(() => watch.close());
    watches.push(watch);
    const keys = await makeKeys(nodes[0] as Service, Math.ceil(accounts / databases));
    senders.push(...nodes.map((node) => ({ node, keys })));
  }
  return { senders, watches, figures: [] };
}
