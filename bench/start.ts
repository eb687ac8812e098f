// The time from the start of a service with many keys and records to its first answer.

import type { Figure } from './figures.ts';
import { gates } from './gates.ts';
import { bodyOf, post as postMessage } from './processes.ts';
import { post, withStore } from './with-usage.ts';

const KEYS = { accounts: 100, keys: 1_000, days: 90 };
const records = Number(process.env['BENCH_RECORDS'] ?? 10_000_000);

export async function measureStart(rounds: number): Promise<Figure[]> {
  const values: number[] = [];
  await withStore('sqlite', KEYS, records, async (serve) => {
    const secret = await serve(async (service) => {
      const account = await post(service, service.token, '/accounts', {
        name: 'bench',
        groups: ['sandbox'],
        credit: '1.00',
      });
      return (await post(service, service.token, '/keys', { account: account.id })).key;
    });
    for (let round = 0; round < rounds; round++) {
      const startMs = performance.now();
      await serve(async (service) => {
        const response = await postMessage(service, secret, bodyOf(100, { model: 'sandbox-echo' }));
        if (response.status !== 200) throw new Error(await response.text());
        values.push(performance.now() - startMs);
      });
    }
  });
  return [
    {
      what: `start to the first answer, 100,000 keys, ${records.toLocaleString('en-US')} records`,
      unit: 'ms',
      values,
      gate: gates.startMs,
    },
  ];
}
