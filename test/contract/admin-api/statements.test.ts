// An account's statement, its open holds, and its entries by kind or by message.

import { beforeEach, describe, expect, test } from 'bun:test';
import { formatId, newRequestId, parseId } from '../../../src/base/ids.ts';
import { NO_LIMITS } from '../../money/ledger/workbench.ts';
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
let account: Json;
let key: Json;
let path: string;
beforeEach(async () => {
  installation = await makeInstallation();
  ask = installation.ask;
  account = await makeAccount(installation);
  key = await makeKey(installation, account['id']);
  path = `/api/v1/accounts/${account['id']}`;
});

const rowsOf = async (of: string) => (await ask('GET', `${path}/${of}`)).body['data'] as Json[];
const kindsOf = async (query: string) => (await rowsOf(`entries?${query}`)).map((entry) => entry['kind']);

describe('a statement', () => {
  test('explains the difference between its opening and closing balances, and has the usage by day, model and key', async () => {
    const [requestId] = await useKey(installation, key, 2);
    installation.clock.advance(DECEMBER - installation.clock.nowMs());
    await useKey(installation, key, 1, { model: 'big' });
    await ask('POST', `/api/v1/usage/${requestId}/refunds`, {});
    await ask('POST', `${path}/credits`, { amount: '5.00', reference: 'invoice 7' });
    const used = {
      input_tokens: 1000,
      output_tokens: 200,
      cache_read_input_tokens: 14,
      cache_creation_input_tokens: 10,
      cost: '0.001', // one of the two was refunded since
      written_off: '0',
      units: {},
    };
    expect((await ask('GET', `${path}/statement?month=2026-11`)).body).toEqual({
      account: account['id'],
      month: '2026-11',
      since: '2026-11-01T00:00:00.000Z',
      until: '2026-12-01T00:00:00.000Z',
      is_over: true,
      opening_balance: '0',
      closing_balance: '9.998',
      credited: '10.00',
      bonus: '0',
      used: '0.002',
      refunded: '0',
      corrected: '0',
      usage: { messages: 2, ...used },
      below: [],
      usage_with_below: { messages: 2, ...used },
      by_tag: [],
      tags: 0,
      by_day: [{ day: '2026-11-20', messages: 2, ...used, balance_paid: '0.002' }], // at their end
      by_model: [{ model: 'sandbox-echo', messages: 2, ...used }],
      models: 1,
      by_key: [{ key: key['id'], messages: 2, ...used }],
      keys: 1,
      entries: [expect.objectContaining({ kind: 'payment', change: '10.00' })],
      payments: [],
      has_more_entries: false,
    });
    const { body: present } = await ask('GET', `${path}/statement`);
    expect(present).toMatchObject({
      month: '2026-12',
      is_over: false,
      opening_balance: '9.998',
      closing_balance: '14.998',
      credited: '5.00',
      used: '0.001',
      refunded: '0.001',
      by_model: [{ model: 'big', cost: '0.001' }],
    });
    expect((present['entries'] as Json[]).map((entry) => entry['kind'])).toEqual(['payment', 'refund']);
  });

  test('does not exist for a month that has not begun, or whose journal is no longer stored', async () => {
    const { body } = await ask('GET', `${path}/statement?month=2026-12`);
    expect(errorOf(body).faults).toEqual([{ path: ['month'], message: 'has not begun' }]);
    const { body: unnamed } = await ask('GET', `${path}/statement?tag_name=9`);
    expect(errorOf(unnamed).faults).toEqual([{ path: ['tag_name'], message: 'must be the name of a tag' }]);
    await installation.stores.retention.keepSince('journal', Date.UTC(2026, 10));
    expect((await ask('GET', `${path}/statement?month=2026-11`)).status).toBe(200);
    const dropped = await ask('GET', `${path}/statement?month=2026-10`);
    expect([dropped.status, errorOf(dropped.body).message]).toEqual([404, 'The journal is kept only since 2026-11.']);
  });
});

