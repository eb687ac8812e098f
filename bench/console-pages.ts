// Measures how long each page of the console takes over millions of usage records, in a real Chromium on loopback: from
// the navigation to the last fetched content. BENCH_STORES, BENCH_RECORDS and BENCH_TIMES change the run.

import { startChromium, type Visitor, visitAnew } from '../test/console/open-console.ts';
import { fillPath, type Places, pagesOf, type Walker, walkerFor } from '../test/console/walk-pages.ts';
import { type Ids, post, type Service, shapes, withUsage } from './with-usage.ts';

const records = Number(process.env['BENCH_RECORDS'] ?? 10_000_000);
const stores = (process.env['BENCH_STORES'] ?? 'sqlite,postgres').split(',');
const times = Number(process.env['BENCH_TIMES'] ?? 3);

/** The pages of each role, and those with the most expensive filters. */
const filtered = [
  '/?period=hour',
  '/?period=week',
  '/?period=month',
  '/?period=quarter',
  '/usage?outcome=failed',
  '/usage?model=llama',
  '/usage?model=nobody-used-it',
  '/usage?sort=cost',
  '/usage?sort=latency&order=asc&stream=true',
  '/usage?order=asc',
  '/usage?status=529',
  '/usage?error=upstream_overloaded&group_by=key',
  '/usage?provider=nobody-used-it',
  '/usage?cost_min=1&sort=tokens',
  '/usage?model_search=LLA&group_by=day',
  '/usage?group_by=key',
  '/usage?period=day&group_by=account',
  '/keys?sort=last_used&order=desc',
  '/keys?sort=name',
  '/accounts?sort=balance&order=desc',
];
const ofTheAccount = ['/accounts/$accountId', '/accounts/$accountId/statement'];

const chromium = await startChromium();
try {
  for (const store of stores) await withUsage(store, shapes['spread'] as (typeof shapes)[string], records, measureAll);
} finally {
  await chromium.close();
}

async function measureAll(service: Service, ids: Ids): Promise<void> {
  const [requestId] = await newest(service, ids.key);
  if (requestId === undefined) throw new Error('the busiest key has no requests');
  const missing = {
    batchId: 'batch_000000000',
    clientBatchId: 'msgbatch_000000000',
    billId: 'sandbox:2026-01-05',
    destinationId: 'dest_000000000',
    deliveryId: 'dlv_000000000',
    exportId: 'exp_000000000',
  };
  const names = { modelName: 'sandbox-echo', providerName: 'sandbox', ...missing };
  const places: Places = { accountId: ids.account, keyId: ids.key, requestId, ...names };
  const owner = await post(service, service.token, '/tokens', { role: 'owner', name: 'owner', account: ids.account });
  const tokens = { operator: service.token, owner: owner.token, member: ids.member };
  for (const [role, token] of Object.entries(tokens) as [keyof typeof tokens, string][]) {
    await using visitor = await visitAnew(chromium, { url: service.url });
    await visitor.context.setExtraHTTPHeaders({ authorization: `Bearer ${token}` });
    const walker = walkerFor(visitor.page, service.url);
    const all = [...pagesOf(role, places), ...filtered, ...(role === 'member' ? [] : ofTheAccount)];
    for (const path of new Set(all.map((one) => fillPath(one, places))))
      await measurePage(walker, visitor.page, role, path);
    if (visitor.problems.length > 0) console.log(visitor.problems.join('\n'));
  }
}

async function newest({ url, token }: Service, key: string): Promise<string[]> {
  const answer = await fetch(`${url}/api/v1/usage?key=${key}&limit=1`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { data } = (await answer.json()) as { data: { request_id: string }[] };
  return data.map(({ request_id }) => request_id);
}

async function measurePage(walker: Walker, page: Visitor['page'], role: string, path: string): Promise<void> {
  const tookMs: number[] = [];
  let slowest = '';
  for (let time = 0; time < times; time++) {
    await walker.walkTo(path);
    const seen = await page.evaluate(lastAnswer);
    tookMs.push(seen.ms);
    slowest = seen.slowest;
  }
  const [first = 0, ...others] = tookMs;
  const figures = `first ${words(first)}, then ${words(Math.min(...others, first))}`;
  console.log(`${role.padEnd(9)} ${path.padEnd(64)} ${figures}; slowest ${slowest}`);
}

/** Runs in the page: the time from navigation to the last fetch. */
function lastAnswer(): { ms: number; slowest: string } {
  const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
  const [slowest] = entries
    .filter(({ name }) => name.includes('/api/'))
    .sort((one, other) => other.duration - one.duration);
  const of = slowest === undefined ? '' : `${new URL(slowest.name).pathname} ${Math.round(slowest.duration)} ms`;
  return { ms: Math.max(...entries.map(({ responseEnd }) => responseEnd)), slowest: of };
}

function words(ms: number): string {
  return `${ms.toFixed(0).padStart(5)} ms`;
}
