// Accounts below others: their place, the rights of owners above, what rolls up, and moves.

import { beforeEach, describe, expect, test } from 'bun:test';
import { newRequestId, parseId } from '../../../src/base/ids.ts';
import { checkLedger } from '../../../src/ledger/ledger.ts';
import { NO_LIMITS } from '../../money/ledger/workbench.ts';
import { sumMemory } from '../../support/memory-store/sum-ledger.ts';
import {
  errorOf,
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  useKey,
} from './installation.ts';

type Headers = Record<string, string>;

let installation: Installation;
let ask: Installation['ask'];
/** A company with a department that pays from it, and a team that pays from the department. */
let company: Json;
let department: Json;
let team: Json;
beforeEach(async () => {
  installation = await makeInstallation();
  ask = installation.ask;
  company = await makeAccount(installation, { name: 'company', groups: ['default', 'sandbox'] });
  department = await makeBelow(company, { name: 'department' });
  team = await makeBelow(department, { name: 'team' });
});

const makeBelow = (parent: Json, members: Json = {}) =>
  makeAccount(installation, { parent: parent['id'], pays_from: 'parent', credit: undefined, ...members });
const pathOf = ({ id }: Json) => `/api/v1/accounts/${id}`;
const change = (account: Json, members: Json, as: Headers = {}) => ask('PATCH', pathOf(account), members, as);
const show = async (account: Json) => (await ask('GET', pathOf(account))).body;

async function ownerOf({ id }: Json, role = 'owner'): Promise<Headers> {
  const { body } = await ask('POST', '/api/v1/tokens', { role, account: id });
  return { authorization: `Bearer ${body['token']}` };
}

/** The members of a request's body, as documented. */
async function bodyOf(operation: string): Promise<string[]> {
  const [method = '', path = ''] = operation.toLowerCase().split(' ');
  const { body } = await ask('GET', '/api/v1/openapi.json');
  const { paths } = body as { paths: Record<string, Record<string, { requestBody: DocumentedBody }>> };
  return Object.keys(paths[path]?.[method]?.requestBody.content['application/json'].schema.properties ?? {});
}

interface DocumentedBody {
  content: { 'application/json': { schema: { properties: Json } } };
}

/** Who is above and who pays, as an admission knows it. */
function chainOf(account: Json, payer: Json, ...above: Json[]) {
  const number = ({ id }: Json) => parseId('acct', String(id)) as number;
  return { above: above.map(number), payer: number(payer), account: number(account) };
}

describe('the place of an account', () => {
  test('is at most three levels deep, counted with the accounts below it, and has no cycle', async () => {
    const fourth = await ask('POST', '/api/v1/accounts', { name: 'fourth', parent: team['id'] });
    expect([fourth.status, errorOf(fourth.body).faults?.[0]?.['path']]).toEqual([400, ['parent']]);
    for (const parent of [company, department, team]) {
      const { status, body } = await change(company, { parent: parent['id'] });
      expect([status, errorOf(body).message]).toEqual([400, expect.stringMatching(/^parent: must not be the account/)]);
    }
    const other = await makeAccount(installation, { name: 'other' });
    const third = await change(company, { parent: other['id'] });
    expect([third.status, errorOf(third.body).message]).toEqual([400, expect.stringMatching(/^parent: .* 3 levels/)]);
    expect((await change(department, { parent: other['id'] })).body).toMatchObject({ parent: other['id'] });
    const { body: listed } = await ask('GET', `/api/v1/accounts?parent=${other['id']}&below=true&sort=name`);
    expect(listed['data']).toMatchObject([{ name: 'department' }, { name: 'team' }]);
    expect((await ask('GET', `/api/v1/accounts?parent=${company['id']}`)).body['data']).toEqual([]);
  });

  test('decides who pays: without a parent only the account itself, and an account that pays from above gets no credit', async () => {
    const cases: [Json, string][] = [
      [{ parent: null }, 'pays_from: must be own: the account has no parent'],
      [{ credit_line: '5' }, 'credit_line: must be 0: the account pays from the one above'],
      [{ parent: 'acct_000000000' }, 'parent: there is no account "acct_000000000"'],
    ];
    for (const [members, message] of cases) {
      const { status, body } = await change(department, members);
      expect([status, errorOf(body).message]).toEqual([400, message]);
    }
    expect((await ask('POST', `${pathOf(department)}/credits`, { amount: '1' })).status).toBe(409);
    expect((await change(department, { parent: null, pays_from: 'own' })).body).toMatchObject({
      parent: null,
      pays_from: 'own',
    });
  });

  test('shows that an account above is disabled', async () => {
    expect(await show(team)).toMatchObject({ is_disabled_above: false, status: 'enabled' });
    await change(company, { status: 'disabled' });
    expect(await show(team)).toMatchObject({ is_disabled_above: true, status: 'enabled' });
    const key = await ask('POST', '/api/v1/keys', {}, await ownerOf(team));
    expect([key.status, errorOf(key.body).code]).toEqual([403, 'role_not_allowed']);
  });
});

