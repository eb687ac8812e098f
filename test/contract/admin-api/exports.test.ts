// Files of usage and costs: what they contain, that they add up to the statements, and who may have them.

import { beforeEach, describe, expect, test } from 'bun:test';
import { parseUsd } from '../../../src/base/money.ts';
import type { UsageRecord } from '../../../src/ledger/ledger.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { readCsv } from './exports/read-csv.ts';
import {
  errorOf,
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  useKey,
} from './installation.ts';

const DECEMBER = Date.UTC(2026, 11);

let installation: Installation;
let ask: Installation['ask'];
beforeEach(async () => {
  installation = await makeInstallation();
  ask = installation.ask;
});

async function download(query: string, token?: string): Promise<Record<string, string>[]> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { status, body } = await ask('GET', `/api/v1/exports/file?${query}`, undefined, headers);
  if (status !== 200) throw new Error(errorOf(body).message);
  return readCsv(body as unknown as string);
}

const sumOf = (rows: readonly Record<string, string>[], column: string) =>
  rows.reduce((sum, row) => sum + BigInt(parseUsd(row[column] ?? '') ?? Number.NaN), 0n);

/** Two accounts with two keys each, refunds in the month and in the next one, credits of several kinds. */
async function makeMonths() {
  const accounts: Json[] = [];
  for (const name of ['acme', 'beta, "inc"']) {
    const account = await makeAccount(installation, { name });
    accounts.push(account);
    for (const keyName of ['ci', '=cmd()']) {
      const key = await makeKey(installation, account['id'], { name: keyName });
      const [first] = await useKey(installation, key, 3);
      await useKey(installation, key, 2, { model: 'big', provider: 'other', cost: 1_234_567 });
      await ask('POST', `/api/v1/usage/${first}/refunds`, { amount: '0.000000007' });
    }
    await ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '2.50', kind: 'promotion' });
  }
  const [first] = await useKey(installation, (await keysOf(accounts[0]))[0] as Json, 1);
  installation.clock.advance(DECEMBER - installation.clock.nowMs());
  await ask('POST', `/api/v1/usage/${first}/refunds`, {});
  await useKey(installation, (await keysOf(accounts[0]))[0] as Json, 1);
  return accounts;
}

const keysOf = async (account: Json | undefined) =>
  (await ask('GET', `/api/v1/keys?account=${account?.['id']}`)).body['data'] as Json[];
const statementOf = async (account: Json, month: string) =>
  (await ask('GET', `/api/v1/accounts/${account['id']}/statement?month=${month}`)).body;
const compareTexts = (one: unknown[], other: unknown[]) => (one.join() < other.join() ? -1 : 1);
const nano = (amount: unknown) => BigInt(parseUsd(String(amount)) ?? Number.NaN);

describe('a file of costs', () => {
  test('adds up to the statements of its month, by any two dimensions', async () => {
    using _ = setBounds({ exportPageRows: 2 });
    const accounts = await makeMonths();
    const names = ['account', 'key', 'model', 'provider', 'day'];
    for (const month of ['2026-11', '2026-12']) {
      const statements = await Promise.all(accounts.map((account) => statementOf(account, month)));
      const total = (member: string) => statements.reduce((sum, one) => sum + nano(one[member]), 0n);
      for (const by of [...names, ...names.flatMap((one) => names.map((other) => `${one},${other}`))]) {
        const [one, other] = by.split(',');
        if (one === other) continue;
        const rows = await download(`kind=costs&month=${month}&by=${by}`);
        expect([by, sumOf(rows, 'balance_paid')]).toEqual([by, total('used')]);
        expect([by, sumOf(rows, 'refunded')]).toEqual([by, total('refunded')]);
        expect([by, sumOf(rows, 'corrected')]).toEqual([by, total('corrected')]);
      }
    }
  });

  test('has names beside ids, one row for each group, and the provider’s charge for operators only', async () => {
    const [account] = await makeMonths();
    const rows = await download('kind=costs&month=2026-11&by=account,key');
    expect(rows.map((row) => [row['account_name'], row['key_name'], row['messages']]).sort()).toEqual([
      ['acme', "'=cmd()", '5'],
      ['acme', 'ci', '6'],
      ['beta, "inc"', "'=cmd()", '5'],
      ['beta, "inc"', 'ci', '5'],
    ]);
    expect(Object.keys(rows[0] ?? {})).toContain('provider_cost');
    const owner = (await ask('POST', '/api/v1/tokens', { role: 'owner', account: account?.['id'], name: 'o' })).body;
    const own = await download('kind=costs&month=2026-11&by=account,key', String(owner['token']));
    expect(own.map((row) => row['account'])).toEqual([account?.['id'], account?.['id']] as string[]);
    expect(Object.keys(own[0] ?? {})).not.toContain('provider_cost');
  });

  test('is refused with a dimension twice, with more than two, and with too many groups', async () => {
    await makeMonths();
    await expect(download('kind=costs&by=key,key')).rejects.toThrow('by: must not contain duplicates');
    await expect(download('kind=costs&by=key,model,day')).rejects.toThrow('by: must be one or two of');
    await expect(download('kind=records&by=key')).rejects.toThrow('by: is only for kind costs');
    using _ = setBounds({ exportGroupsMax: 1 });
    await expect(download('kind=costs&month=2026-11&by=model,provider')).rejects.toThrow('by: has more than 1 groups');
  });
});

