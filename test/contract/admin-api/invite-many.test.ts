// Many invitations in one request: a result for each row, and nothing stored of a refused one.

import { beforeEach, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { type Installation, type Json, makeAccount, makeInstallation } from './installation.ts';

const PATH = '/api/v1/people/import';
let installation: Installation;
let account: string;
beforeEach(async () => {
  installation = await makeInstallation();
  account = String((await makeAccount(installation))['id']);
});

async function askFor(people: Json[], headers: Record<string, string> = {}) {
  const { status, body } = await installation.ask('POST', PATH, { people }, headers);
  return { status, body, data: (body['data'] ?? []) as Json[] };
}
const listed = async () => (await installation.ask('GET', '/api/v1/people')).body['data'] as Json[];

test('each row has its own result, in order, and refused rows store nothing', async () => {
  const { status, body, data } = await askFor([
    { email: 'Ada@Example.com', role: 'member', account, name: 'Ada' },
    { email: 'nobody', role: 'member', account },
    { email: 'bob@example.com', role: 'admin', account },
    { email: 'cy@example.com', role: 'owner' },
    { email: 'dee@example.com', role: 'owner', account: 'acct_000000000' },
    { email: 'ada@example.com', role: 'owner', account },
    { email: 'eve@example.com', role: 'viewer' },
  ]);
  expect([status, body['invited'], body['refused']]).toEqual([201, 2, 5]);
  expect(data.map(({ email, error }) => [email, (error as Json | null)?.['code'] ?? null])).toEqual([
    ['Ada@Example.com', null],
    ['nobody', 'invalid_request'],
    ['bob@example.com', 'invalid_request'],
    ['cy@example.com', 'invalid_request'],
    ['dee@example.com', 'invalid_request'],
    ['ada@example.com', 'conflict'],
    ['eve@example.com', null],
  ]);
  expect(data[1]?.['error']).toMatchObject({ message: expect.stringMatching(/^email: must be/) });
  expect((await listed()).map(({ email, role, name }) => [email, role, name]).toSorted()).toEqual([
    ['ada@example.com', 'member', 'Ada'],
    ['eve@example.com', 'viewer', ''],
  ]);
  const [first] = data;
  const shown = await installation.ask('POST', '/api/v1/invitations/show', { secret: first?.['link_secret'] });
  expect(shown.body).toMatchObject({ email: 'ada@example.com', role: 'member' });
  const records = (await installation.ask('GET', '/api/v1/audit')).body['data'] as Json[];
  expect(records.filter(({ action }) => action === 'person.create')).toHaveLength(2);
});

test('a person who signs in already is refused, the others are invited', async () => {
  const { data } = await askFor([{ email: 'ada@example.com', role: 'viewer' }]);
  const accepted = { secret: data[0]?.['link_secret'], name: 'Ada', password: 'a long enough password' };
  expect((await installation.ask('POST', '/api/v1/invitations/accept', accepted)).status).toBe(200);
  const again = await askFor([
    { email: 'ada@example.com', role: 'viewer' },
    { email: 'bob@example.com', role: 'viewer' },
  ]);
  expect(again.data.map(({ error }) => (error as Json | null)?.['code'] ?? null)).toEqual(['conflict', null]);
});

test('the same request with the same key invites nobody again, and shows the same links', async () => {
  const people = ['a', 'b'].map((name) => ({ email: `${name}@example.com`, role: 'member', account }));
  const [first, second] = [
    await askFor(people, { 'idempotency-key': 'monday' }),
    await askFor(people, { 'idempotency-key': 'monday' }),
  ];
  expect(second.data).toEqual(first.data);
  expect(await listed()).toHaveLength(2);
  const more = [...people, { email: 'c@example.com', role: 'member', account }];
  expect((await askFor(more, { 'idempotency-key': 'monday' })).status).toBe(422);
  expect(await listed()).toHaveLength(2);
});

test('an owner invites to their account only, and never to the installation', async () => {
  const other = String((await makeAccount(installation))['id']);
  const { body } = await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account });
  const headers = { authorization: `Bearer ${body['token']}` };
  const { data } = await askFor(
    [
      { email: 'a@example.com', role: 'member' },
      { email: 'b@example.com', role: 'member', account: other },
      { email: 'c@example.com', role: 'operator' },
    ],
    headers,
  );
  expect(data.map(({ error }) => error === null)).toEqual([true, false, false]);
  expect(data[0]).toMatchObject({ person: { account, status: 'invited' }, link_secret: null });
});

test('the number of rows is bounded', async () => {
  const many = Array.from({ length: bounds.invitationsAtOnce + 1 }, (_, at) => ({
    email: `p${at}@example.com`,
    role: 'viewer',
  }));
  expect((await askFor(many)).status).toBe(400);
  expect((await askFor([])).status).toBe(400);
  expect(await listed()).toEqual([]);
});

test('a wrong idempotency key refuses the whole request, whatever its rows are', async () => {
  const { status, body } = await askFor([{ email: 'nobody', role: '' }], { 'idempotency-key': 'x'.repeat(300) });
  expect([status, (body['error'] as Json)['code']]).toEqual([400, 'invalid_request']);
  expect((body['error'] as Json)['message']).toContain('idempotency-key: must be');
});
