// Measures how long lists and reports take over millions of usage records, one after the other and nothing beside them: on
// SQLite and PostgreSQL, spread over 90 days and 1,000 keys, and all of one key within the last day.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { startPostgres } from '../test/support/start-postgres.ts';
import { fillPostgres } from './fill-postgres.ts';
import { fillUsage } from './fill-usage.ts';
import { readCpuMs, startMeasured } from './measured-process.ts';

const records = Number(process.env['BENCH_RECORDS'] ?? 10_000_000);
const stores = (process.env['BENCH_STORES'] ?? 'sqlite,postgres').split(',');
const shapes = (process.env['BENCH_SHAPES'] ?? 'spread,dense').split(',');
const times = Number(process.env['BENCH_TIMES'] ?? 5);
const secret = Buffer.alloc(32, 5).toString('base64');
const DAY_MS = 86_400_000;
const REST_MS = 100; // longer than the service itself rests after an answer

/** How many there are of what, and over how many days. */
const shapeOf: Record<string, { accounts: number; keys: number; days: number }> = {
  spread: { accounts: 40, keys: 25, days: 90 },
  dense: { accounts: 1, keys: 1, days: 1 },
};

for (const shape of shapes) for (const store of stores) await measure(store, shape);

async function measure(store: string, shape: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-report-times-'));
  const server = store === 'postgres' ? await startPostgres({ shared_buffers: '1GB', fsync: 'off' }) : null;
  const url = server === null ? null : (await server.newDatabase()).url;
  try {
    const { accounts, keys, days } = shapeOf[shape] as (typeof shapeOf)[string];
    const ids = await asked(data, url, (api) => makeAccounts(api, accounts, keys));
    const startedMs = performance.now();
    if (url === null) fillUsage(join(data, 'turnpike.db'), records, Date.now(), days);
    else await fillPostgres(url, records, Date.now(), days);
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    console.log(`\n${store}, ${shape}: ${records} usage records made in ${seconds} s`);
    await asked(data, url, (api) => askAll(api, ids));
  } finally {
    await server?.remove();
    rmSync(data, { recursive: true, force: true });
  }
}

interface Api {
  url: string;
  token: string;
  /** Processor time of service and database so far. */
  cpuMs(): Promise<number>;
}

/** Asks a service that is started for it. */
async function asked<Value>(data: string, url: string | null, ask: (api: Api) => Promise<Value>): Promise<Value> {
  const command = [process.execPath, join(import.meta.dir, '../src/main.ts'), 'serve', '--listen', '127.0.0.1:0'];
  const settings = url === null ? {} : { TURNPIKE_DATABASE_URL: url, TURNPIKE_SECRET: secret };
  const service = await startMeasured([...command, '--data', data], { TURNPIKE_LOG: 'off', ...settings });
  const client = url === null ? null : new SQL({ url, max: 1 });
  const cpuMs = async () => service.cpuMs() + (client === null ? 0 : await databaseCpuMs(client));
  try {
    const { token } = JSON.parse(readFileSync(join(data, 'operator.json'), 'utf8')) as { token: string };
    return await ask({ url: service.url, token, cpuMs });
  } finally {
    await client?.close();
    await service.stop();
  }
}

async function databaseCpuMs(client: SQL): Promise<number> {
  const rows = (await client.unsafe("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'")) as {
    pid: number;
  }[];
  return rows.reduce((sum, { pid }) => sum + readCpuMs(pid), 0);
}

interface Ids {
  account: string;
  key: string;
  /** The token of a member who made the account's keys. */
  member: string;
}

/** The busiest account and key are those whose numbers are the least. */
async function makeAccounts(api: Api, accounts: number, keysOfAccount: number): Promise<Ids> {
  const keys: { id: string; account: string; member: string }[] = [];
  for (let at = 0; at < accounts; at++) {
    const account = (await post(api, api.token, '/accounts', { name: `account ${at}`, credit: '1000000.00' })).id;
    const { token } = await post(api, api.token, '/tokens', { role: 'member', name: 'member', account });
    for (let key = 0; key < keysOfAccount; key++)
      keys.push({ id: (await post(api, token, '/keys', {})).id, account, member: token });
  }
  const [busiest] = keys.sort((one, other) => (one.id < other.id ? -1 : 1));
  if (busiest === undefined) throw new Error('there is no key');
  return { account: busiest.account, key: busiest.id, member: busiest.member };
}