describe('a file of records', () => {
  test('has each message of the month once, with what its balance paid', async () => {
    using _ = setBounds({ exportPageRows: 3 });
    const accounts = await makeMonths();
    const rows = await download('kind=records&month=2026-11');
    expect(new Set(rows.map((row) => row['request_id'])).size).toBe(21);
    expect(rows.length).toBe(21);
    const statements = await Promise.all(accounts.map((account) => statementOf(account, '2026-11')));
    expect(sumOf(rows, 'balance_paid')).toBe(statements.reduce((sum, one) => sum + nano(one['used']), 0n));
    expect(rows[0]).toMatchObject({
      account_name: 'acme',
      model: 'sandbox-echo',
      outcome: 'completed',
      stream: 'true',
    });
  });

  test('covers the times of since and until, of which the second is excluded', async () => {
    const account = await makeAccount(installation);
    const key = await makeKey(installation, account['id']);
    await useKey(installation, key, 3);
    const { data } = (await ask('GET', '/api/v1/usage')).body as { data: Json[] };
    const [last, middle, first] = data.map((row) => String(row['at']));
    const rows = await download(`kind=records&since=${middle}&until=${last}`);
    expect(rows.map((row) => row['at'])).toEqual([middle as string]);
    expect((await download(`kind=records&since=${first}`)).length).toBe(3);
    await expect(download(`kind=records&since=${last}&until=${first}`)).rejects.toThrow('until: must be after since');
    await expect(download(`kind=records&since=2020-01-01&until=2026-01-01`)).rejects.toThrow('at most 366 days');
    await expect(download('kind=records&month=2027-01')).rejects.toThrow('month: has not begun');
    await expect(download('kind=records&month=2026-11&since=2026-11-01')).rejects.toThrow('cannot be combined');
  });

  test('does not exist for a time whose journal is no longer stored', async () => {
    await installation.stores.retention.keepSince('journal', Date.UTC(2026, 10));
    await expect(download('kind=records&month=2026-10')).rejects.toThrow('The journal is kept only since 2026-11.');
    expect(await download('kind=records&month=2026-11')).toEqual([]);
  });
});

