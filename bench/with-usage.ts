// A service with millions of usage records: accounts and keys created over its admin API, their usage by direct SQL, on
// SQLite or on a PostgreSQL that it starts. Everything is removed at the end.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { startPostgres } from '../test/support/start-postgres.ts';
import { fillPostgres } from './fill-postgres.ts';
import { fillUsage } from './fill-usage.ts';
import { readCpuMs, startMeasured } from './measured-process.ts';

const secret = Buffer.alloc(32, 5).toString('base64');

/** Numbers of accounts, keys per account, and days of records. */
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
  /** An operator's token. */
  token: string;
  /** Processor time of service and database. */
  cpuMs(): Promise<number>;
}

/** Ids of the busiest account and key. */
export interface Ids {
  account: string;
  key: string;
  /** The token of a member who created the account's keys. */
  member: string;
}

/** Starts the service on the store, and stops it after the use. */
export type Serve = <Value>(use: (service: Service) => Promise<Value>) => Promise<Value>;

/** A running service on a store with usage records; `store` is sqlite or postgres. */
export function withUsage(
  store: string,
  shape: Shape,
  records: number,
  use: (service: Service, ids: Ids) => Promise<void>,
): Promise<void> {
  return withStore(store, shape, records, (serve, ids) => serve((service) => use(service, ids)));
}

/** A store with usage records. */
export async function withStore(
  store: string,
  { accounts, keys, days }: Shape,
  records: number,
  use: (serve: Serve, ids: Ids) => Promise<void>,
): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-with-usage-'));
  const server = store === 'postgres' ? await startPostgres({ shared_buffers: '1GB', fsync: 'off' }) : null;
  const url = server === null ? null : (await server.newDatabase()).url;
  const serve: Serve = (serviceUse) => serving(data, url, serviceUse);
  try {
    const ids = await serve((service) => makeAccounts(service, accounts, keys));
    const startedMs = performance.now();
    if (url === null) fillUsage(join(data, 'turnpike.db'), records, Date.now(), days);
    else await fillPostgres(url, records, Date.now(), days);
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    console.log(
      `\n${store}: ${records} usage records of ${accounts * keys} keys, ${days} days, created in ${seconds} s`,
    );
    await use(serve, ids);
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

const CREATIONS_AT_ONCE = 16;

/** The busiest account and key have the lowest numbers. */
async function makeAccounts(service: Service, accounts: number, keysOfAccount: number): Promise<Ids> {
  const keys: { id: string; account: string; member: string }[] = [];
  for (let at = 0; at < accounts; at++) {
    const account = (await post(service, service.token, '/accounts', { name: `account ${at}`, credit: '1000000.00' }))
      .id;
    const { token } = await post(service, service.token, '/tokens', { role: 'member', name: 'member', account });
    let left = keysOfAccount;
    const makeAll = async () => {
      while (left-- > 0) keys.push({ id: (await post(service, token, '/keys', {})).id, account, member: token });
    };
    await Promise.all(Array.from({ length: CREATIONS_AT_ONCE }, makeAll));
  }
  const [busiest] = keys.sort((one, other) => (one.id < other.id ? -1 : 1));
  if (busiest === undefined) throw new Error('no key was created');
  return { account: busiest.account, key: busiest.id, member: busiest.member };
}

export async function post(
  { url }: Pick<Service, 'url'>,
  token: string,
  path: string,
  members: object,
): Promise<{ id: string; token: string; key: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(members) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as { id: string; token: string; key: string };
}
