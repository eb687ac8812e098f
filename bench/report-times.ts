// Measures how long lists and reports take over millions of usage records, one at a time, on SQLite and PostgreSQL:
// spread over 90 days and 1,000 keys, all of one key within the last day, and of a company with five tags on each message.

import { type Ids, type Service, shapes, withUsage } from './with-usage.ts';

const records = Number(process.env['BENCH_RECORDS'] ?? 10_000_000);
const stores = (process.env['BENCH_STORES'] ?? 'sqlite,postgres').split(',');
const shapeNames = (process.env['BENCH_SHAPES'] ?? 'spread,dense,tagged').split(',');
const times = Number(process.env['BENCH_TIMES'] ?? 5);
const DAY_MS = 86_400_000;
/** Only the questions whose names match. */
const only = new RegExp(process.env['BENCH_ONLY'] ?? '');
const REST_MS = 100; // longer than the service pauses after a report

/** By what no index serves: what nearly all records have, what few have, and what none has. */
const filters: [name: string, query: string][] = [
  ['all', ''],
  ['last day', `since=${daysAgo(1)}`],
  ['529', 'status=529'],
  ['upstream_overloaded', 'error=upstream_overloaded'],
  ['an error that nobody got', 'error=upstream_failed'],
  ['of a provider', 'provider=sandbox'],
  ['of a provider that nobody used', 'provider=none'],
  ['streamed', 'stream=true'],
  ['not streamed', 'stream=false'],
  ['costly', 'cost_min=0.008'],
  ['of no such cost', 'cost_min=1'],
  ['of models with "lla"', 'model_search=lla'],
  ['of a model that nobody used', 'model_search=none'],
];

for (const name of shapeNames) {
  const shape = shapes[name];
  if (shape === undefined) throw new Error(`BENCH_SHAPES: there is no ${name}`);
  for (const store of stores) await withUsage(store, shape, records, askAll);
}

async function askAll(service: Service, ids: Ids): Promise<void> {
  const { account, key, member } = ids;
  if (ids.person !== undefined) return askTagged(service, ids);
  const scopes: [name: string, query: string, token: string][] = [
    ['all', '', service.token],
    ['account', `&account=${account}`, service.token],
    ['key', `&key=${key}`, service.token],
    ['member', '', member],
  ];
  const until = new Date(Date.now() - 8 * 3_600_000).toISOString();
  for (const [scope, narrowed, token] of scopes) {
    const ask = (name: string, path: string) => askSome(service, token, `${scope}: ${name}`, `${path}${narrowed}`);
    await ask('usage, newest 100', '/usage?limit=100');
    await ask('usage, 1000 of the middle', `/usage?limit=1000&until=${until}`);
    await ask('usage, failed', '/usage?outcome=failed');
    await ask('usage, quota_cut, of which there is none', '/usage?outcome=quota_cut');
    await ask('usage, completed', '/usage?outcome=completed');
    await ask('usage of a model', '/usage?model=llama');
    await ask('usage of a model that nobody used', '/usage?model=none');
    await ask('usage, failed of a model that nobody used', '/usage?model=none&outcome=failed');
    for (const [name, filter] of filters) {
      await ask(`usage, ${name}`, `/usage?limit=50&${filter}`);
      await ask(`usage, ${name}, oldest`, `/usage?limit=50&order=asc&${filter}`);
      await ask(`usage, ${name}, highest cost`, `/usage?limit=50&sort=cost&${filter}`);
      await ask(`usage, ${name}, slowest`, `/usage?limit=50&sort=latency&${filter}`);
      await ask(`usage, ${name}, fewest tokens`, `/usage?limit=50&sort=tokens&order=asc&${filter}`);
      await ask(`summary, ${name}`, `/usage/summary?${filter}`);
      for (const groupBy of ['day', 'model', 'key', 'account'])
        await ask(`summary by ${groupBy}, ${name}`, `/usage/summary?group_by=${groupBy}&${filter}`);
    }
    for (const groupBy of ['day', 'model', 'key', 'account'])
      await ask(`totals by ${groupBy}, 90 days`, `/usage/totals?group_by=${groupBy}&since=${daysAgo(90)}`);
    await ask('what used most, 90 days', `/usage/top?limit=5&since=${daysAgo(90)}`);
    await ask('totals of a model by day, 90 days', `/usage/totals?model=llama&since=${daysAgo(90)}`);
    for (const step of ['minute', 'five_minutes', 'hour', 'day'])
      await ask(`timeline by ${step}`, `/usage/timeline?step=${step}`);
    await ask('timeline by hour, 400', `/usage/timeline?step=hour&since=${daysAgo(16)}`);
    await ask('timeline by day, 400', `/usage/timeline?step=day&since=${daysAgo(399)}`);
    await ask('timeline of a model by hour', '/usage/timeline?step=hour&model=llama');
    await ask('timeline of a model by day', '/usage/timeline?step=day&model=llama');
  }
  await askSome(service, service.token, 'what needs somebody', '/attention');
  await askSome(service, member, 'what needs a member', '/attention');
  await askSome(service, service.token, 'entries, newest 100', `/accounts/${account}/entries?limit=100`);
  await askSome(
    service,
    service.token,
    'entries, 1000 of the middle',
    `/accounts/${account}/entries?limit=1000&until=${until}`,
  );
  await askSome(service, service.token, 'audit, newest 100', '/audit?limit=100');
  await askSome(service, service.token, 'audit of an account', `/audit?limit=100&account=${account}`);
}

