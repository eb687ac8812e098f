// A service with millions of usage records: accounts and keys created over its admin API, their usage by direct SQL, on
// SQLite or on a PostgreSQL that it starts. Everything is removed at the end.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { parseId } from '../src/base/ids.ts';
import { startPostgres } from '../test/support/start-postgres.ts';
import { fillPostgres, fillPostgresWith } from './fill-postgres.ts';
import { type CompanyKey, postgres, sqlite, taggedTexts } from './fill-tagged.ts';
import { fillDatabase, fillUsage } from './fill-usage.ts';
import { readCpuMs, startMeasured } from './measured-process.ts';

const secret = Buffer.alloc(32, 5).toString('base64');

/** Numbers of accounts, keys per account, and days of records. */
export interface Shape {
  accounts: number;
  keys: number;
  days: number;
  /** The accounts are a company: one of one in ten departments, with teams below. Its people have keys, and messages have five tags. */
  people?: number;
  /** Models, of which each key uses four; without them, all keys use the same four. */
  models?: number;
}

export const shapes: Readonly<Record<string, Shape>> = {
  spread: { accounts: 40, keys: 25, days: 90 },
  large: { accounts: 1_000, keys: 10, days: 90, models: 100 },
  dense: { accounts: 1, keys: 1, days: 1 },
  tagged: { accounts: 60, keys: 5, days: 90, people: 200 },
};

export interface Service {
  url: string;
  /** An operator's token. */
  token: string;
  /** Processor time of service and database. */
  cpuMs(): Promise<number>;
  /** Memory of the service. */
  residentMegabytes(): number;
}

/** Ids of the busiest account and key. */
export interface Ids {
  account: string;
  key: string;
  /** The token of a member who created the account's keys. */
  member: string;
  /** The person with the busiest key, of a company. */
  person?: string;
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
  { accounts, keys, days, people = 0, models }: Shape,
  records: number,
  use: (serve: Serve, ids: Ids) => Promise<void>,
): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-with-usage-'));
  const server = store === 'postgres' ? await startPostgres({ shared_buffers: '1GB', fsync: 'off' }) : null;
  const url = server === null ? null : (await server.newDatabase()).url;
  const serve: Serve = (serviceUse) => serving(data, url, serviceUse);
  try {
    const company = people === 0 ? null : await serve((service) => makeCompany(service, accounts, keys, people));
    const ids = company?.ids ?? (await serve((service) => makeAccounts(service, accounts, keys)));
    const startedMs = performance.now();
    const [path, nowMs] = [join(data, 'turnpike.db'), Date.now()];
    if (company !== null && url === null)
      fillDatabase(path, (database) => {
        for (const text of taggedTexts(sqlite, company.keys, records, nowMs, days)) database.run(text);
      });
    else if (company !== null && url !== null)
      await fillPostgresWith(url, nowMs, days, taggedTexts(postgres, company.keys, records, nowMs, days));
    else if (url === null) fillUsage(path, records, nowMs, { days, models });
    else await fillPostgres(url, records, nowMs, { days, models });
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
    return await use({ url: serve.url, token, cpuMs, residentMegabytes: serve.residentMegabytes });
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

const DEPARTMENTS = 9;

/** A company with departments, teams, people and keys; the first key is the busiest. */
async function makeCompany(service: Service, accounts: number, keysOfAccount: number, people: number) {
  const create = async (path: string, members: object) => (await post(service, service.token, path, members)).id;
  const top = await create('/accounts', { name: 'company', credit: '9000000.00' });
  const places: { id: string; above: string[] }[] = [{ id: top, above: [] }];
  for (let at = 1; at < accounts; at++) {
    const parent = places[at <= DEPARTMENTS ? 0 : 1 + (at % DEPARTMENTS)] ?? { id: top, above: [] };
    const id = await create('/accounts', { name: `account ${at}`, parent: parent.id, pays_from: 'parent' });
    places.push({ id, above: [parent.id, ...parent.above] });
  }
  const staff: string[] = [];
  for (let at = 0; at < people; at++)
    staff.push(await create('/people', { role: 'member', email: `person-${at}@example.com`, account: top }));
  const keys: (CompanyKey & { text: string })[] = [];
  for (let at = 0; at < accounts * keysOfAccount; at++) {
    const { id, above } = places[at % accounts] as (typeof places)[number];
    const person = at < people ? (staff[at] as string) : null;
    const key = await create('/keys', { account: id, person });
    const [account, ...higher] = [id, ...above].map((one) => parseId('acct', one) ?? 0) as [number, ...number[]];
    keys.push({
      id: parseId('key', key) ?? 0,
      account,
      above: higher,
      person: parseId('person', person ?? '') ?? 0,
      text: key,
    });
  }
  const ids: Ids = { account: top, key: keys[0]?.text ?? '', member: service.token, person: staff[0] ?? '' };
  return { ids, keys };
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
