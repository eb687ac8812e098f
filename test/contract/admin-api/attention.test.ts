// The attention list: which conditions it reports, how severe they are, and who sees them.

import { beforeEach, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import {
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  NOW_MS,
  useKey,
} from './installation.ts';

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});

async function attention(token?: string): Promise<Json[]> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { status, body } = await installation.ask('GET', '/api/v1/attention', undefined, headers);
  expect(status).toBe(200);
  return body['data'] as Json[];
}

async function tokenOf(role: string, account: unknown): Promise<string> {
  const { body } = await installation.ask('POST', '/api/v1/tokens', { name: role, role, account });
  return String(body['token']);
}

/** Creates a key that has used 0.001 of its quota. */
async function makeUsedKey(account: unknown, quota: string, token?: string): Promise<Json> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const members = { name: `of ${quota}`, ...(token === undefined && { account }) };
  const { body: key } = await installation.ask('POST', '/api/v1/keys', members, headers);
  await useKey(installation, key, 1);
  await installation.ask('PATCH', `/api/v1/keys/${key['id']}`, { quota });
  return key;
}

/** The fields of an entry that are not null. */
const setFields = (item: Json) => Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));

test('nothing is listed when all is well', async () => {
  const account = await makeAccount(installation);
  await useKey(installation, await makeKey(installation, account['id']), 3);
  expect(await attention()).toEqual([]);
});

test('an account is listed if its balance lasts less than three days at its current spending rate, and is critical below one day', async () => {
  const spend = async (name: string, credit: string, more: Json = {}) => {
    const account = await makeAccount(installation, { name, credit, ...more });
    await useKey(installation, await makeKey(installation, account['id']), 1, { cost: 2_000_000 });
    return account;
  };
  await spend('four days', '0.01'); // 0.002 of it is spent, on one day
  const warned = await spend('two days', '0.006');
  await spend('with a credit line', '0.006', { credit_line: '1.00' });
  const critical = await spend('half a day', '0.003');
  const empty = await spend('nothing', '0.002');
  const found = await attention();
  expect(found.map(({ account_name: name, severity, days_left: left }) => [name, severity, left])).toEqual([
    ['nothing', 'critical', 0],
    ['half a day', 'critical', 0.5],
    ['two days', 'warning', 2],
  ]);
  expect(setFields(found[2] as Json)).toEqual({
    kind: 'balance_low',
    severity: 'warning',
    account: warned['id'],
    account_name: 'two days',
    balance: '0.004',
    available: '0.004',
    cost: '0.002',
    cost_per_day: '0.002',
    days_left: 2,
  });
  expect([critical, empty].map(({ id }) => id)).toEqual([found[1]?.['account'], found[0]?.['account']]);
});

test('the spending rate is that of the last seven days: an account that spent nothing since is not listed', async () => {
  const account = await makeAccount(installation, { credit: '0.003' });
  await useKey(installation, await makeKey(installation, account['id']), 2);
  installation.clock.advance(4 * DAY_MS); // 0.0005 a day
  expect((await attention()).map(({ days_left: left }) => left)).toEqual([2]);
  installation.clock.advance(3 * DAY_MS);
  expect(await attention()).toEqual([]);
});

test('a key is listed once nine tenths of its quota are used, and is critical once all of it is used', async () => {
  const account = await makeAccount(installation);
  const makeUsed = (quota: string) => makeUsedKey(account['id'], quota);
  await makeUsed('0.0012');
  const [low, used] = [await makeUsed('0.0011'), await makeUsed('0.001')];
  const revoked = await makeUsed('0.001');
  await installation.ask('POST', `/api/v1/keys/${revoked['id']}/revoke`, {});
  const found = await attention();
  expect(found.map(({ key, severity }) => [key, severity])).toEqual([
    [used['id'], 'critical'],
    [low['id'], 'warning'],
  ]);
  expect(setFields(found[1] as Json)).toEqual({
    kind: 'key_quota_low',
    severity: 'warning',
    account: account['id'],
    account_name: account['name'],
    key: low['id'],
    key_name: 'of 0.0011',
    quota: '0.0011',
    quota_used: '0.001',
    share: 0.001 / 0.0011,
  });
});

test('recent write-offs and a disabled account with usage are listed', async () => {
  const lost = await makeAccount(installation, { name: 'lost', credit: '0.002' });
  await useKey(installation, await makeKey(installation, lost['id']), 1, { cost: 2_500_000 });
  const off = await makeAccount(installation, { name: 'off' });
  await useKey(installation, await makeKey(installation, off['id']), 1);
  await installation.ask('PATCH', `/api/v1/accounts/${off['id']}`, { status: 'disabled' });
  expect((await attention()).map(setFields)).toMatchObject([
    { kind: 'balance_low', account: lost['id'], severity: 'critical', available: '0' },
    { kind: 'written_off', account: lost['id'], severity: 'warning', written_off: '0.0005', cost: '0.0025' },
    { kind: 'account_disabled', account: off['id'], severity: 'warning', cost: '0.001' },
  ]);
});

test('an owner sees entries of their account only, and a member the quotas of their own keys', async () => {
  const accounts = [
    await makeAccount(installation, { credit: '0.003' }),
    await makeAccount(installation, { credit: '0.003' }),
  ];
  const mine = accounts[0]?.['id'];
  const member = await tokenOf('member', mine);
  const own = await makeUsedKey(mine, '0.001', member);
  for (const account of accounts) await makeUsedKey(account['id'], '0.001');
  expect(await attention()).toHaveLength(5);
  const seen = await attention(await tokenOf('owner', mine));
  expect(seen.map(({ kind, account }) => [kind, account])).toEqual([
    ['balance_low', mine],
    ['key_quota_low', mine],
    ['key_quota_low', mine],
  ]);
  const ofMember = await attention(member);
  expect(ofMember).toMatchObject([{ kind: 'key_quota_low', key: own['id'], balance: null, available: null }]);
});

test('if a week is too expensive to sum, the current day is used, and the response says from when', async () => {
  const account = await makeAccount(installation, { credit: '0.002' });
  await useKey(installation, await makeKey(installation, account['id']), 1, { cost: 2_000_000 });
  const { usage } = installation.stores;
  const topUsage = usage.topUsage;
  usage.topUsage = async (question, requester) => {
    if ((question.sinceMs ?? 0) < NOW_MS - DAY_MS) throw new TurnpikeError('invalid_request', 'too much');
    return topUsage(question, requester);
  };
  const { body } = await installation.ask('GET', '/api/v1/attention');
  expect(body).toMatchObject({ since: '2026-11-20T00:00:00.000Z', data: [{ kind: 'balance_low' }] });
});
