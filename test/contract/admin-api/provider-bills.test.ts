// Bills of providers: sources with credentials that are never shown, imports that replace each other, differences and events.

import { beforeEach, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { billSourceContext } from '../../../src/bills/bills.ts';
import { bounds } from '../../../src/config/config.ts';
import { ADMIN_KEYS, startBillingApis } from '../../support/billing-apis.ts';
import { setBounds } from '../../support/set-bounds.ts';
import {
  errorOf,
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  NOW_MS,
  TOKEN,
  useKey,
} from './installation.ts';

const SOURCES = '/api/v1/provider-bill-sources';
const BILLS = '/api/v1/provider-bills';
const HEADER = 'usage_date_utc,model,token_type,cost_usd\n';
const DAY = new Date(NOW_MS).toISOString().slice(0, 10);

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});

const ask = (...request: Parameters<Installation['ask']>) => installation.ask(...request);
const setSource = (members: Json = {}) => ask('POST', SOURCES, { provider: 'sandbox', kind: 'anthropic', ...members });

/** Sends CSV as the operator. */
async function importCsv(csv: string | ReadableStream, headers: Record<string, string> = {}, provider = 'sandbox') {
  const request = new Request(`http://127.0.0.1${SOURCES}/${provider}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv', ...headers },
    body: csv,
  });
  const response = await installation.api.fetch(request, '192.0.2.7');
  return { status: response.status, body: (await response.json()) as Json };
}

/** A day with one message that cost 15 USD at the provider, one million output tokens. */
async function spendOneDay(): Promise<void> {
  const key = await makeKey(installation, (await makeAccount(installation))['id']);
  const answered = { provider: 'sandbox', upstreamModel: 'claude-haiku-4-5-20251001' };
  const counts = { inputTokens: 0, outputTokens: 1_000_000, cacheReadTokens: 0, cacheWrite5mTokens: 0 };
  await useKey(installation, key, 1, { ...answered, ...counts, cacheWrite1hTokens: 0, providerCost: 15_000_000_000 });
  installation.clock.advance(DAY_MS);
}

const eventsOf = async () =>
  ((await ask('GET', '/api/v1/events?type=provider_bill.differs')).body['data'] as Json[]).map(({ data }) => data);

describe('a source of bills', () => {
  test('has a credential that is sealed and never shown, and that later changes keep', async () => {
    const credential = 'sk-ant-admin-secret';
    const { status, body } = await setSource({ credential });
    expect(status).toBe(200);
    const shown = { provider: 'sandbox', kind: 'anthropic', base_url: null, private_network: false, models: {} };
    expect(body).toMatchObject({ ...shown, has_credential: true, schedule: 'daily' });
    await setSource({ schedule: 'never', models: { 'Claude Haiku 4.5': 'haiku' } });
    const { body: list } = await ask('GET', SOURCES);
    expect(list['data']).toMatchObject([{ has_credential: true, schedule: 'never' }]);
    const stored = await installation.stores.bills.getBillSource('sandbox');
    expect(installation.vault.open(stored?.sealed ?? '', billSourceContext({ provider: 'sandbox' }))).toBe(credential);
    const audit = (await ask('GET', '/api/v1/audit')).body['data'] as Json[];
    expect(audit.map(({ action }) => action)).toEqual(['provider_bill_source.update', 'provider_bill_source.create']);
    expect(JSON.stringify([list, audit, stored])).not.toContain('secret');
    await setSource({ credential: null });
    expect((await ask('GET', SOURCES)).body['data']).toMatchObject([{ has_credential: false }]);
  });

  test('must name a provider of the catalog', async () => {
    const { status, body } = await setSource({ provider: 'nobody' });
    expect([status, errorOf(body).message]).toEqual([404, 'There is no provider "nobody".']);
  });

  test('sends its credential to no other address without being given it again', async () => {
    await setSource({ credential: 'sk-ant-admin-1' });
    const moved = await setSource({ base_url: 'https://attacker.example.com' });
    expect(errorOf(moved.body).message).toBe('credential: is required where the kind or the address changes');
    expect((await setSource({ kind: 'openai' })).status).toBe(400);
    expect((await setSource({ base_url: 'https://proxy.example.com', credential: 'sk-ant-admin-2' })).status).toBe(200);
  });

  test.each([
    ['http://billing.example.com', 'must begin with https://'],
    ['https://127.0.0.1', 'resolves to 127.0.0.1 in a private network'],
    ['https://internal.example.com', 'resolves to 10.1.2.3 in a private network'],
    ['https://user:word@example.com', 'must be an http or https URL without user, query and fragment'],
    ['file:///etc/passwd', 'must be an http or https URL'],
  ])('is not at %s', async (base_url, message) => {
    installation.addresses.set('internal.example.com', ['10.1.2.3']);
    const { status, body } = await setSource({ base_url });
    expect([status, errorOf(body).message]).toEqual([400, expect.stringContaining(message)]);
  });
});

describe('a bill as CSV', () => {
  test('is compared with the recorded costs of the same day', async () => {
    await setSource();
    await spendOneDay();
    const { status, body } = await importCsv(`${HEADER}${DAY},Claude Haiku 4.5,output,20.00\n`);
    expect([status, body['events']]).toEqual([200, 1]);
    const sums = { billed: '20.00', ours: '15.00', difference: '5.00' };
    const id = `sandbox:${DAY}`;
    const from = { from: 'csv', imported_by: 'local', messages: 1 };
    const { body: list } = await ask('GET', BILLS);
    expect(list['data']).toMatchObject([{ id, provider: 'sandbox', day: DAY, ...sums, ...from }]);
    const { body: bill } = await ask('GET', `${BILLS}/${id}`);
    expect(bill['parts']).toMatchObject({ beside: '5.00', unexplained: '0' });
    expect(bill['models']).toMatchObject([
      { model: 'claude-haiku-4-5-20251001', billed_as: ['Claude Haiku 4.5'], ...sums },
    ]);
  });

  test('replaces an earlier import of the day, and reports a difference once', async () => {
    await setSource();
    await spendOneDay();
    const csv = (cost: string) => `${HEADER}${DAY},Claude Haiku 4.5,output,${cost}\n`;
    await importCsv(csv('20.00'));
    await importCsv(csv('20.00'));
    await importCsv(csv('21.00'));
    const { body } = await ask('GET', BILLS);
    expect(body['data']).toMatchObject([{ billed: '21.00' }]);
    expect(await eventsOf()).toMatchObject([{ provider: 'sandbox', day: DAY, billed: '20.00', recorded: '15.00' }]);
  });

  test('is an event only above both thresholds, and not for a day that has not ended', async () => {
    await setSource();
    const settings = { provider_bill_difference_percent: 10, provider_bill_difference_usd: '1.00' };
    await ask('POST', '/api/v1/apply', { document: { settings } });
    await spendOneDay();
    const today = new Date(installation.clock.nowMs()).toISOString().slice(0, 10);
    const eventsAt = async (day: string, cost: string) =>
      (await importCsv(`${HEADER}${day},claude-haiku-4-5-20251001,output,${cost}\n`)).body['events'];
    expect(await eventsAt(today, '500')).toBe(0);
    expect(await eventsAt(DAY, '16.50')).toBe(0); // exactly 10 % of what was recorded
    expect(await eventsAt(DAY, '13.40')).toBe(1);
    expect(await eventsAt('2026-01-02', '0.90')).toBe(0); // less than 1 USD
    expect(await eventsOf()).toHaveLength(1);
  });

  test('with a fault changes nothing', async () => {
    await setSource();
    const { status, body } = await importCsv(`${HEADER}${DAY},m,output,1\n${DAY},m,output,=2+3\n`);
    expect([status, errorOf(body).message]).toEqual([
      400,
      'The bill cannot be read: row 3: "=2+3" is not an amount of at most a billion USD',
    ]);
    const future = new Date(NOW_MS + 3 * DAY_MS).toISOString().slice(0, 10);
    expect(errorOf((await importCsv(`${HEADER}${future},m,output,1\n`)).body).message).toContain('in the future');
    expect((await ask('GET', BILLS)).body['data']).toEqual([]);
  });

  test('must be CSV, uncompressed, of a bounded size, and arrive', async () => {
    await setSource();
    expect((await importCsv('{}', { 'content-type': 'application/json' })).status).toBe(415);
    expect((await importCsv('x', { 'content-encoding': 'gzip' })).status).toBe(415);
    using _ = setBounds({ billBytesMax: 20, billStallMsMax: 20 });
    expect((await importCsv(`${HEADER}${HEADER}`)).status).toBe(413);
    const stalled = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('usage')),
    });
    expect((await importCsv(stalled)).status).toBe(408);
    expect((await importCsv(HEADER, {}, 'nobody')).status).toBe(404);
  });

  test('is larger than a JSON body may be', async () => {
    await setSource();
    const row = `${DAY},claude-haiku-4-5-20251001,output,0.000001\n`;
    const rows = Math.ceil(bounds.adminBodyBytesMax / row.length) + 1;
    const { body } = await importCsv(HEADER + row.repeat(rows));
    expect((body['data'] as Json[])[0]).toMatchObject({ billed: (rows / 1e6).toFixed(6).replace(/0+$/, '') });
  });
});

describe('a bill from the vendor’s API', () => {
  test('is read, compared and stored like one as CSV', async () => {
    await using apis = await startBillingApis();
    await setSource({ credential: ADMIN_KEYS.anthropic, base_url: apis.url, private_network: true });
    const { status, body } = await ask('POST', `${SOURCES}/sandbox/fetch`, {
      since: '2026-01-01',
      until: '2026-01-03',
    });
    expect(status).toBe(200);
    expect(body['data']).toMatchObject([
      { id: 'sandbox:2026-01-01', billed: '1.2528912', from: 'api' },
      { id: 'sandbox:2026-01-02', billed: '1.2528912', from: 'api' },
    ]);
    const { body: last } = await ask('POST', `${SOURCES}/sandbox/fetch`, {});
    expect(last['data']).toHaveLength(bounds.billDaysAgain);
  });

  test('needs a credential, a reachable vendor, and days in order', async () => {
    await setSource();
    expect((await ask('POST', `${SOURCES}/sandbox/fetch`, {})).status).toBe(409);
    await using apis = await startBillingApis();
    await setSource({ credential: 'sk-ant-admin-wrong', base_url: apis.url, private_network: true });
    const { status, body } = await ask('POST', `${SOURCES}/sandbox/fetch`, {});
    expect([status, errorOf(body).code]).toEqual([502, 'bill_unavailable']);
    const faultOf = async (since: string, until: string) =>
      errorOf((await ask('POST', `${SOURCES}/sandbox/fetch`, { since, until })).body).message;
    expect(await faultOf('2026-01-02', '2026-01-02')).toBe('until: must be later than since');
    expect(await faultOf('2026-01-01', '2026-12-31')).toContain('since: must be at most 31 days before until');
    expect(await faultOf('2026-01-01T01:00:00Z', '2026-01-02')).toContain('since: must be a day');
  });
});

test('bills are listed in pages, newest day first, by provider and time', async () => {
  await setSource();
  const days = ['2026-01-03', '2026-01-01', '2026-01-02'];
  await importCsv(HEADER + days.map((day) => `${day},m,output,1\n`).join(''));
  const daysOf = ({ body }: { body: Json }) => (body['data'] as Json[]).map(({ day }) => day);
  const first = await ask('GET', `${BILLS}?limit=2`);
  expect(daysOf(first)).toEqual(['2026-01-03', '2026-01-02']);
  expect(daysOf(await ask('GET', `${BILLS}?limit=2&cursor=${first.body['next_cursor']}`))).toEqual(['2026-01-01']);
  expect(daysOf(await ask('GET', `${BILLS}?since=2026-01-02&until=2026-01-02`))).toEqual(['2026-01-02']);
  expect(daysOf(await ask('GET', `${BILLS}?provider=other`))).toEqual([]);
  expect((await ask('GET', `${BILLS}/sandbox:2025-01-01`)).status).toBe(404);
});
