// Budgets of people, and whose key a key is: what owners set, and what members cannot lift.

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
let account: string;
/** Ids, which the installation of these tests takes in place of tokens. */
let owner: string;
let member: string;

beforeEach(async () => {
  installation = await makeInstallation();
  account = String((await makeAccount(installation))['id']);
  owner = await addPerson('owner', 'olga@example.com');
  member = await addPerson('member', 'max@example.com');
});

async function addPerson(role: string, email: string): Promise<string> {
  const { body } = await installation.ask('POST', '/api/v1/people', { role, email, account });
  await installation.ask('PATCH', `/api/v1/people/${body['id']}`, { status: 'enabled' });
  return String(body['id']);
}

function as(person: string, method: string, path: string, body?: Json) {
  return installation.ask(method, `/api/v1${path}`, body, { authorization: `Bearer ${person}` });
}

/** Sets the default of the account, and its thresholds. */
async function setDefault(personBudget: object | null): Promise<void> {
  const { stores, ledgerTerms } = { stores: installation.stores, ledgerTerms: { allowance: null, creditLine: 0 } };
  const terms = { enabled: true, allowancePeriod: 'total', ...ledgerTerms, company: { personBudget } };
  const operation = { kind: 'set-account', account: parseId('acct', account), terms };
  await stores.gate.submit({ operations: [operation as never] });
}

describe('whose key a key is', () => {
  test('a person’s own by default, a service key if an operator creates it, and another’s only by owners', async () => {
    for (const [maker, of] of [
      [owner, owner],
      [member, member],
    ] as const)
      expect((await as(maker, 'POST', '/keys', {})).body).toMatchObject({ person: of, made_by: maker });
    expect(await makeKey(installation, account)).toMatchObject({ person: null, made_by: 'local' });
    expect((await as(owner, 'POST', '/keys', { person: null })).body).toMatchObject({ person: null });
    expect((await as(owner, 'POST', '/keys', { person: member })).body).toMatchObject({ person: member });
    for (const person of [null, owner]) {
      const { status, body } = await as(member, 'POST', '/keys', { person });
      expect([status, errorOf(body).message]).toEqual([400, 'person: can be set by owners and operators only']);
    }
  });

  test('members see and change the keys that are theirs, and no longer those that were given to another', async () => {
    const { id } = (await as(member, 'POST', '/keys', {})).body;
    const given = (await as(owner, 'POST', '/keys', { person: member, name: 'given' })).body;
    const listed = async (person: string, query = '') =>
      ((await as(person, 'GET', `/keys${query}`)).body['data'] as Json[]).map((key) => key['id']);
    expect((await listed(member)).toSorted()).toEqual([id, given['id']].toSorted());
    expect((await as(member, 'PATCH', `/keys/${id}`, { person: null })).status).toBe(400);
    expect((await as(owner, 'PATCH', `/keys/${id}`, { person: owner })).body).toMatchObject({
      person: owner,
      made_by: member,
    });
    expect(await listed(member)).toEqual([given['id']]);
    for (const [method, path, body] of [
      ['GET', `/keys/${id}`, undefined],
      ['PATCH', `/keys/${id}`, { name: 'mine' }],
      ['POST', `/keys/${id}/rotate`, {}],
    ] as const)
      expect((await as(member, method, path, body)).status).toBe(404);
    expect(await listed(owner, `?person=${owner}`)).toEqual([id]);
    expect((await as(member, 'GET', `/keys?person=${owner}`)).status).toBe(404);
    expect(await listed(member, `?person=${member}`)).toEqual([given['id']]);
  });

  test('no key is given to a person of another account, or to a disabled one', async () => {
    const others = String((await makeAccount(installation, { name: 'other' }))['id']);
    await as(owner, 'PATCH', `/people/${member}`, { status: 'disabled' });
    const key = await makeKey(installation, others);
    for (const path of [`/keys/${key['id']}`, '/keys']) {
      const isNew = path === '/keys';
      const { status } = await installation.ask(isNew ? 'POST' : 'PATCH', `/api/v1${path}`, {
        person: owner,
        ...(isNew && { account: others }),
      });
      expect(status).toBe(400);
    }
    expect((await as(owner, 'POST', '/keys', { person: member })).status).toBe(400);
  });
});

