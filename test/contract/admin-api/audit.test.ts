// The audit log: every change has a record in its own transaction, and no record contains a secret.

import { beforeEach, describe, expect, test } from 'bun:test';
import { describeChange } from '../../../src/audit/audit.ts';
import { ADDRESS, type Installation, type Json, makeAccount, makeInstallation, makeKey } from './installation.ts';

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});

async function records(query = ''): Promise<Json[]> {
  return (await installation.ask('GET', `/api/v1/audit${query}`)).body['data'] as Json[];
}

describe('a change', () => {
  test('is recorded with its author, their address, and the values before and after', async () => {
    const account = await makeAccount(installation);
    const { headers } = await installation.ask('PATCH', `/api/v1/accounts/${account['id']}`, { name: 'renamed' });
    expect((await records())[0]).toEqual({
      seq: expect.any(Number),
      at: '2026-11-20T10:00:00.000Z',
      actor: 'local',
      role: 'operator',
      address: ADDRESS,
      request_id: headers.get('request-id'),
      action: 'account.update',
      object: account['id'],
      account: account['id'],
      before: { name: 'acme' },
      after: { name: 'renamed' },
    });
  });

  test('of any kind leaves a record', async () => {
    const account = await makeAccount(installation);
    const key = await makeKey(installation, account['id']);
    await installation.ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '2.00', note: 'invoice 7' });
    await installation.ask('PATCH', `/api/v1/keys/${key['id']}`, { status: 'disabled' });
    await installation.ask('POST', `/api/v1/keys/${key['id']}/rotate`, {});
    await installation.ask('POST', `/api/v1/keys/${key['id']}/revoke`, {});
    const token = (await installation.ask('POST', '/api/v1/tokens', { role: 'viewer' })).body;
    await installation.ask('POST', `/api/v1/tokens/${token['id']}/revoke`);
    await installation.ask('POST', '/api/v1/apply', { document: { groups: { vip: { models: ['*'] } } } });
    expect((await records()).map((record) => record['action']).reverse()).toEqual([
      'account.create',
      'key.create',
      'credit.create',
      'key.update',
      'key.rotate',
      'key.revoke',
      'token.create',
      'token.revoke',
      'group.create',
    ]);
  });

  test('that was refused or had no effect leaves no record', async () => {
    const account = await makeAccount(installation);
    const before = (await records()).length;
    await installation.ask('PATCH', `/api/v1/accounts/${account['id']}`, { credit_line: '-1' });
    await installation.ask('PATCH', `/api/v1/accounts/${account['id']}`, { name: 'acme' });
    await installation.ask('POST', `/api/v1/accounts/${account['id']}/credits`, { amount: '-99.00' });
    await installation.ask('POST', '/api/v1/apply', { document: { groups: { vip: {} } } });
    expect((await records()).length).toBe(before);
  });

  test('is recorded once when a credit is repeated with the same reference', async () => {
    const account = await makeAccount(installation);
    const credit = { amount: '2.00', reference: 'invoice-7' };
    await installation.ask('POST', `/api/v1/accounts/${account['id']}/credits`, credit);
    await installation.ask('POST', `/api/v1/accounts/${account['id']}/credits`, credit);
    expect((await records()).filter((record) => record['action'] === 'credit.create')).toHaveLength(1);
  });
});

test('a credential never appears in a record, only the fact that it changed', async () => {
  const secrets = ['sk-canary-one', 'sk-canary-two'];
  for (const api_key of secrets) {
    const provider = { kind: 'anthropic', base_url: 'https://api.example.com', api_key };
    await installation.ask('POST', '/api/v1/apply', { document: { providers: { upstream: provider } } });
  }
  const [second, first] = await records('?object=provider%20upstream');
  expect(first).toMatchObject({ action: 'provider.create', after: { api_key_sealed: '[secret]' } });
  expect(second).toMatchObject({
    action: 'provider.update',
    before: { api_key_sealed: '[secret]' },
    after: { api_key_sealed: '[another secret]' },
  });
  for (const secret of secrets)
    expect(Bun.inspect(installation.stores.tables.audit, { depth: 9 })).not.toContain(secret);
});