describe('a FOCUS file', () => {
  test('adds up to what balances changed by, without payments', async () => {
    using _ = setBounds({ exportPageRows: 3 });
    const accounts = await makeMonths();
    for (const month of ['2026-11', '2026-12']) {
      const rows = await download(`kind=focus&month=${month}`);
      for (const account of accounts) {
        const statement = await statementOf(account, month);
        const own = rows.filter((row) => row['BillingAccountId'] === account['id']);
        const promotions = own.filter((row) => row['ChargeCategory'] === 'Credit');
        const paid = (statement['entries'] as Json[])
          .filter((entry) => entry['kind'] === 'payment')
          .reduce((sum, entry) => sum + nano(entry['change']), 0n);
        const change = nano(statement['closing_balance']) - nano(statement['opening_balance']);
        expect(sumOf(own, 'BilledCost')).toBe(paid - change);
        expect(promotions.length).toBe(month === '2026-11' ? 1 : 0);
      }
    }
  });

  test('has a row for each kind of unit, with its quantity and price, and the parts of a request add up to its cost', async () => {
    const account = await makeAccount(installation);
    const key = await makeKey(installation, account['id']);
    const send = async (model: string, cost: number, facts: Partial<UsageRecord>) =>
      (await useKey(installation, key, 1, { model, cost, ...facts }))[0] as string;
    const noTokens = {
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWrite5mTokens: 0,
      cacheWrite1hTokens: 0,
    };
    const images = (count: number, cost: number) =>
      ({
        ...noTokens,
        endpoint: 'images',
        units: { counts: { images: count }, image: null },
        unitCosts: { images: cost },
      }) as const;
    await send('painter', 80_000_000, images(2, 80_000_000));
    const refunded = await send('painter', 40_000_000, images(1, 40_000_000));
    const whole = await send('painter', 40_000_000, images(1, 40_000_000));
    const counts = { input_audio_tokens: 40, output_audio_tokens: 9, characters: 1_000 };
    const parts = { input_audio_tokens: 333_333, output_audio_tokens: 333_334, characters: 15_001 };
    const voice = await send('voice', 1_000_001, { units: { counts, image: null }, unitCosts: parts });
    await send('former', 7, { ...noTokens, units: { counts: { seconds: 3 }, image: null } }); // before version 39
    for (const id of [refunded, voice]) await ask('POST', `/api/v1/usage/${id}/refunds`, { amount: '0.000500001' });
    await ask('POST', `/api/v1/usage/${whole}/refunds`, {});
    const rows = await download('kind=focus&month=2026-11');
    const named = ['SkuId', 'SkuMeter', 'ConsumedQuantity', 'ConsumedUnit', 'PricingQuantity', 'PricingUnit'];
    const usage = rows.filter((row) => row['ChargeCategory'] === 'Usage' && !row['BilledCost']?.startsWith('-'));
    expect(
      usage.map((row) => [...named, 'ListUnitPrice', 'ListCost'].map((name) => row[name])).toSorted(compareTexts),
    ).toEqual([
      ['former', 'Seconds', '3', 'Seconds', '3.00', 'Seconds', '0.000000002', '0.000000007'],
      ['painter', 'Images', '4', 'Images', '4.00', 'Images', '0.04', '0.16'],
      ['voice', 'Audio input tokens', '40', 'Tokens', '0.00004', '1000000 Tokens', '8.3333', '0.000333332'],
      ['voice', 'Audio output tokens', '9', 'Tokens', '0.000009', '1000000 Tokens', '37.037111111', '0.000333334'],
      ['voice', 'Characters', '1000', 'Characters', '0.001', '1000000 Characters', '0.015', '0.000015'],
      ['voice', 'Tokens', '612', 'Tokens', '0.000318335', 'USD', '1.00', '0.000318335'],
    ]);
    const { data } = (await ask('GET', '/api/v1/usage')).body as { data: Json[] };
    for (const model of ['painter', 'voice', 'former'])
      expect([
        model,
        sumOf(
          rows.filter((row) => row['SkuId'] === model),
          'ListCost',
        ),
      ]).toEqual([model, data.filter((one) => one['model'] === model).reduce((sum, { cost }) => sum + nano(cost), 0n)]);
    const meters = new Set(rows.filter((row) => row['SkuId'] === 'painter').map((row) => row['SkuMeter']));
    expect(meters).toEqual(new Set(['Images']));
    const change = nano((await statementOf(account, '2026-11'))['used']);
    expect(sumOf(usage, 'BilledCost')).toBe(change);
  });

  test('marks what corrects an earlier month, and nothing else', async () => {
    await makeMonths();
    const classes = async (month: string) =>
      (await download(`kind=focus&month=${month}`)).map((row) => row['ChargeClass']).filter((name) => name !== '');
    expect(await classes('2026-11')).toEqual([]);
    expect(await classes('2026-12')).toEqual(['Correction']);
  });
});

test('an export that is sent regularly keeps its tag and whether it has the accounts below', async () => {
  const account = (await makeAccount(installation))['id'];
  const s3 = { target: 's3', s3_endpoint: 'https://s3.example.com', s3_bucket: 'finance' };
  const keys = { s3_access_key_id: 'AKID', s3_secret_access_key: 'never-shown' };
  const create = (members: Json) =>
    ask('POST', '/api/v1/exports', { kind: 'costs', every: 'month', ...s3, ...keys, ...members });
  const { body: made } = await create({ account, below: true, by: ['account', 'tag'], tag_name: 'Team' });
  const { body: shown } = await ask('GET', `/api/v1/exports/${made['id']}`);
  expect(shown).toMatchObject({ account, below: true, by: ['account', 'tag'], tag_name: 'team' });
  expect((await create({})).body).toMatchObject({ account: null, below: false, tag_name: null });
  for (const [members, message] of [
    [{ below: true }, 'below: needs an account'],
    [{ by: ['tag'] }, 'tag_name: is required to group by tag'],
    [{ tag_name: 'team' }, 'tag_name: is only for the dimension tag'],
  ] as const)
    expect(errorOf((await create(members)).body).message).toBe(message);
});
