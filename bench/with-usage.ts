// A service that has millions of usage records: accounts and keys made by its admin API, their usage by direct SQL, on SQLite or on
// a PostgreSQL that is started for it. Everything is removed at the end.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { startPostgres } from '../test/support/start-postgres.ts';
import { fillPostgres } from './fill-postgres.ts';
import { fillUsage } from './fill-usage.ts';
import { readCpuMs, startMeasured } from './measured-process.ts';

const secret = Buffer.alloc(32, 5).toString('base64');

/** How many accounts there are, keys of each, and days over which their records are spread. */
export interface Shape {
  accounts: number;
  keys: number;
  days: number;
}

export const shapes: Readonly<Record<string, Shape>> = {
  spread: { accounts: 40, keys: 25, days: 90 },
  dense: { accounts: 1, keys: 1, days: 1 },
};

export interface Service {
  url: string;
  /** An operator's. */
  token: string;
  /** Processor time of service and database so far. */
  cpuMs(): Promise<number>;
}

/** Of the busiest account and key. */
export interface Ids {
  account: string;
  key: string;
  /** The token of a member who made the account's keys. */
  member: string;
}

/** `store` is sqlite or postgres. */
export async function withUsage(
  store: string,
  { accounts, keys, days }: Shape,
  records: number,
  use: (service: Service, ids: Ids) => Promise<void>,
): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-with-usage-'));
  const server = store === 'postgres' ? await startPostgres({ shared_buffers: '1GB', fsync: 'off' }) : null;
  const url = server === null ? null : (await server.newDatabase()).url;
  try {
    const ids = await serving(data, url, (service) => makeAccounts(service, accounts, keys));
    const startedMs = performance.now();
    if (url === null) fillUsage(join(data, 'turnpike.db'), records, Date.now(), days);
    else await fillPostgres(url, records, Date.now(), days);
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    console.log(`\n${store}: ${records} usage records of ${accounts * keys} keys, ${days} days, made in ${seconds} s`);
    await serving(data, url, (service) => use(service, ids));
  } finally {
    await server?.remove();
    rmSync(data, { recursive: true, force: true });
  }
}

async function serving<Value>(
  data: string,
  url: string | null,
  use: (service: Service) => Promise<Value>,
): Promise<Value> {
  const command = [process.execPath, join(import.meta.dir, '../src/main.ts'), 'serve', '--listen', '127.0.0.1:0'];
  const settings = url === null ? {} : { TURNPIKE_DATABASE_URL: url, TURNPIKE_SECRET: secret };
  const serve = await startMeasured([...command, '--data', data], { TURNPIKE_LOG: 'off', ...settings });
  const client = url === null ? null : new SQL({ url, max: 1 });
  const cpuMs = async () => serve.cpuMs() + (client === null ? 0 : await databaseCpuMs(client));
  try {
    const { token } = JSON.parse(readFileSync(join(data, 'operator.json'), 'utf8')) as { token: string };
    return await use({ url: serve.url, token, cpuMs });
  } finally {
    await client?.close();
    await serve.stop();
  }
}

async function databaseCpuMs(client: SQL): Promise<number> {
  const rows = (await client.unsafe("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")) as {
    pid: number;
  }[];
  return rows.reduce((sum, { pid }) => sum + readCpuMs(pid), 0);
}

/** The busiest account and key are those whose numbers are the least. */
async function makeAccounts(service: Service, accounts: number, keysOfAccount: number): Promise<Ids> {
  const keys: { id: string; account: string; member: string }[] = [];
  for (let at = 0; at < accounts; at++) {
    const account = (await post(service, service.token, '/accounts', { name: `account ${at}`, credit: '1000000.00' }))
      .id;
    const { token } = await post(service, service.token, '/tokens', { role: 'member', name: 'member', account });
    for (let key = 0; key < keysOfAccount; key++)
      keys.push({ id: (await post(service, token, '/keys', {})).id, account, member: token });
  }
  const [busiest] = keys.sort((one, other) => (one.id < other.id ? -1 : 1));
  if (busiest === undefined) throw new Error('there is no key');
  return { account: busiest.account, key: busiest.id, member: busiest.member };
}

export async function post(
  { url }: Pick<Service, 'url'>,
  token: string,
  path: string,
  members: object,
): Promise<{ id: string; token: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(members) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as { id: string; token: string };
}