describe('the entries of an account', () => {
  test('can be filtered to one kind, to all credits, and to all that is not usage', async () => {
    const [requestId] = await useKey(installation, key, 2);
    await ask('POST', `/api/v1/usage/${requestId}/refunds`, { amount: '0.0001' });
    await ask('POST', `${path}/credits`, { amount: '1.00', kind: 'promotion' });
    expect(await kindsOf('')).toEqual(['promotion', 'refund', 'usage', 'usage', 'payment']);
    expect(await kindsOf('kind=refund')).toEqual(['refund']);
    expect(await kindsOf('kind=credit')).toEqual(['promotion', 'payment']);
    expect(await kindsOf('kind=beside_usage')).toEqual(['promotion', 'refund', 'payment']);
    expect(await kindsOf('kind=beside_usage&since=2026-11-20T10:00:01Z')).toEqual(['promotion', 'refund']);
    expect(await kindsOf('kind=correction')).toEqual([]);
    const first = await ask('GET', `${path}/entries?kind=beside_usage&limit=2`);
    const next = `kind=beside_usage&limit=2&cursor=${first.body['next_cursor']}`;
    expect(await kindsOf(next)).toEqual(['payment']);
  });

  test('of one message show its charge, its write-off and its refunds', async () => {
    const [requestId, dear] = [
      (await useKey(installation, key, 1))[0],
      (await useKey(installation, key, 1, { cost: 20_000_000_000 }))[0],
    ];
    await ask('POST', `/api/v1/usage/${requestId}/refunds`, { amount: '0.0001' });
    await ask('POST', `/api/v1/usage/${requestId}/refunds`, { amount: '0.0002' });
    expect((await rowsOf(`entries?request=${requestId}`)).map(({ kind, change }) => [kind, change])).toEqual([
      ['refund', '0.0002'],
      ['refund', '0.0001'],
      ['usage', '-0.001'],
    ]);
    expect((await rowsOf(`entries?request=${dear}`)).map(({ kind, change }) => [kind, change])).toEqual([
      ['write_off', '0'],
      ['usage', '-9.999'],
    ]);
    const one = await ask('GET', `${path}/entries?request=${requestId}&limit=1`);
    const rest = await rowsOf(`entries?request=${requestId}&cursor=${one.body['next_cursor']}`);
    expect(rest.map(({ kind }) => kind)).toEqual(['refund', 'usage']);
    const both = await ask('GET', `${path}/entries?request=${requestId}&kind=refund`);
    expect(errorOf(both.body).faults).toEqual([{ path: ['kind'], message: 'cannot be combined with request' }]);
  });

  test('of another account’s message, or of an unknown one, are empty', async () => {
    const other = await makeAccount(installation);
    const [requestId] = await useKey(installation, await makeKey(installation, other['id']), 1);
    expect(await rowsOf(`entries?request=${requestId}`)).toEqual([]);
    expect(await rowsOf(`entries?request=${newRequestId(0)}`)).toEqual([]);
  });
});

test('open holds are listed oldest first, in pages, and ended ones are not listed', async () => {
  await useKey(installation, key, 1);
  const { stores, clock } = installation;
  const [accountId, keyId] = [parseId('acct', String(account['id'])), parseId('key', String(key['id']))];
  const [lease] = await stores.gate.submit({
    operations: [{ kind: 'renew', node: 'test', epoch: null, leaseMs: 3_600_000 }],
  });
  const owner = { node: 'test', epoch: lease?.ok && lease.kind === 'lease' ? lease.epoch : 0 };
  const requestIds: string[] = [];
  for (const amount of [1_000_000, 2_000_000, 3_000_000]) {
    clock.advance(1_000);
    const requestId = newRequestId(clock.nowMs());
    requestIds.push(requestId);
    const of = { requestId, account: accountId as number, key: keyId as number, group: 'default' };
    const draft = { model: 'sandbox-echo', stream: true };
    await stores.gate.submit({ operations: [{ kind: 'admit', ...of, limits: NO_LIMITS, amount, owner, draft }] });
  }
  await stores.gate.submit({ operations: [{ kind: 'leave', requestId: String(requestIds[1]) }] });
  const holds = await rowsOf('holds');
  expect(holds[0]).toEqual({
    batch: null,
    request_id: requestIds[0],
    key: key['id'],
    group: 'default',
    model: 'sandbox-echo',
    stream: true,
    amount: '0.001',
    since: '2026-11-20T10:00:02.000Z',
    caller_left: false,
  });
  expect(holds.map((hold) => [hold['request_id'], hold['caller_left']])).toEqual([
    [requestIds[0], false],
    [requestIds[1], true],
    [requestIds[2], false],
  ]);
  const of = { account: accountId as number, key: keyId as number, group: 'default', limits: NO_LIMITS };
  const draft = { model: 'sandbox-echo', stream: false };
  const reserve = { kind: 'reserve', requestId: 'rsv_5000000000_0', ...of, amount: 5_000_000, draft } as const;
  await stores.gate.submit({ operations: [reserve] });
  const { body } = await ask('GET', `${path}/holds?limit=2`);
  expect(await rowsOf(`holds?cursor=${body['next_cursor']}`)).toMatchObject([
    holds[2],
    { request_id: 'rsv_5000000000_0', batch: formatId('msgbatch', 5_000_000_000), amount: '0.005', caller_left: false },
  ]);
  const { body: upToReserve } = await ask('GET', `${path}/holds?limit=4`);
  expect(await rowsOf(`holds?cursor=${upToReserve['next_cursor']}`)).toEqual([]);
  const other = await makeAccount(installation);
  expect((await ask('GET', `/api/v1/accounts/${other['id']}/holds`)).body['data']).toEqual([]);
});
