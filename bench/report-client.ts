// Requests reports: each kind alone, or a hundred concurrently for a while. reports.ts starts it as a separate
// process, so that its work does not count as time of messages.

import { setPriority } from 'node:os';

const url = process.env['ASK_URL'] as string;
const headers = { authorization: `Bearer ${process.env['ASK_TOKEN']}` };
const DAY_MS = 86_400_000;
const AT_ONCE = 100;
const TIMES_ALONE = 20;
const REST_MS = 150; // longer than the service pauses after a report

/** How long a hundred are requested concurrently; 0 requests each kind alone, several times. */
export interface ReportRequest {
  ms: number;
}

export interface ReportTimes {
  /** Times by kind. */
  latenciesMs: Record<string, number[]>;
  /** Responses with 529. */
  refused: number;
}

setPriority(10); // lower priority, as if on another machine

const accounts = await idsOf('accounts');
const keys = await idsOf('keys');

process.on('message', async ({ ms }: ReportRequest) => {
  const times: ReportTimes = { latenciesMs: {}, refused: 0 };
  const endsAt = performance.now() + ms;
  const askOn = async (first: number) => {
    for (let at = first; performance.now() < endsAt; at++) await request(at, times);
  };
  if (ms > 0) await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => askOn(at)));
  else
    for (let at = 0; at < kinds.length * TIMES_ALONE; at++) {
      await request(at, times);
      await Bun.sleep(REST_MS);
    }
  process.send?.(times);
});
process.send?.('ready');

/** The kinds of reports, each as a path. */
const kinds: [name: string, path: () => string][] = [
  ['newest 100', () => '/usage'],
  ['100 of all, midway', () => `/usage?${midway()}`],
  ['100 of an account, midway', () => `/usage?account=${anyOf(accounts)}&${midway()}`],
  ['100 of a key, midway', () => `/usage?key=${anyOf(keys)}&${midway()}`],
  ['100 failed of an account', () => `/usage?account=${anyOf(accounts)}&outcome=failed&${midway()}`],
  ['1000 of an account, midway', () => `/usage?account=${anyOf(accounts)}&limit=1000&${midway()}`],
  ['100 entries, midway', () => `/accounts/${anyOf(accounts)}/entries?${midway()}`],
  ['totals of 30 days by day', () => `/usage/totals?group_by=day&since=${daysAgo(30)}`],
  ['totals of 30 days by model', () => `/usage/totals?group_by=model&since=${daysAgo(30)}`],
  ['totals of an account by key', () => `/usage/totals?group_by=key&account=${anyOf(accounts)}`],
];

async function request(at: number, times: ReportTimes): Promise<void> {
  const [name, path] = kinds[at % kinds.length] as (typeof kinds)[number];
  const startedMs = performance.now();
  const response = await fetch(`${url}/api/v1${path()}`, { headers });
  const text = await response.text();
  if (response.status === 529) times.refused++;
  else if (!response.ok) throw new Error(`${name}: ${text}`);
  times.latenciesMs[name] = [...(times.latenciesMs[name] ?? []), performance.now() - startedMs];
}

/** A random place in the list. */
function midway(): string {
  return `until=${daysAgo(Math.random() * 80)}`;
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString();
}

async function idsOf(list: string): Promise<string[]> {
  const page = (await (await fetch(`${url}/api/v1/${list}?limit=1000`, { headers })).json()) as {
    data: { id: string }[];
  };
  return page.data.map(({ id }) => id);
}

function anyOf(ids: readonly string[]): string {
  return ids[Math.floor(Math.random() * ids.length)] as string;
}