async function post(api: Api, token: string, path: string, members: object): Promise<{ id: string; token: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(`${api.url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(members) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as { id: string; token: string };
}

async function askAll(api: Api, { account, key, member }: Ids): Promise<void> {
  const scopes: [name: string, query: string, token: string][] = [
    ['all', '', api.token],
    ['account', `&account=${account}`, api.token],
    ['key', `&key=${key}`, api.token],
    ['member', '', member],
  ];
  const until = new Date(Date.now() - 8 * 3_600_000).toISOString();
  for (const [scope, narrowed, token] of scopes) {
    const ask = (name: string, path: string) => askSome(api, token, `${scope}: ${name}`, `${path}${narrowed}`);
    await ask('usage, newest 100', '/usage?limit=100');
    await ask('usage, 1000 of the middle', `/usage?limit=1000&until=${until}`);
    await ask('usage, failed', '/usage?outcome=failed');
    await ask('usage, quota_cut, of which there is none', '/usage?outcome=quota_cut');
    await ask('usage, completed', '/usage?outcome=completed');
    await ask('usage of a model', '/usage?model=llama');
    await ask('usage of a model that nobody used', '/usage?model=none');
    await ask('usage, failed of a model that nobody used', '/usage?model=none&outcome=failed');
    for (const groupBy of ['day', 'model', 'key', 'account'])
      await ask(`totals by ${groupBy}, 90 days`, `/usage/totals?group_by=${groupBy}&since=${daysAgo(90)}`);
    await ask('totals of a model by day, 90 days', `/usage/totals?model=llama&since=${daysAgo(90)}`);
    for (const step of ['minute', 'five_minutes', 'hour', 'day'])
      await ask(`timeline by ${step}`, `/usage/timeline?step=${step}`);
    await ask('timeline by hour, 400', `/usage/timeline?step=hour&since=${daysAgo(16)}`);
    await ask('timeline by day, 400', `/usage/timeline?step=day&since=${daysAgo(399)}`);
    await ask('timeline of a model by hour', '/usage/timeline?step=hour&model=llama');
    await ask('timeline of a model by day', '/usage/timeline?step=day&model=llama');
  }
  await askSome(api, api.token, 'what needs somebody', '/attention');
  await askSome(api, member, 'what needs a member', '/attention');
  await askSome(api, api.token, 'entries, newest 100', `/accounts/${account}/entries?limit=100`);
  await askSome(
    api,
    api.token,
    'entries, 1000 of the middle',
    `/accounts/${account}/entries?limit=1000&until=${until}`,
  );
  await askSome(api, api.token, 'audit, newest 100', '/audit?limit=100');
  await askSome(api, api.token, 'audit of an account', `/audit?limit=100&account=${account}`);
}

/** The first time it may come from the disk; of the others the median. */
async function askSome(api: Api, token: string, name: string, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const tookMs: number[] = [];
  const cpuBeforeMs = await api.cpuMs();
  let text = '';
  for (let at = 0; at < times; at++) {
    const startedMs = performance.now();
    const response = await fetch(`${api.url}/api/v1${path}`, { headers });
    text = await response.text();
    if (!response.ok) throw new Error(`${name}: ${text}`);
    tookMs.push(performance.now() - startedMs);
    await Bun.sleep(REST_MS);
  }
  const [first = Number.NaN, ...others] = tookMs;
  const median = others.toSorted((one, other) => one - other)[Math.floor(others.length / 2)] ?? first;
  const cpuMs = (await api.cpuMs()) - cpuBeforeMs;
  const { since, counted_since: counted } = JSON.parse(text) as { since?: string; counted_since?: string };
  const isCut = counted !== undefined && counted !== since;
  const figures = [`first ${words(first)}`, `then ${words(median)}`, `${words(cpuMs / times)} of the processor`];
  console.log(`${name.padEnd(52)} ${figures.join(', ')}${isCut ? `, counted since ${counted}` : ''}`);
}

function words(ms: number): string {
  return `${ms.toFixed(0).padStart(5)} ms`;
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString();
}