describe('an owner of an account above', () => {
  test('sees and manages everything below; nobody sees upwards or sideways, and members see their own account', async () => {
    const key = await makeKey(installation, team['id']);
    const other = await makeBelow(company, { name: 'sibling' });
    const seen = async (as: Headers) =>
      Promise.all(
        [`/api/v1/keys/${key['id']}`, `/api/v1/people?account=${team['id']}`, `${pathOf(team)}/statement`].map(
          async (path) => (await ask('GET', path, undefined, as)).status,
        ),
      );
    expect(await seen(await ownerOf(company))).toEqual([200, 200, 200]);
    expect(await seen(await ownerOf(department))).toEqual([200, 200, 200]);
    expect(await seen(await ownerOf(other))).toEqual([404, 404, 404]);
    expect(await seen(await ownerOf(company, 'member'))).toEqual([404, 403, 403]);
    const upwards = await ask('GET', pathOf(department), undefined, await ownerOf(team));
    expect(upwards.status).toBe(404);
    const own = await ask('GET', pathOf(team), undefined, await ownerOf(team));
    expect(own.body).toMatchObject({ parent: null, pays_from: 'parent' });
    const revoked = await ask('POST', `/api/v1/keys/${key['id']}/revoke`, {}, await ownerOf(company));
    expect(revoked.status).toBe(200);
  });

  test('loses the account that is moved away, at once', async () => {
    const owner = await ownerOf(department);
    expect((await ask('GET', pathOf(team), undefined, owner)).status).toBe(200);
    await change(team, { parent: company['id'] });
    expect((await ask('GET', pathOf(team), undefined, owner)).status).toBe(404);
  });

  test('creates accounts that pay from theirs, without credit, with at most their groups', async () => {
    const owner = await ownerOf(company);
    const create = (members: Json) => ask('POST', '/api/v1/accounts', { name: 'new', ...members }, owner);
    const made = await create({ allowance: '3' });
    expect([made.status, made.body]).toMatchObject([
      201,
      { parent: company['id'], pays_from: 'parent', groups: ['default', 'sandbox'], balance: '0', allowance: '3.00' },
    ]);
    const stranger = await makeAccount(installation);
    for (const refused of [
      { pays_from: 'own' },
      { credit: '1' },
      { credit_line: '1' },
      { parent: null },
      { parent: stranger['id'] },
    ])
      expect([refused, (await create(refused)).status]).toEqual([refused, 400]);
    const narrow = await makeBelow(company, { groups: ['sandbox'] });
    const wider = await ask('POST', '/api/v1/accounts', { name: 'x', groups: ['default'] }, await ownerOf(narrow));
    expect(errorOf(wider.body).message).toBe('groups.0: "default" is not one of the groups of the account above');
  });

  test('sets at the creation what a change may set, and nothing that only operators set', async () => {
    const owner = await ownerOf(company);
    const values: Json = {
      ...{ name: 'given', parent: department['id'], groups: ['default'], allowance: '3', allowance_period: 'day' },
      ...{ low_balances: ['1'], person_budget: { limits: [{ window: 'day', limit: '1' }] }, warns_at: [50] },
      ...{ credit_line: '1', pays_from: 'own', tags: { cost_centre: '4711' } },
      ...{ tags_required: ['team'], tags_pinned: ['team'] },
    };
    const ofCredits = ['credit', 'credit_kind', 'note', 'reference'];
    const names = (await bodyOf('POST /api/v1/accounts')).filter((name) => !ofCredits.includes(name));
    expect(Object.keys(values).sort()).toEqual(names.sort());
    const changed = (await bodyOf('PATCH /api/v1/accounts/{id}')).filter((name) => name !== 'status');
    expect(changed.sort()).toEqual(names);
    const allowed = async (answer: (members: Json) => ReturnType<typeof ask>) => {
      const statuses = names.map(
        async (name) => [name, (await answer({ [name]: values[name] })).status < 300] as const,
      );
      return (await Promise.all(statuses)).flatMap(([name, isAllowed]) => (isAllowed ? [name] : []));
    };
    const created = await allowed((members) => ask('POST', '/api/v1/accounts', { name: 'new', ...members }, owner));
    expect(created).toEqual(await allowed((members) => change(team, members, owner)));
    const operators = names.filter((name) => !created.includes(name));
    expect(operators).toEqual(['credit_line', 'pays_from', 'tags', 'tags_pinned', 'tags_required']);
    const plain = { name: 'plain', pays_from: 'parent', credit: '0', credit_line: '0' };
    expect((await ask('POST', '/api/v1/accounts', plain, owner)).status).toBe(201);
  });

  test('moves what is below within their own account, and the move is in the audit log', async () => {
    const owner = await ownerOf(company);
    const moved = await change(team, { parent: company['id'] }, owner);
    expect([moved.status, moved.body]).toMatchObject([200, { parent: company['id'] }]);
    const elsewhere = await makeAccount(installation);
    expect((await change(team, { parent: elsewhere['id'] }, owner)).status).toBe(400);
    expect((await change(team, { parent: null, pays_from: 'own' }, owner)).status).toBe(400);
    expect((await change(department, { parent: company['id'] }, await ownerOf(department))).status).toBe(400);
    const { body } = await ask('GET', `/api/v1/audit?object=${team['id']}`);
    expect((body['data'] as Json[])[0]).toMatchObject({
      action: 'account.update',
      before: { parent: department['id'] },
      after: { parent: company['id'] },
    });
  });

  test('may not give an account with its own balance more than operators did', async () => {
    const wallet = await makeAccount(installation, { parent: company['id'], groups: ['sandbox'] });
    const owner = await ownerOf(company);
    for (const refused of [
      { groups: ['default'] },
      { allowance: null },
      { status: 'enabled' },
      { pays_from: 'parent' },
    ])
      expect([refused, (await change(wallet, refused, owner)).status]).toEqual([refused, 400]);
    expect((await change(wallet, { name: 'renamed', warns_at: [50] }, owner)).status).toBe(200);
  });
});

