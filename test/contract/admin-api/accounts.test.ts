// Accounts, their credit and their journal.

import { beforeEach, describe, expect, test } from 'bun:test';
import { parseId } from '../../../src/base/ids.ts';
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
beforeEach(async () => {
  installation = await makeInstallation();
});
const ask: Installation['ask'] = (...request) => installation.ask(...request);

describe('a new account', () => {
  test('has the shape of the contract and its initial credit', async () => {
    const { status, body } = await ask('POST', '/api/v1/accounts', { name: 'acme', credit: '10' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^acct_[0-9A-Za-z]{9}$/),
      name: 'acme',
      groups: ['default'],
      status: 'enabled',
      balance: '10.00',
      held: '0',
      available: '10.00',
      debt: '0',
      credit_line: '0',
      allowance: null,
      allowance_period: 'total',
      allowance_used: '0',
      low_balances: [],
      parent: null,
      pays_from: 'own',
      is_disabled_above: false,
      person_budget: null,
      warns_at: [80, 100],
      tags: {},
      tags_required: [],
      tags_pinned: [],
      created_at: '2026-11-20T10:00:00.000Z',
    });
    const entries = await ask('GET', `/api/v1/accounts/${body['id']}/entries`);
    expect(entries.body['data']).toEqual([
      expect.objectContaining({
        kind: 'payment',
        debit: 'payments',
        credit: body['id'],
        amount: '10.00',
        change: '10.00',
      }),
    ]);
  });

  test('may have groups, an allowance and a credit line', async () => {
    const members = { groups: ['sandbox', 'default'], allowance: '100', allowance_period: 'month', credit_line: '5' };
    const { body } = await ask('POST', '/api/v1/accounts', { name: 'x', ...members });
    expect(body).toMatchObject({ groups: ['sandbox', 'default'], allowance: '100.00', allowance_period: 'month' });
    expect(body).toMatchObject({ credit_line: '5.00', balance: '0', available: '5.00' });
  });

  test('requires groups that exist', async () => {
    const { status, body } = await ask('POST', '/api/v1/accounts', { name: 'x', groups: ['default', 'vip'] });
    expect([status, errorOf(body).message]).toEqual([400, 'groups.1: there is no group "vip"']);
    expect((await ask('GET', '/api/v1/accounts')).body['data']).toEqual([]);
  });

  test('accepts exact amounts only', async () => {
    for (const credit of ['', 'ten', '1e3', '0.0000000001', '1,5', '-1', '9007199.254740992', 5, null, '0x10', ' ']) {
      const { status, body } = await ask('POST', '/api/v1/accounts', { name: 'x', credit });
      expect([credit, status, errorOf(body).message.slice(0, 7)]).toEqual([credit, 400, 'credit:']);
    }
    const { body } = await ask('POST', '/api/v1/accounts', { name: 'x', credit: '9007199.254740991' });
    expect(body['balance']).toBe('9007199.254740991');
  });
});

test('accounts are listed oldest first, in pages without duplicates or gaps', async () => {
  const ids: unknown[] = [];
  for (let at = 0; at < 5; at++) {
    ids.push((await makeAccount(installation, { name: `a${at}` }))['id']);
    installation.clock.advance(1);
  }
  const seen: unknown[] = [];
  let cursor: unknown = null;
  do {
    const page = await ask('GET', `/api/v1/accounts?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`);
    seen.push(...(page.body['data'] as Json[]).map((account) => account['id']));
    cursor = page.body['next_cursor'];
  } while (cursor !== null);
  expect(seen).toEqual(ids);
});

test('a page has a maximum size, and an unknown cursor is refused', async () => {
  for (const limit of ['0', '1001', '-1', 'x', '1.5', ''])
    expect((await ask('GET', `/api/v1/accounts?limit=${limit}`)).status).toBe(400);
  for (const cursor of ['x', '!!', 'MTIz=', Buffer.from("1' OR 1=1").toString('base64url')])
    expect((await ask('GET', `/api/v1/accounts?cursor=${encodeURIComponent(cursor)}`)).status).toBe(400);
});

test('a cursor of one order is refused by another', async () => {
  for (const name of ['beta', 'alpha']) await makeAccount(installation, { name });
  const pageOf = (query: string) => ask('GET', `/api/v1/accounts?limit=1&${query}`);
  const orders = ['sort=name', 'sort=balance', 'sort=created&order=desc', ''];
  for (const one of orders) {
    const { body } = await pageOf(one);
    for (const other of orders)
      expect([one, other, (await pageOf(`${other}&cursor=${body['next_cursor']}`)).status]).toEqual([
        one,
        other,
        one === other ? 200 : 400,
      ]);
  }
});