/** Asks about people, tags and sessions, and of all accounts below. */
async function askTagged(service: Service, { account, key, person }: Ids): Promise<void> {
  const ask = (name: string, path: string) => askSome(service, service.token, name, path);
  const since = `since=${daysAgo(90)}`;
  const scopes = { all: '', company: `&account=${account}&below=true`, key: `&key=${key}` };
  for (const [scope, narrowed] of Object.entries(scopes)) {
    for (const groupBy of [
      'day',
      'account',
      'key',
      'person',
      'model',
      'provider',
      'tag&tag_name=env',
      'tag&tag_name=project',
    ])
      await ask(`${scope}: totals by ${groupBy}, 90 days`, `/usage/totals?group_by=${groupBy}&${since}${narrowed}`);
    const byTwo = ['account&then_by=model', 'tag&tag_name=project&then_by=day', 'model&tag=env:prod'];
    for (const groupBy of byTwo)
      await ask(`${scope}: totals by ${groupBy}, 90 days`, `/usage/totals?group_by=${groupBy}&${since}${narrowed}`);
    await ask(`${scope}: what used most, 90 days`, `/usage/top?limit=5&${since}${narrowed}`);
    await ask(`${scope}: timeline by day, 90`, `/usage/timeline?step=day&since=${daysAgo(89)}${narrowed}`);
    for (const filter of ['tag=env:prod', 'tag=env:none', `person=${person}`]) {
      await ask(`${scope}: usage, ${filter}`, `/usage?limit=50&${filter}${narrowed}`);
      await ask(`${scope}: summary, ${filter}`, `/usage/summary?${filter}${narrowed}`);
    }
    await ask(`${scope}: summary by session`, `/usage/summary?group_by=session${narrowed}`);
  }
  await ask('a session, by model', '/usage/summary?session=session-0-100&group_by=model');
  await ask('usage of a session', '/usage?limit=50&session=session-0-100');
  await ask('statement', `/accounts/${account}/statement?month=${daysAgo(0).slice(0, 7)}`);
}

/** The first time, which may read from the disk, and the median of the others. */
async function askSome(service: Service, token: string, name: string, path: string): Promise<void> {
  if (!only.test(name)) return;
  const headers = { authorization: `Bearer ${token}` };
  const tookMs: number[] = [];
  const cpuBeforeMs = await service.cpuMs();
  let text = '';
  for (let at = 0; at < times; at++) {
    const startedMs = performance.now();
    const response = await fetch(`${service.url}/api/v1${path}`, { headers });
    text = await response.text();
    if (!response.ok) throw new Error(`${name}: ${text}`);
    tookMs.push(performance.now() - startedMs);
    await Bun.sleep(REST_MS);
  }
  const [first = Number.NaN, ...others] = tookMs;
  const median = others.toSorted((one, other) => one - other)[Math.floor(others.length / 2)] ?? first;
  const cpuMs = (await service.cpuMs()) - cpuBeforeMs;
  const answer = JSON.parse(text) as { since?: string; counted_since?: string | null; searched_since?: string | null };
  const { since, counted_since, searched_since } = answer;
  const counted = counted_since ?? searched_since ?? since;
  const isCut = counted !== since;
  const figures = [`first ${words(first)}`, `then ${words(median)}`, `${words(cpuMs / times)} of the processor`];
  console.log(`${name.padEnd(52)} ${figures.join(', ')}${isCut ? `, counted since ${counted}` : ''}`);
}

function words(ms: number): string {
  return `${ms.toFixed(0).padStart(5)} ms`;
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString();
}
