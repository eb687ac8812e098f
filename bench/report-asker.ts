// Asks for reports when it is told to: each kind alone, or a hundred at any time, for a while. In a
// process of its own, started by reports.ts, so that its work is not taken for the time of messages.

import { setPriority } from 'node:os';

const url = process.env['ASK_URL'] as string;
const headers = { authorization: `Bearer ${process.env['ASK_TOKEN']}` };
const DAY_MS = 86_400_000;
const AT_ONCE = 100;
const TIMES_ALONE = 20;
const REST_MS = 150; // longer than the service itself rests after an answer

/** For how long a hundred are asked for; 0: each kind alone, some times. */
export interface AskFor {
  ms: number;
}

export interface AskedReports {
  /** How long each took, by kind. */
  latenciesMs: Record<string, number[]>;
  /** Answered with 529. */
  refused: number;
}

setPriority(10); // in the world it would be another machine

const accounts = await idsOf('accounts');
const keys = await idsOf('keys');

process.on('message', async ({ ms }: AskFor) => {
  const asked: AskedReports = { latenciesMs: {}, refused: 0 };
  const endsAt = performance.now() + ms;
  const askOn = async (first: number) => {
    for (let at = first; performance.now() < endsAt; at++) await ask(at, asked);
  };
  if (ms > 0) await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => askOn(at)));
  else
    for (let at = 0; at < kinds.length * TIMES_ALONE; at++) {
      await ask(at, asked);
      await Bun.sleep(REST_MS);
    }
  process.send?.(asked);
});
process.send?.('ready');

/** The ways in which people ask, each as a path. */
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

async function ask(at: number, asked: AskedReports): Promise<void> {
  const [name, path] = kinds[at % kinds.length] as (typeof kinds)[number];
  const startedMs = performance.now();
  const response = await fetch(`${url}/api/v1${path()}`, { headers });
  const text = await response.text();
  if (response.status === 529) asked.refused++;
  else if (!response.ok) throw new Error(`${name}: ${text}`);
  asked.latenciesMs[name] = [...(asked.latenciesMs[name] ?? []), performance.now() - startedMs];
}

/** A place in the list that is anywhere in it. */
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