test('an unknown account is 404, whatever the form of its id', async () => {
  for (const id of ['acct_000000000', 'acct_x', 'key_000000000', '1', "acct_'--", '%00'])
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'y' }],
      ['GET', '/entries', undefined],
      ['POST', '/credits', { amount: '1' }],
    ] as const) {
      const answer = await ask(method, `/api/v1/accounts/${id}${path}`, body);
      expect([id, answer.status, errorOf(answer.body).code]).toEqual([id, 404, 'object_not_found']);
    }
});

describe('a change of an account', () => {
  test('changes only the fields it names', async () => {
    const account = await makeAccount(installation, { allowance: '50', allowance_period: 'day', credit_line: '1' });
    const path = `/api/v1/accounts/${account['id']}`;
    const disabled = await ask('PATCH', path, { status: 'disabled' });
    expect(disabled.body).toEqual({ ...account, status: 'disabled' });
    const freed = await ask('PATCH', path, { status: 'enabled', allowance: null, groups: ['sandbox'] });
    expect(freed.body).toEqual({ ...account, allowance: null, groups: ['sandbox'] });
    expect((await ask('GET', path)).body).toEqual(freed.body);
    expect(installation.notifications).toEqual(
      new Array(2).fill(`forget account ${parseId('acct', String(account['id']))}`),
    );
  });

  test('that disables it stops the next admission of its keys', async () => {
    const account = await makeAccount(installation);
    await ask('PATCH', `/api/v1/accounts/${account['id']}`, { status: 'disabled' });
    const row = installation.stores.tables.accountMeters.get(parseId('acct', String(account['id'])) as number);
    expect(row?.enabled).toBe(false);
  });

  test('to an unknown group, or to a credit line below the debt, changes nothing', async () => {
    const account = await makeAccount(installation, { credit: '1', credit_line: '5' });
    const path = `/api/v1/accounts/${account['id']}`;
    await ask('POST', `${path}/credits`, { amount: '-4' });
    const line = await ask('PATCH', path, { name: 'other', credit_line: '2.99' });
    expect([line.status, errorOf(line.body).message]).toEqual([
      400,
      'credit_line: must be at least 3.00, the amount that the account owes plus the amount on hold',
    ]);
    expect((await ask('PATCH', path, { name: 'other', groups: ['nope'] })).status).toBe(400);
    expect((await ask('GET', path)).body['name']).toBe('acme');
    expect((await ask('PATCH', path, { credit_line: '3' })).body['available']).toBe('0');
  });

  test('does not undo a concurrent change', async () => {
    const account = await makeAccount(installation);
    const path = `/api/v1/accounts/${account['id']}`;
    await Promise.all([
      ask('PATCH', path, { status: 'disabled' }),
      ask('PATCH', path, { name: 'renamed' }),
      ask('PATCH', path, { allowance: '3' }),
    ]);
    expect((await ask('GET', path)).body).toMatchObject({ status: 'disabled', name: 'renamed', allowance: '3.00' });
  });
});

