// Redemption codes through the admin API: batches of operators, redemptions of holders, wrong codes.

import { beforeEach, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { bounds } from '../../../src/config/config.ts';
import { makeCode } from '../../../src/payments/codes.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, NOW_MS } from './installation.ts';

let installation: Installation;
let ask: Installation['ask'];
let account: Json;
let owner: Record<string, string>;
beforeEach(async () => {
  installation = await makeInstallation();
  ask = installation.ask;
  account = await makeAccount(installation, { credit: '1.00' });
  owner = await ownerOf(account);
});

async function ownerOf({ id }: Json): Promise<Record<string, string>> {
  const { body } = await ask('POST', '/api/v1/tokens', { role: 'owner', account: id });
  return { authorization: `Bearer ${body['token']}` };
}

async function makeBatch(members: Json = {}): Promise<Json & { codes: string[] }> {
  const body = { name: 'spring', amount: '5.00', count: 2, ...members };
  const answer = await ask('POST', '/api/v1/code-batches', body);
  expect(answer.status).toBe(201);
  return answer.body as Json & { codes: string[] };
}

const redeem = (code: unknown, of: Json = account, as = owner) =>
  ask('POST', `/api/v1/accounts/${of['id']}/redemptions`, { code }, as);
const codeOf = async (answer: ReturnType<typeof redeem>) => {
  const { status, body } = await answer;
  return [status, status < 400 ? body['repeated'] : errorOf(body).code];
};
const balanceOf = async (of: Json = account) => (await ask('GET', `/api/v1/accounts/${of['id']}`)).body['balance'];
const listed = async (path: string) => (await ask('GET', path)).body['data'] as Json[];
/** A code that belongs to no batch. */
const wrongCode = (at = 0) => makeCode(Buffer.alloc(19, at + 1));

describe('a batch of codes', () => {
  test('is created with its codes, which no later answer shows', async () => {
    const expires_at = new Date(NOW_MS + DAY_MS).toISOString();
    const { codes, ...batch } = await makeBatch({ count: 3, expires_at, note: 'for partners', once_per_account: true });
    expect(batch).toEqual({
      id: expect.stringMatching(/^batch_/),
      name: 'spring',
      kind: 'promotion',
      amount: '5.00',
      count: 3,
      redeemed: 0,
      expires_at,
      once_per_account: true,
      status: 'enabled',
      note: 'for partners',
      made_by: 'local',
      created_at: new Date(NOW_MS).toISOString(),
    });
    expect(new Set(codes).size).toBe(3);
    expect((await ask('GET', `/api/v1/code-batches/${batch['id']}`)).body).toEqual(batch);
    expect(await listed('/api/v1/code-batches')).toEqual([batch]);
    const everything = JSON.stringify([
      [...Object.values(installation.stores.tables)].map((table) => [...table.entries()]),
      await listed('/api/v1/audit'),
      await listed(`/api/v1/code-batches/${batch['id']}/codes`),
    ]);
    for (const code of codes)
      expect(everything.includes(code) || everything.includes(code.replaceAll('-', ''))).toBe(false);
  });

  test('under an idempotency key is created once, with the same codes for a retry', async () => {
    const header = { 'idempotency-key': 'batch-1' };
    const body = { name: 'spring', amount: '5.00', count: 2 };
    const first = await ask('POST', '/api/v1/code-batches', body, header);
    const again = await ask('POST', '/api/v1/code-batches', body, header);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(await listed('/api/v1/code-batches')).toHaveLength(1);
  });

  test('is refused with each fault of its members', async () => {
    const past = new Date(NOW_MS).toISOString();
    const faults: [Json, string][] = [
      [{ amount: '0' }, 'amount'],
      [{ amount: '-1.00' }, 'amount'],
      [{ amount: 5 }, 'amount'],
      [{ count: 0 }, 'count'],
      [{ count: bounds.codesPerBatchMax + 1 }, 'count'],
      [{ count: 1.5 }, 'count'],
      [{ expires_at: past }, 'expires_at'],
      [{ kind: 'adjustment' }, 'kind'],
      [{ name: ' ' }, 'name'],
    ];
    for (const [members, path] of faults) {
      const { status, body } = await ask('POST', '/api/v1/code-batches', {
        name: 'x',
        amount: '1',
        count: 1,
        ...members,
      });
      expect([members, status, errorOf(body).faults?.[0]?.['path']]).toEqual([members, 400, [path]]);
    }
  });

  test('lists who redeemed its codes', async () => {
    const { id, codes } = await makeBatch();
    await redeem(codes[1]);
    const [first, second] = await listed(`/api/v1/code-batches/${id}/codes`);
    expect(first).toEqual({ id: `${id}:1`, account: null, redeemed_at: null, redeemed_by: null });
    expect(second).toMatchObject({
      id: `${id}:2`,
      account: account['id'],
      redeemed_at: new Date(NOW_MS).toISOString(),
    });
    expect((await ask('GET', `/api/v1/code-batches/${id}`)).body['redeemed']).toBe(1);
  });
});

describe('a redemption', () => {
  test('credits the account, and is in its journal and audit log', async () => {
    const { id, codes } = await makeBatch({ kind: 'payment', note: 'voucher' });
    const typed = ` ${codes[0]?.toLowerCase().replaceAll('-', ' ')}`;
    const { status, body } = await redeem(typed);
    expect([status, body]).toEqual([
      200,
      { account: account['id'], code: `${id}:1`, amount: '5.00', balance: '6.00', repeated: false },
    ]);
    const [entry] = await listed(`/api/v1/accounts/${account['id']}/entries`);
    expect(entry).toMatchObject({ kind: 'payment', change: '5.00', reference: `code:${id}:1`, note: 'voucher' });
    expect((await listed('/api/v1/audit?limit=1'))[0]).toMatchObject({
      action: 'code.redeem',
      object: `${id}:1`,
      account: account['id'],
      role: 'owner',
      after: { amount: '5.00', kind: 'payment' },
    });
  });

  test('of a code is made once: its account may repeat it, another account gets code_used', async () => {
    const { codes } = await makeBatch();
    const other = await makeAccount(installation, { credit: '0' });
    expect(await codeOf(redeem(codes[0]))).toEqual([200, false]);
    expect(await codeOf(redeem(codes[0]))).toEqual([200, true]);
    expect(await codeOf(redeem(codes[0], other, await ownerOf(other)))).toEqual([409, 'code_used']);
    expect([await balanceOf(), await balanceOf(other)]).toEqual(['6.00', '0']);
  });

  test('requested a thousand times at once is made once', async () => {
    const { id, codes } = await makeBatch();
    const accounts = await Promise.all(Array.from({ length: 10 }, () => makeAccount(installation, { credit: '0' })));
    const results = await Promise.all(
      Array.from({ length: 1_000 }, (_, at) => redeem(codes[0], accounts[at % 10] as Json, {})),
    );
    const made = results.filter(({ status, body }) => status === 200 && body['repeated'] === false);
    expect(made).toHaveLength(1);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set([200, 409]));
    const balances = await Promise.all(accounts.map((one) => balanceOf(one)));
    expect(balances.filter((balance) => balance === '5.00')).toHaveLength(1);
    expect(balances.filter((balance) => balance === '0')).toHaveLength(9);
    expect((await ask('GET', `/api/v1/code-batches/${id}`)).body['redeemed']).toBe(1);
  });

  test('of a second code of a batch that is once per account is refused, and open to another account', async () => {
    const { codes } = await makeBatch({ once_per_account: true });
    const other = await makeAccount(installation, { credit: '0' });
    const results = await Promise.all(codes.map((code) => codeOf(redeem(code))));
    expect(results).toEqual([
      [200, false],
      [409, 'code_once_per_account'],
    ]);
    expect(await codeOf(redeem(codes[1], other, await ownerOf(other)))).toEqual([200, false]);
  });

  test('of an expired code, or one of a disabled batch, is refused with the reason', async () => {
    const expires_at = new Date(NOW_MS + DAY_MS).toISOString();
    const { codes } = await makeBatch({ expires_at });
    const disabled = await makeBatch();
    await ask('PATCH', `/api/v1/code-batches/${disabled['id']}`, { status: 'disabled' });
    const { status, body } = await redeem(disabled.codes[0]);
    expect([status, errorOf(body)]).toMatchObject([
      409,
      { code: 'code_expired', message: 'This code is no longer valid.' },
    ]);
    installation.clock.advance(DAY_MS);
    const late = await redeem(codes[0]);
    expect(errorOf(late.body)).toMatchObject({ code: 'code_expired', message: `This code expired at ${expires_at}.` });
    await ask('PATCH', `/api/v1/code-batches/${disabled['id']}`, { status: 'enabled' });
    expect(await codeOf(redeem(disabled.codes[0]))).toEqual([200, false]);
  });

  test('that would raise the balance above the maximum is refused, and the code stays valid', async () => {
    const { codes } = await makeBatch({ amount: '9007199.254740991' });
    expect(await codeOf(redeem(codes[0]))).toEqual([400, 'invalid_request']);
    await ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '-1.00' });
    expect(await codeOf(redeem(codes[0]))).toEqual([200, false]);
  });
});

