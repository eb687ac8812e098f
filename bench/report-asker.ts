// Asks for a hundred reports at once, for a while, and prints how long each took: in bursts, the next
// when all are answered, or so that a hundred wait at any time. Run by reports.ts, in a process of its own.

const url = process.env['ASK_URL'] as string;
const headers = { authorization: `Bearer ${process.env['ASK_TOKEN']}` };
const atOnce = 100;

export interface AskedReports {
  latenciesMs: Record<string, number[]>;
  /** Until the last of a hundred was answered. */
  burstsMs: number[];
  /** With 529. */
  refused: number;
}

const asked: AskedReports = { latenciesMs: {}, burstsMs: [], refused: 0 };
const endsAt = performance.now() + Number(process.env['ASK_MS']);
const accounts = await idsOf('accounts');
const keys = await idsOf('keys');
if (process.env['ASK_HOW'] === 'bursts') await askInBursts();
else await Promise.all(Array.from({ length: atOnce }, (_, at) => askWithoutEnd(at)));
console.log(JSON.stringify(asked));

async function askInBursts(): Promise<void> {
  while (performance.now() < endsAt) {
    const startedMs = performance.now();
    await Promise.all(Array.from({ length: atOnce }, (_, at) => ask(at)));
    asked.burstsMs.push(performance.now() - startedMs);
  }
}

async function askWithoutEnd(first: number): Promise<void> {
  for (let at = first; performance.now() < endsAt; at++) await ask(at);
}

/** One of the ways in which people ask; which one turns with the number. */
function pathOf(at: number): [name: string, path: string] {
  const account = anyOf(accounts);
  const midway = `until=${new Date(Date.now() - Math.random() * 80 * 86_400_000).toISOString()}`;
  const since = new Date(Date.now() - 30 * 86_400_000).toISOString();
  const ways: [string, string][] = [
    ['newest 100', '/usage'],
    ['100 of all, midway', `/usage?${midway}`],
    ['100 of an account, midway', `/usage?account=${account}&${midway}`],
    ['100 of a key, midway', `/usage?key=${anyOf(keys)}&${midway}`],
    ['100 failed of an account', `/usage?account=${account}&outcome=failed`],
    ['1000 of an account', `/usage?account=${account}&limit=1000&${midway}`],
    ['100 entries, midway', `/accounts/${account}/entries?${midway}`],
    ['30 days by day', `/usage/totals?group_by=day&since=${since}`],
    ['30 days by model', `/usage/totals?group_by=model&since=${since}`],
    ['90 days of an account', `/usage/totals?group_by=key&account=${account}`],
  ];
  return ways[at % ways.length] as [string, string];
}

async function ask(at: number): Promise<void> {
  const [name, path] = pathOf(at);
  const startedMs = performance.now();
  const response = await fetch(`${url}/api/v1${path}`, { headers });
  const text = await response.text();
  if (response.status === 529) asked.refused++;
  else if (!response.ok) throw new Error(`${path}: ${text}`);
  asked.latenciesMs[name] = [...(asked.latenciesMs[name] ?? []), performance.now() - startedMs];
}

async function idsOf(list: string): Promise<string[]> {
  return (await get(`/${list}?limit=1000`)).data.map(({ id }) => id);
}

async function get(path: string): Promise<{ data: { id: string }[] }> {
  return (await fetch(`${url}/api/v1${path}`, { headers })).json() as never;
}

function anyOf(ids: readonly string[]): string {
  return ids[Math.floor(Math.random() * ids.length)] as string;
}