describe('credit', () => {
  test('raises the balance and appears in the journal with its note and reference', async () => {
    const account = await makeAccount(installation);
    const path = `/api/v1/accounts/${account['id']}`;
    const { status, body } = await ask('POST', `${path}/credits`, {
      amount: '2.5',
      note: 'thanks',
      reference: 'inv-1',
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      account: account['id'],
      amount: '2.50',
      balance: '12.50',
      reference: 'inv-1',
      note: 'thanks',
      repeated: false,
    });
    const [newest] = (await ask('GET', `${path}/entries?limit=1`)).body['data'] as Json[];
    expect(newest).toMatchObject({ amount: '2.50', reference: 'inv-1', note: 'thanks' });
  });

  test('with a repeated reference is given once, also by concurrent requests', async () => {
    const account = await makeAccount(installation);
    const path = `/api/v1/accounts/${account['id']}`;
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => ask('POST', `${path}/credits`, { amount: '1', reference: 'r' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201]);
    expect(answers.filter(({ body }) => body['repeated'] === true)).toHaveLength(4);
    expect(new Set(answers.map(({ body }) => body['balance']))).toEqual(new Set(['11.00']));
    expect((await ask('GET', path)).body['balance']).toBe('11.00');
  });

  test('with a repeated reference and another amount is a conflict and changes nothing', async () => {
    const account = await makeAccount(installation);
    const path = `/api/v1/accounts/${account['id']}`;
    await ask('POST', `${path}/credits`, { amount: '1.00', reference: 'r1' });
    for (const amount of ['2.00', '-1.00']) {
      const { status, body } = await ask('POST', `${path}/credits`, { amount, reference: 'r1' });
      expect([status, errorOf(body).code, errorOf(body).message]).toEqual([
        409,
        'conflict',
        `The reference "r1" already credited this account with 1.00, not with ${amount}: nothing was credited.`,
      ]);
    }
    const same = await ask('POST', `${path}/credits`, { amount: '1', reference: 'r1' });
    expect([same.status, same.body['amount'], same.body['balance']]).toEqual([200, '1.00', '11.00']);
  });

  test('of a negative amount is a correction and never takes more than the available balance', async () => {
    const account = await makeAccount(installation);
    const path = `/api/v1/accounts/${account['id']}`;
    const tooMuch = await ask('POST', `${path}/credits`, { amount: '-10.000000001' });
    expect([tooMuch.status, errorOf(tooMuch.body).message]).toEqual([
      400,
      'amount: exceeds the 10.00 that is available',
    ]);
    expect((await ask('POST', `${path}/credits`, { amount: '-10' })).body['balance']).toBe('0');
    const [entry] = (await ask('GET', `${path}/entries?limit=1`)).body['data'] as Json[];
    expect(entry).toMatchObject({ kind: 'adjustment', debit: account['id'], credit: 'adjustments', change: '-10.00' });
  });

  test('of a new account is refused with a message if it exceeds the maximum together with the credit line, and no account is created', async () => {
    const before = installation.stores.tables.accounts.size;
    const { status, body } = await ask('POST', '/api/v1/accounts', {
      name: 'rich',
      credit: '4061378',
      credit_line: '8350024.27',
    });
    expect([status, errorOf(body).message]).toEqual([
      400,
      'credit_line: balance and credit line together must not exceed 9007199.254740991 USD',
    ]);
    expect(installation.stores.tables.accounts.size).toBe(before);
  });

  test('beyond the maximum balance of an account is refused with a message', async () => {
    const account = await makeAccount(installation, { credit: '9007199' });
    const { status, body } = await ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '1' });
    expect([status, errorOf(body).code]).toEqual([400, 'invalid_request']);
    expect(errorOf(body).message).toContain('9007199.254740991');
  });

  test('of zero is refused', async () => {
    const account = await makeAccount(installation);
    const { status } = await ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '0.00' });
    expect(status).toBe(400);
  });
});

test('the journal is listed newest first, in pages, optionally from a start time', async () => {
  const account = await makeAccount(installation);
  const path = `/api/v1/accounts/${account['id']}`;
  for (const amount of ['1', '2', '3']) {
    installation.clock.advance(60_000);
    await ask('POST', `${path}/credits`, { amount });
  }
  const first = await ask('GET', `${path}/entries?limit=3`);
  const amounts = (page: { body: Json }) => (page.body['data'] as Json[]).map((entry) => entry['amount']);
  expect(amounts(first)).toEqual(['3.00', '2.00', '1.00']);
  const rest = await ask('GET', `${path}/entries?limit=3&cursor=${first.body['next_cursor']}`);
  expect([amounts(rest), rest.body['next_cursor']]).toEqual([['10.00'], null]);
  expect(amounts(await ask('GET', `${path}/entries?since=2026-11-20T10:02:00Z`))).toEqual(['3.00', '2.00']);
  expect((await ask('GET', `${path}/entries?since=yesterday`)).status).toBe(400);
});

test('the changes in the journal add up to the balance, also when an account could not pay all of a message', async () => {
  const account = await makeAccount(installation);
  const path = `/api/v1/accounts/${account['id']}`;
  await useKey(installation, await makeKey(installation, account['id']), 1, { cost: 12_000_000_000 });
  const entries = (await ask('GET', `${path}/entries`)).body['data'] as Json[];
  expect(entries.map(({ kind, amount, change }) => [kind, amount, change])).toEqual([
    ['write_off', '2.00', '0'],
    ['usage', '10.00', '-10.00'],
    ['payment', '10.00', '10.00'],
  ]);
  expect((await ask('GET', path)).body['balance']).toBe('0');
});

test('accounts are found by part of their name and by group, across pages', async () => {
  for (const name of ['Acme East', 'globex', 'acme west', 'initech'])
    await makeAccount(installation, { name, groups: name === 'globex' ? ['sandbox'] : ['default'] });
  const found = async (query: string) => {
    const names: unknown[] = [];
    for (let cursor: unknown = ''; cursor !== null; ) {
      const { body } = await ask('GET', `/api/v1/accounts?${query}&limit=1${cursor && `&cursor=${cursor}`}`);
      names.push(...(body['data'] as Json[]).map(({ name }) => name));
      cursor = body['next_cursor'];
    }
    return names.toSorted();
  };
  expect(await found('name=ACME')).toEqual(['Acme East', 'acme west']);
  expect(await found('group=sandbox')).toEqual(['globex']);
  expect(await found('name=acme&group=sandbox')).toEqual([]);
});