describe('what rolls up', () => {
  test('is exact: usage, totals and statement of an account with those below are the sums of each', async () => {
    const keys = await Promise.all([company, department, team].map(({ id }) => makeKey(installation, id)));
    await useKey(installation, keys[0] as Json, 1);
    await useKey(installation, keys[1] as Json, 2, { ...chainOf(department, company, company) });
    const [ofTeam] = await useKey(installation, keys[2] as Json, 3, { ...chainOf(team, company, department, company) });
    const messages = async (path: string, as: Headers = {}) =>
      ((await ask('GET', path, undefined, as)).body['total'] as Json)['messages'];
    for (const [account, own, whole] of [
      [company, 1, 6],
      [department, 2, 5],
      [team, 3, 3],
    ] as const) {
      const query = `account=${account['id']}`;
      for (const of of ['totals', 'summary', 'top']) {
        expect(await messages(`/api/v1/usage/${of}?${query}`)).toBe(own);
        expect(await messages(`/api/v1/usage/${of}?${query}&below=true`)).toBe(whole);
        expect(await messages(`/api/v1/usage/${of}?below=true`, await ownerOf(account))).toBe(whole);
        expect(await messages(`/api/v1/usage/${of}?below=true`, await ownerOf(account, 'member'))).toBe(0);
      }
      const { body } = await ask('GET', `/api/v1/usage?${query}&below=true`);
      expect(body['data']).toHaveLength(whole);
    }
    const { body: statement } = await ask('GET', `${pathOf(company)}/statement`);
    expect(statement).toMatchObject({
      used: '0.006',
      closing_balance: '9.994',
      usage: { messages: 1, cost: '0.001' },
      usage_with_below: { messages: 6, cost: '0.006' },
      below: [
        { account: team['id'], pays_from: 'parent', cost: '0.003' },
        { account: department['id'], cost: '0.002' },
      ],
    });
    const { body: entries } = await ask('GET', `${pathOf(company)}/entries?request=${ofTeam}`);
    expect(entries['data']).toMatchObject([{ kind: 'usage', message_account: team['id'] }]);
  });

  test('shows the balance that paid only to the owners of the account that paid, and above', async () => {
    const key = await makeKey(installation, team['id']);
    const [id] = await useKey(installation, key, 1, { ...chainOf(team, company, department, company) });
    const balanceFor = async (as: Headers) => {
      const { body } = await ask('GET', `/api/v1/usage/${id}`, undefined, as);
      return (body['meters'] as Json)['balance'];
    };
    const balance = { before: '10.00', after: '9.999' };
    expect(await balanceFor({})).toEqual(balance);
    expect(await balanceFor(await ownerOf(company))).toEqual(balance);
    expect(await balanceFor(await ownerOf(department))).toBeNull();
    expect(await balanceFor(await ownerOf(team))).toBeNull();
  });

  test('has every day on which the account paid for those below', async () => {
    const key = await makeKey(installation, team['id']);
    await useKey(installation, key, 2, { ...chainOf(team, company, department, company) });
    const { body } = await ask('GET', `${pathOf(company)}/statement`);
    expect(body).toMatchObject({ used: '0.002', by_day: [{ messages: 0, balance_paid: '0.002' }] });
  });
});