describe('limits that an owner set', () => {
  test('can be made stricter by the member, and neither raised nor removed', async () => {
    const inAWeek = new Date(installation.clock.nowMs() + 7 * 86_400_000).toISOString();
    const limits = { quota: '5.00', rpm: 10, models: ['a'], expires_at: inAWeek };
    const { id } = (await as(owner, 'POST', '/keys', { person: member, ...limits })).body;
    const change = (body: Json) => as(member, 'PATCH', `/keys/${id}`, body);
    const wider: Json[] = [
      ...[{ quota: null }, { quota: '5.01' }, { quota_period: 'day' }, { rpm: null }, { rpm: 11 }],
      ...[{ models: null }, { models: ['a', 'b'] }, { expires_at: null }],
    ];
    for (const body of wider) expect([body, (await change(body)).status]).toEqual([body, 400]);
    for (const body of [{ quota: '4.00' }, { rpm: 9 }, { models: ['a'] }, { name: 'x' }, { concurrency: 3 }] as Json[])
      expect((await change(body)).status).toBe(200);
    expect((await change({ quota: '5.00' })).status).toBe(400);
    expect((await change({ concurrency: null })).status).toBe(200); // their own
    await as(owner, 'PATCH', `/keys/${id}`, { status: 'disabled' });
    expect((await change({ status: 'enabled' })).status).toBe(400);
    await as(owner, 'PATCH', `/keys/${id}`, { status: 'enabled', quota: null });
    expect((await change({ quota: '9.00', status: 'disabled' })).status).toBe(200);
    expect((await change({ quota: null, status: 'enabled' })).body).toMatchObject({ quota: null, status: 'enabled' });
  });

  test('are all those of a key from before there were locks', async () => {
    const { id } = (await as(member, 'POST', '/keys', { quota: '5.00' })).body;
    const { keys } = installation.stores.tables;
    const number = parseId('key', String(id)) as number;
    const { locked: _, ...older } = keys.get(number) as object & { locked?: unknown };
    keys.set(number, older as never);
    expect((await as(member, 'GET', `/keys/${id}`)).body['locked']).toEqual(['quota']);
    expect((await as(member, 'PATCH', `/keys/${id}`, { quota: null })).status).toBe(400);
  });
});

describe('the budget of a person', () => {
  const limitOf = (body: Json) => ((body['budgets'] as Json[])[0] as { limits: Json[] }).limits;

  test('is the default of the account, or the one set for them, over all of their keys', async () => {
    await setDefault({ limits: [{ length: 'day', limit: 3_000_000 }], stops: true });
    for (let count = 0; count < 2; count++) await useKey(installation, (await as(member, 'POST', '/keys', {})).body, 1);
    const path = `/people/${member}/budget`;
    const byDefault = await as(member, 'GET', path);
    expect(byDefault.body).toEqual({
      person: member,
      budgets: [
        {
          ...{ account, is_default: true, stops: true },
          limits: [
            {
              window: 'day',
              limit: '0.003',
              used: '0.002',
              held: '0',
              remaining: '0.001',
              resets_at: '2026-11-21T00:00:00.000Z',
            },
          ],
        },
      ],
    });
    const set = { limits: [{ window: 'month', limit: '1.00' }], stops: false };
    expect((await as(owner, 'PATCH', path, set)).body['budgets']).toMatchObject([
      { is_default: false, stops: false, limits: [{ window: 'month', limit: '1.00', used: '0.002' }] },
    ]);
    expect((await as(owner, 'PATCH', path, { limits: null })).body['budgets']).toMatchObject([
      { is_default: false, stops: null, limits: [] },
    ]);
    expect((await as(owner, 'POST', `${path}/reset`, {})).body).toEqual(byDefault.body);
  });

  test('is read by the person, and changed by owners and operators only, with an audit record', async () => {
    const path = `/people/${member}/budget`;
    const body = { limits: [{ window: '5h', limit: '2.00' }] };
    for (const [method, at] of [
      ['PATCH', path],
      ['POST', `${path}/reset`],
    ] as const)
      expect((await as(member, method, at, method === 'PATCH' ? body : {})).status).toBe(403);
    expect((await as(member, 'GET', `/people/${owner}/budget`)).status).toBe(404);
    const { body: changed } = await as(owner, 'PATCH', path, body);
    expect(limitOf(changed)).toMatchObject([{ window: '5h', limit: '2.00', resets_at: null }]);
    expect(limitOf((await as(member, 'GET', path)).body)).toEqual(limitOf(changed));
    const { data } = (await as(owner, 'GET', `/audit?object=${member}`)).body as { data: Json[] };
    expect(data[0]).toMatchObject({ action: 'person_budget.update', actor: owner, account });
  });

  test('is refused with a window twice, no limit, or an account of others', async () => {
    const other = (await makeAccount(installation, { name: 'other' }))['id'];
    const day = { window: 'day', limit: '1.00' };
    for (const body of [{ limits: [day, day] }, { limits: [] }, { limits: [day], account: other }] as Json[])
      expect((await installation.ask('PATCH', `/api/v1/people/${member}/budget`, body)).status).toBe(400);
  });
});

describe('a disabled person', () => {
  test('ends the running messages of their keys only if it is asked', async () => {
    const keys = [await as(member, 'POST', '/keys', {}), await as(member, 'POST', '/keys', {})];
    await as(owner, 'POST', '/keys', {});
    const disable = (body: Json) => as(owner, 'PATCH', `/people/${member}`, body);
    expect((await disable({ now: true })).status).toBe(400);
    await disable({ status: 'disabled' });
    const ended = () => installation.notifications.filter((one) => one.startsWith('end messages'));
    expect(ended()).toEqual([]);
    await disable({ status: 'disabled', now: true });
    const numbers = keys.map(({ body }) => parseId('key', String(body['id'])));
    expect(ended().toSorted()).toEqual(numbers.map((number) => `end messages of key ${number}`).toSorted());
  });
});
