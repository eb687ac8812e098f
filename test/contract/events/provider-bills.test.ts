// The daily task that reads provider bills: only sources that say so, and one that fails stops no other.

import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { bounds } from '../../../src/config/config.ts';
import { type BillJobParts, fetchBills } from '../../../src/server/fetch-bills.ts';
import { ADMIN_KEYS, startBillingApis } from '../../support/billing-apis.ts';
import { type Installation, makeInstallation } from '../admin-api/installation.ts';

const PROVIDERS = ['one', 'two', 'manual', 'without'];

async function makeSources(installation: Installation, url: string): Promise<void> {
  const provider = { kind: 'anthropic', base_url: 'http://127.0.0.1:1', private_network: true };
  const providers = Object.fromEntries(PROVIDERS.map((name) => [name, provider]));
  await installation.ask('POST', '/api/v1/apply', { document: { providers } });
  const place = { base_url: url, private_network: true };
  const set = (name: string, members: object) =>
    installation.ask('POST', '/api/v1/provider-bill-sources', {
      provider: name,
      kind: 'anthropic',
      ...place,
      ...members,
    });
  await set('one', { credential: 'sk-ant-admin-wrong' });
  await set('two', { credential: ADMIN_KEYS.anthropic });
  await set('manual', { credential: ADMIN_KEYS.anthropic, schedule: 'never' });
  await set('without', {});
}

test('bills of the last days are read where the source says so, and a failure is reported', async () => {
  await using apis = await startBillingApis();
  const installation = await makeInstallation();
  await makeSources(installation, apis.url);
  const { stores, vault, clock, catalog } = installation;
  const lines: [string, object][] = [];
  const failures: string[] = [];
  const parts: BillJobParts = {
    ...{ bills: stores.bills, usage: stores.usage, vault, clock },
    catalog: () => catalog.current,
    lookup: async () => [],
    log: { writeEvent: (event, members) => void lines.push([event, members ?? {}]) },
    failed: async (task) => void failures.push(task),
  };
  await fetchBills(parts, new AbortController().signal);
  const today = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS;
  const { body } = await installation.ask('GET', '/api/v1/provider-bills');
  const dayOf = (daysAgo: number) => new Date(today - daysAgo * DAY_MS).toISOString().slice(0, 10);
  const days = Array.from({ length: bounds.billDaysAgain }, (_, at) => dayOf(at + 1));
  expect((body['data'] as { id: string }[]).map(({ id }) => id)).toEqual(days.map((day) => `two:${day}`));
  expect(failures).toEqual(['bill of the provider one']);
  expect(lines).toMatchObject([
    ['provider_bill_failed', { provider: 'one', cause: expect.stringContaining('401') }],
    ['provider_bill_imported', { provider: 'two', events: bounds.billDaysAgain, days: days.toReversed().join(' ') }],
  ]);
  expect(JSON.stringify(lines)).not.toContain('sk-ant');
});

test('a task that is stopped asks for no further bill', async () => {
  await using apis = await startBillingApis();
  const installation = await makeInstallation();
  await makeSources(installation, apis.url);
  const { stores, vault, clock, catalog } = installation;
  const nothing = { log: { writeEvent: () => {} }, failed: async () => {}, lookup: async () => [] };
  const reads = { bills: stores.bills, usage: stores.usage, vault, clock };
  await fetchBills({ ...reads, ...nothing, catalog: () => catalog.current }, AbortSignal.abort());
  expect(apis.asked).toEqual([]);
});