test('moving an account while its message runs loses nothing: the message ends with the former payers', async () => {
  const { stores, clock } = installation;
  const key = await makeKey(installation, team['id']);
  const other = await makeAccount(installation, { name: 'other' });
  const accountId = parseId('acct', String(team['id'])) as number;
  const keyId = parseId('key', String(key['id'])) as number;
  const [first] = await useKey(installation, key, 1, { ...chainOf(team, company, department, company) });
  const record = await stores.usage.getUsage(String(first));
  if (record === null) throw new Error('there is no record');
  const requestId = newRequestId(clock.nowMs() + 1);
  const owner = { node: 'test', epoch: 1 };
  const draft = { ...record, requestId };
  const admit = { kind: 'admit', requestId, account: accountId, key: keyId, group: 'default' } as const;
  const limits = { limits: NO_LIMITS, amount: 2_000_000 };
  await stores.gate.submit({ operations: [{ ...admit, ...limits, owner, draft }] });
  expect(await show(company)).toMatchObject({ held: '0.002' });
  await change(department, { parent: other['id'] });
  await stores.gate.submit({ operations: [{ kind: 'settle', requestId, record: draft }] });
  expect(await show(company)).toMatchObject({ held: '0', balance: '9.998' });
  await useKey(installation, key, 1, { ...chainOf(team, other, department, other) });
  expect(await show(other)).toMatchObject({ held: '0', balance: '9.999' });
  expect(checkLedger(sumMemory(stores.tables)).faults).toEqual([]);
});
