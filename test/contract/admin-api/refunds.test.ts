// Refunds and debt forgiveness: at most the amount paid or owed, recorded in the journal and the audit log.

import { beforeEach, describe, expect, test } from 'bun:test';
import {
  errorOf,
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  useKey,
} from './installation.ts';

let installation: Installation;
let ask: Installation['ask'];
let account: Json;
let path: string;
beforeEach(async () => {
  installation = await makeInstallation();
  ask = installation.ask;
  account = await makeAccount(installation);
  const [requestId] = await useKey(installation, await makeKey(installation, account['id']), 1);
  path = `/api/v1/usage/${requestId}`;
});

const once = { 'idempotency-key': 'refund 1'.replace(' ', '-') };
const listed = async (of: string) => (await ask('GET', of)).body['data'] as Json[];
const entriesOf = () => listed(`/api/v1/accounts/${account['id']}/entries`);

describe('a refund', () => {
  test('returns a part, then the rest, and no more than was paid', async () => {
    const part = await ask('POST', `${path}/refunds`, { amount: '0.000000001', note: 'on us' });
    expect([part.status, part.body]).toEqual([
      201,
      {
        request_id: path.split('/').at(-1),
        account: account['id'],
        amount: '0.000000001',
        balance: '9.999000001',
        note: 'on us',
      },
    ]);
    expect((await ask('GET', path)).body['cost']).toBe('0.000999999');
    const tooMuch = await ask('POST', `${path}/refunds`, { amount: '0.001' });
    expect(errorOf(tooMuch.body)).toMatchObject({
      code: 'invalid_request',
      faults: [{ path: ['amount'], message: 'exceeds the 0.000999999 of this message that can still be refunded' }],
    });
    expect((await ask('POST', `${path}/refunds`, {})).body).toMatchObject({ amount: '0.000999999', balance: '10.00' });
    const nothing = await ask('POST', `${path}/refunds`, {});
    expect(errorOf(nothing.body).faults).toEqual([
      { path: ['amount'], message: 'this message has no cost left to refund' },
    ]);
    expect((await ask('GET', path)).body).toMatchObject({ cost: '0', outcome: 'completed', input_tokens: 500 });
  });

  test('appears under its request id in the journal, in the totals and in the audit log', async () => {
    await ask('POST', `${path}/refunds`, { amount: '0.0004', note: 'slow' });
    expect((await entriesOf())[0]).toMatchObject({
      kind: 'refund',
      debit: 'revenue',
      credit: account['id'],
      change: '0.0004',
      reference: path.split('/').at(-1),
      note: 'slow',
    });
    const { body } = await ask('GET', `/api/v1/usage/totals?account=${account['id']}`);
    expect(body['total']).toMatchObject({ messages: 1, cost: '0.0006' });
    expect((await listed('/api/v1/audit?limit=1'))[0]).toMatchObject({
      action: 'refund.create',
      object: path.split('/').at(-1),
      account: account['id'],
      after: { amount: '0.0004', note: 'slow' },
    });
  });

  test('under an idempotency key is issued once, with the same response for a retry, also for the full amount', async () => {
    const first = await ask('POST', `${path}/refunds`, {}, once);
    const again = await ask('POST', `${path}/refunds`, {}, once);
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    expect((await entriesOf()).filter(({ kind }) => kind === 'refund')).toHaveLength(1);
    expect((await ask('POST', `${path}/refunds`, { note: 'other' }, once)).status).toBe(422);
  });

  test('requested many times concurrently returns no more than the amount paid', async () => {
    const results = await Promise.all(
      Array.from({ length: 8 }, () => ask('POST', `${path}/refunds`, { amount: '0.0003' })),
    );
    expect(results.map(({ status }) => status).sort()).toEqual([201, 201, 201, 400, 400, 400, 400, 400]);
    expect((await ask('GET', `/api/v1/accounts/${account['id']}`)).body['balance']).toBe('9.9999');
  });

  test('of an unknown message is not found', async () => {
    const { status, body } = await ask('POST', '/api/v1/usage/req_0000000000000000000000000/refunds', {});
    expect([status, errorOf(body).code]).toEqual([404, 'object_not_found']);
  });

  test('of an invalid amount is refused', async () => {
    for (const amount of ['0', '-0.001', 1, null, '1e-3'])
      expect((await ask('POST', `${path}/refunds`, { amount })).status).toBe(400);
    expect((await ask('GET', path)).body['cost']).toBe('0.001');
  });
});

describe('a debt', () => {
  const give = (amount: string, more: Json = {}) =>
    ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount, kind: 'write_off', ...more });

  test('is forgiven up to the amount owed, and counts as a write-off', async () => {
    await ask('PATCH', `/api/v1/accounts/${account['id']}`, { credit_line: '5.00' });
    await ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '-12.999' });
    const tooMuch = await give('3.000000001');
    expect(errorOf(tooMuch.body).faults).toEqual([
      { path: ['amount'], message: 'must be greater than zero and at most 3.00, the amount that the account owes' },
    ]);
    expect((await give('1.00', { reference: 'insolvency 7' })).body['balance']).toBe('-2.00');
    expect((await give('1.00', { reference: 'insolvency 7' })).body).toMatchObject({ repeated: true });
    expect((await give('2.00')).body['balance']).toBe('0');
    expect((await entriesOf()).slice(0, 2)).toMatchObject([
      { kind: 'debt_write_off', debit: 'write_offs', change: '2.00' },
      { kind: 'debt_write_off', debit: 'write_offs', change: '1.00', reference: 'insolvency 7' },
    ]);
  });

  test('of zero is not forgiven, and creates no entry', async () => {
    const faults = [
      { path: ['amount'], message: 'must be greater than zero and at most 0, the amount that the account owes' },
    ];
    expect(errorOf((await give('0.01')).body).faults).toEqual(faults);
    expect(errorOf((await give('-0.01')).body).faults).toEqual(faults);
  });
});