describe('a wrong code', () => {
  test('gets the same answer whether it is unknown or cannot be a code', async () => {
    await makeBatch();
    const answers = await Promise.all(
      ['', 'gift', wrongCode(), wrongCode().slice(1), '🎁'].map((code) => redeem(code)),
    );
    const expected = { code: 'code_invalid', message: 'There is no such code. Check it for typing errors.' };
    for (const { status, body } of answers) expect([status, errorOf(body)]).toMatchObject([404, expected]);
    expect((await redeem('1'.repeat(bounds.codeTypedCharactersMax + 1))).status).toBe(400);
  });

  test('counts against its account: after too many, right ones must wait, too', async () => {
    const { codes } = await makeBatch();
    for (let at = 0; at < bounds.codeGuessesPerAccountMax; at++)
      expect(await codeOf(redeem(wrongCode(at)))).toEqual([404, 'code_invalid']);
    const refused = await redeem(codes[0]);
    expect([refused.status, errorOf(refused.body).code]).toEqual([429, 'too_many_failures']);
    expect(refused.headers.get('retry-after')).toBe(String(bounds.codeGuessWindowMs / 1000));
    const other = await makeAccount(installation);
    expect(await codeOf(redeem(wrongCode(), other, await ownerOf(other)))).toEqual([404, 'code_invalid']);
    expect(await codeOf(redeem(codes[1], account, {}))).toEqual([200, false]); // the operator
    installation.clock.advance(bounds.codeGuessWindowMs);
    expect(await codeOf(redeem(codes[0]))).toEqual([200, false]);
  });

  test('counts against its address over all accounts', async () => {
    const { codes } = await makeBatch();
    for (let at = 0; at < bounds.codeGuessesPerAddressMax; at += bounds.codeGuessesPerAccountMax) {
      const other = await makeAccount(installation);
      const as = await ownerOf(other);
      for (let times = 0; times < bounds.codeGuessesPerAccountMax; times++)
        expect((await redeem(wrongCode(at + times), other, as)).status).toBe(404);
    }
    expect(await codeOf(redeem(codes[0]))).toEqual([429, 'too_many_failures']);
  });
});
