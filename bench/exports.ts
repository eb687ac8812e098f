// Exports files of a company with millions of messages to their end, on SQLite and PostgreSQL: time, processor time, memory, the
// event loop, and whether the sums equal the statements.

import { monthStartMs } from '../src/base/clock.ts';
import { parseUsd } from '../src/base/money.ts';
import { type Ids, type Service, type Shape, shapes, withUsage } from './with-usage.ts';

const records = Number(process.env['BENCH_RECORDS'] ?? 10_000_000);
const stores = (process.env['BENCH_STORES'] ?? 'sqlite,postgres').split(',');
/** Only the files whose queries match. */
const only = new RegExp(process.env['BENCH_ONLY'] ?? '');
const LOOK_MS = 1_000;

const files = [
  'kind=records&format=csv',
  'kind=records&format=parquet',
  'kind=costs&by=account,model',
  'kind=costs&by=person,day',
  'kind=focus&format=csv',
];

async function exportAll(service: Service, { account }: Pick<Ids, 'account'>): Promise<void> {
  const months = [3, 2, 1, 0].map((before) => monthStartMs(Date.now(), before));
  const since = new Date(months[0] ?? 0).toISOString();
  let used = 0n;
  for (const monthMs of months) used += await usedIn(service, account, new Date(monthMs).toISOString().slice(0, 7));
  for (const query of files.filter((one) => only.test(one)))
    await exportFile(service, `${query}&since=${since}&account=${account}&below=true`, used);
}

/** The amount that the balance of the company paid for messages, by its statement. */
async function usedIn({ url, token }: Service, account: string, month: string): Promise<bigint> {
  const path = `/api/v1/accounts/${account}/statement?month=${month}`;
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return nano(((await response.json()) as { used: string }).used);
}

function nano(amount: string): bigint {
  return BigInt(parseUsd(amount) ?? Number.NaN);
}

async function exportFile({ url, token, cpuMs, residentMegabytes }: Service, query: string, used: bigint) {
  const [startedMs, cpuBeforeMs] = [performance.now(), await cpuMs()];
  const loopBefore = await loopDelays(url, token);
  const response = await fetch(`${url}/api/v1/exports/file?${query}`, {
    headers: { authorization: `Bearer ${token}` },
    timeout: false, // sums come at the end
  });
  if (!response.ok || response.body === null) throw new Error(await response.text());
  const rows = query.includes('format=parquet') ? null : new CsvSums();
  let bytes = 0;
  let resident = residentMegabytes();
  let lookMs = performance.now();
  const stretches: number[] = []; // seconds for each tenth of the records
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    rows?.add(chunk);
    while (rows !== null && rows.count >= ((stretches.length + 1) * records) / 10)
      stretches.push((performance.now() - startedMs) / 1000);
    if (performance.now() - lookMs < LOOK_MS) continue;
    lookMs = performance.now();
    resident = Math.max(resident, residentMegabytes());
  }
  resident = Math.max(resident, residentMegabytes());
  const seconds = (performance.now() - startedMs) / 1000;
  const cpu = ((await cpuMs()) - cpuBeforeMs) / 1000;
  const delays = (await loopDelays(url, token)).map(
    ([most, count], at) => [most, count - (loopBefore[at]?.[1] ?? 0)] as const,
  );
  console.log(
    [
      query.split('&since')[0]?.padEnd(32),
      `${seconds.toFixed(0)} s`,
      `${cpu.toFixed(0)} s of the processor`,
      `${(bytes / 2 ** 20).toFixed(0)} MB`,
      `${resident.toFixed(0)} MB resident at most`,
      `delays ${JSON.stringify(delays)}`,
      ...(rows === null ? [] : [`${rows.count} rows, ${rows.sum - used} from the statements`]),
    ].join(', '),
  );
  if (stretches.length > 0) console.log(`  seconds at each tenth: ${stretches.map((one) => one.toFixed(0)).join(' ')}`);
}

/** Counts of the delays of timers, by their upper bound in seconds. */
async function loopDelays(url: string, token: string): Promise<[string, number][]> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();
  return [...text.matchAll(/event_loop_delay_seconds_bucket\{le="([^"]+)"\} (\d+)/g)].map(([, most = '', count]) => [
    most,
    Number(count),
  ]);
}

/** Rows of a CSV file, and the sum of the column that balances paid. No text of these files has a line break. */
class CsvSums {
  count = -1; // the header
  sum = 0n;
  #rest = '';
  #column = -1;
  readonly #decoder = new TextDecoder();

  add(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\r\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines)
      if (this.count++ < 0) this.#column = line.split(',').findIndex((name) => PAID.includes(name));
      else this.sum += nano(cellOf(line, this.#column));
  }
}

const PAID = ['balance_paid', 'BilledCost'];

function cellOf(line: string, column: number): string {
  let start = 0;
  let commas = 0;
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    const sign = line[at];
    if (sign === '"') isQuoted = !isQuoted;
    if (sign !== ',' || isQuoted) continue;
    if (commas === column) return line.slice(start, at);
    commas++;
    start = at + 1;
  }
  return line.slice(start);
}

for (const store of stores) await withUsage(store, shapes['tagged'] as Shape, records, exportAll);