test('records are found by account, object, actor and time, in pages', async () => {
  const [one, other] = [await makeAccount(installation), await makeAccount(installation, { name: 'other' })];
  installation.clock.advance(60_000);
  const token = (await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account: one['id'] })).body;
  const headers = { authorization: `Bearer ${token['token']}` };
  const key = (await installation.ask('POST', '/api/v1/keys', {}, headers)).body;
  const actionsOf = async (query: string) => (await records(query)).map((record) => record['action']);
  expect(await actionsOf(`?account=${one['id']}`)).toEqual(['key.create', 'token.create', 'account.create']);
  expect(await actionsOf(`?account=${other['id']}`)).toEqual(['account.create']);
  expect(await actionsOf(`?object=${key['id']}`)).toEqual(['key.create']);
  expect(await actionsOf(`?actor=${token['id']}`)).toEqual(['key.create']);
  expect(await actionsOf('?since=2026-11-20T10:01:00Z')).toEqual(['key.create', 'token.create']);
  expect(await actionsOf('?until=2026-11-20T10:00:59Z')).toEqual(['account.create', 'account.create']);
  const page = (await installation.ask('GET', '/api/v1/audit?limit=1')).body;
  expect(await actionsOf(`?limit=1&cursor=${page['next_cursor']}`)).toEqual(['token.create']);
});

test('an owner sees the changes to their account, but not the addresses of operators', async () => {
  const account = await makeAccount(installation);
  await makeAccount(installation, { name: 'other' });
  const token = (await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account: account['id'] })).body;
  const headers = { authorization: `Bearer ${token['token']}` };
  await installation.ask('POST', '/api/v1/keys', {}, headers);
  const { body } = await installation.ask('GET', '/api/v1/audit', undefined, headers);
  expect((body['data'] as Json[]).map(({ action, address }) => [action, address])).toEqual([
    ['key.create', ADDRESS],
    ['token.create', null],
    ['account.create', null],
  ]);
});

test('masked fields are masked at any depth, and unchanged fields are left out', () => {
  const before = { name: 'a', nested: { api_key: 'one', list: [{ password: 'two' }] }, same: 1 };
  const after = { name: 'b', nested: { api_key: 'three', list: [] }, same: 1 };
  expect(describeChange(before, after)).toEqual({
    before: { name: 'a', nested: { api_key: '[secret]', list: [{ password: '[secret]' }] } },
    after: { name: 'b', nested: { api_key: '[another secret]', list: [] } },
  });
  expect(
    describeChange({ many: { a: { key: '1' }, b: { key: '2' } } }, { many: { a: { key: '1' }, b: { key: '3' } } }),
  ).toEqual({
    before: { many: { a: { key: '[secret]' }, b: { key: '[secret]' } } },
    after: { many: { a: { key: '[secret]' }, b: { key: '[another secret]' } } },
  });
  expect(describeChange(null, { token: 'x', id: 'y' })).toEqual({
    before: null,
    after: { token: '[secret]', id: 'y' },
  });
});

test('the log has every request with its principal, and the audit record of every change', async () => {
  const account = await makeAccount(installation);
  await installation.ask('PATCH', `/api/v1/accounts/${account['id']}`, { name: 'b' });
  await installation.ask('PATCH', `/api/v1/accounts/${account['id']}`, { name: '' });
  await installation.ask('GET', '/api/v1/accounts', undefined, { authorization: 'Bearer nobody' });
  const logged = installation.answers.map(({ method, status, code, actor, address, records }) => [
    `${method} ${status} ${code} ${actor} ${address}`,
    records.map((record) => record.action),
  ]);
  expect(logged).toEqual([
    [`POST 201 null local ${ADDRESS}`, ['account.create']],
    [`PATCH 200 null local ${ADDRESS}`, ['account.update']],
    [`PATCH 400 invalid_request local ${ADDRESS}`, []],
    [`GET 401 token_invalid null ${ADDRESS}`, []],
  ]);
});
