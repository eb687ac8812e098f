// Concurrent changes on two nodes have the result of some serial order: no change undoes another or is made twice.
// The nodes share one database and have no other connection.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseId } from '../../../src/base/ids.ts';
import { CatalogHolder } from '../../../src/catalog/catalog.ts';
import { checkLedger } from '../../../src/ledger/ledger.ts';
import { sumLedger } from '../../../src/storage/postgres/postgres.ts';
import { cannotStartPostgres, sharedPostgres, type TestDatabase } from '../../support/start-postgres.ts';
import { errorOf, type Json, makeAccount, makeKey, useKey } from './installation.ts';
import { type Node, openNode } from './open-node.ts';

const ROUNDS = 50;

describe.skipIf(cannotStartPostgres)('two nodes', () => {
  let database: TestDatabase;
  let first: Node;
  let second: Node;
  let account: Json;

  beforeAll(async () => {
    database = await (await sharedPostgres()).newDatabase();
    first = await openNode(database.url);
    second = await openNode(database.url);
    account = await makeAccount(first as never);
  });
  afterAll(async () => {
    const report = checkLedger(await sumLedger(database.url));
    await Promise.all([first.close(), second.close()]);
    await database[Symbol.asyncDispose]();
    expect(report.faults).toEqual([]);
  });

  /** Sends one request to each node at once, in an order that varies by round. */
  async function askBoth(round: number, one: Parameters<Node['ask']>, other: Parameters<Node['ask']>) {
    const begin = async (node: Node, results: Parameters<Node['ask']>, isLater: boolean) => {
      if (isLater) await Bun.sleep(Math.random() * 4);
      return await node.ask(...results);
    };
    return await Promise.all([begin(first, one, round % 3 === 1), begin(second, other, round % 3 === 2)]);
  }

  test('never re-enable an object when one renames it while the other disables it', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const key = await makeKey(first as never, account['id']);
      const path = `/api/v1/keys/${key['id']}`;
      const results = await askBoth(
        round,
        ['PATCH', path, { name: 'renamed' }],
        ['PATCH', path, { status: 'disabled' }],
      );
      expect(results.map(({ status }) => status)).toEqual([200, 200]);
      expect((await first.ask('GET', path)).body).toMatchObject({ name: 'renamed', status: 'disabled' });
      const number = parseId('key', String(key['id'])) as number;
      expect((await second.stores.accounts.getKey(number))?.status).toBe('disabled');
    }
  });

  test('never drop a key limit when one renames the key while the other sets the limit', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const key = await makeKey(first as never, account['id'], { quota: '5.00' });
      const path = `/api/v1/keys/${key['id']}`;
      await askBoth(round, ['PATCH', path, { quota: '1.00', rpm: 7 }], ['PATCH', path, { name: 'named' }]);
      expect((await second.ask('GET', path)).body).toMatchObject({ name: 'named', quota: '1.00', rpm: 7 });
    }
  });

  test('leave a revoked key revoked, and apply the changes of both to its account', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const key = await makeKey(first as never, account['id']);
      const path = `/api/v1/keys/${key['id']}`;
      const [revoked, changed] = await askBoth(round, ['POST', `${path}/revoke`, {}], ['PATCH', path, { rpm: 3 }]);
      expect(revoked.status).toBe(200);
      expect([200, 409]).toContain(changed.status);
      expect((await first.ask('GET', path)).body['status']).toBe('revoked');
      const ofAccount = `/api/v1/accounts/${account['id']}`;
      await askBoth(
        round,
        ['PATCH', ofAccount, { name: `round ${round}` }],
        ['PATCH', ofAccount, { credit_line: `${round + 1}.25` }],
      );
      expect((await first.ask('GET', ofAccount)).body).toMatchObject({
        name: `round ${round}`,
        credit_line: `${round + 1}.25`,
      });
    }
  });

  test('create one object under one idempotency key, and return the same response with the same secret', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const headers = { 'idempotency-key': `round-${round}` };
      const results = ['POST', '/api/v1/keys', { account: account['id'], name: `once ${round}` }, headers] as const;
      const [one, other] = await askBoth(round, [...results], [...results]);
      expect([one.status, other.status]).toEqual([201, 201]);
      expect(other.body).toEqual(one.body);
    }
    const { body } = await first.ask('GET', `/api/v1/keys?account=${account['id']}&limit=1000`);
    const names = (body['data'] as Json[]).map((key) => String(key['name'])).filter((name) => name.startsWith('once'));
    expect(names).toHaveLength(ROUNDS);
    const auditRecords = [...first.answers, ...second.answers].flatMap(({ records }) => records);
    expect(auditRecords.filter(({ after }) => String(after?.['name']).startsWith('once'))).toHaveLength(ROUNDS);
  });

  test('rotate a key once under one idempotency key', async () => {
    const key = await makeKey(first as never, account['id']);
    for (let round = 0; round < ROUNDS / 5; round++) {
      const headers = { 'idempotency-key': `rotate-${round}` };
      const results = ['POST', `/api/v1/keys/${key['id']}/rotate`, { grace: '1h' }, headers] as const;
      const [one, other] = await askBoth(round, [...results], [...results]);
      expect([one.status, other.status]).toEqual([201, 201]);
      expect(other.body).toEqual(one.body);
    }
  });

  test('credit once under one idempotency key, and once under one reference', async () => {
    const path = `/api/v1/accounts/${account['id']}/credits`;
    const balanceOf = async () => Number((await first.ask('GET', `/api/v1/accounts/${account['id']}`)).body['balance']);
    const before = await balanceOf();
    for (let round = 0; round < ROUNDS; round++) {
      const headers = { 'idempotency-key': `credit-${round}` };
      const keyed = ['POST', path, { amount: '1.00' }, headers] as const;
      const [one, other] = await askBoth(round, [...keyed], [...keyed]);
      expect([one.status, other.status].toSorted()).toEqual([200, 201]);
      const named = ['POST', path, { amount: '1.00', reference: `invoice ${round}` }] as const;
      const [third, fourth] = await askBoth(round, [...named], [...named]);
      expect([third.status, fourth.status].toSorted()).toEqual([200, 201]);
    }
    expect(await balanceOf()).toBe(before + 2 * ROUNDS);
  });

  test('refund the whole cost of a message and no more', async () => {
    const key = await makeKey(first as never, account['id']);
    const requestIds = await useKey(first as never, key, ROUNDS / 5);
    for (const [round, requestId] of requestIds.entries()) {
      const path = `/api/v1/usage/${requestId}/refunds`;
      const [part, rest] = await askBoth(round, ['POST', path, { amount: '0.0004' }], ['POST', path, {}]);
      const given = [part, rest].filter(({ status }) => status === 201).map(({ body }) => Number(body['amount']));
      expect(given.reduce((sum, amount) => sum + amount, 0)).toBeCloseTo(0.001, 9);
    }
  });

  test('write an audit record for each change that was made, and for no other', async () => {
    const key = await makeKey(first as never, account['id'], { name: 'begun' });
    const path = `/api/v1/keys/${key['id']}`;
    for (let round = 0; round < 20; round++)
      await askBoth(round, ['PATCH', path, { name: `name ${round}` }], ['PATCH', path, { rpm: round + 1 }]);
    const { body } = await first.ask('GET', `/api/v1/audit?object=${key['id']}&limit=1000`);
    const records = (body['data'] as Json[]).toReversed() as { before: Json | null; after: Json }[];
    expect(records).toHaveLength(41);
    const state: Json = { rpm: null, locked: [] };
    for (const { before, after } of records) {
      if (before !== null) expect(state).toMatchObject(before); // each state begins where the one before it ended
      Object.assign(state, after);
    }
    const auditRecords = [...first.answers, ...second.answers].flatMap(({ records: left }) => left);
    expect(auditRecords.filter(({ object }) => object === key['id'])).toHaveLength(41);
  });

  test('never produce a catalog that does not load, or one that no request described', async () => {
    const model = (name: string, provider: string) => ({
      [name]: { routes: [{ provider, model: name }], price: { input: '1', output: '2' } },
    });
    const provider = (name: string) => ({ [name]: { kind: 'sandbox' } });
    const apply = (document: object) => ['POST', '/api/v1/apply', { document, prune: true }] as Parameters<Node['ask']>;
    for (let round = 0; round < ROUNDS; round++) {
      const names = round % 2 === 0 ? ['left', 'right'] : ['right', 'left'];
      const [one, other] = names as [string, string];
      const results = await askBoth(
        round,
        apply({ providers: provider(one), models: model(`model-${one}`, one) }),
        apply({ providers: { ...provider(other), ...provider(one) }, models: model('model-shared', one) }),
      );
      for (const answer of results)
        if (answer.status !== 200) expect(errorOf(answer.body)).toMatchObject({ code: 'invalid_request' });
      expect(results.some(({ status }) => status === 200)).toBe(true);
      const documents = await first.stores.catalog.loadCatalog();
      new CatalogHolder(documents, first.vault.open);
      const stored = documents
        .filter(({ origin }) => origin === 'file')
        .map(({ kind, name }) => `${kind} ${name}`)
        .toSorted();
      const alone = [`model model-${one}`, `provider ${one}`];
      const both = ['model model-shared', `provider ${one}`, `provider ${other}`].toSorted();
      expect([alone, both]).toContainEqual(stored);
    }
  });

  test('refuse a request that loses every race, with a retry time and without side effects', async () => {
    const late = await openNode(database.url, 1);
    const key = await makeKey(first as never, account['id'], { name: 'as it was' });
    const path = `/api/v1/keys/${key['id']}`;
    const { status, headers, body } = await late.ask('PATCH', path, { name: 'changed' });
    expect([status, errorOf(body).code, Number(headers.get('retry-after')) > 0]).toEqual([529, 'overloaded', true]);
    expect((await first.ask('GET', path)).body['name']).toBe('as it was');
    const { body: audit } = await first.ask('GET', `/api/v1/audit?object=${key['id']}`);
    expect(audit['data']).toHaveLength(1);
    expect(late.notifications.filter((notifications) => notifications.startsWith('forget'))).toEqual([]);
    expect(late.answers.flatMap(({ records }) => records)).toEqual([]);
    await late.close();
  });

  test('give an email to the person invited last when two operators invite it at once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const invite = (role: string): Parameters<Node['ask']> => [
        'POST',
        '/api/v1/people',
        { email: `ada-${round}@example.com`, role },
      ];
      const results = await askBoth(round, invite('viewer'), invite('operator'));
      expect(results.map(({ status }) => status)).toEqual([201, 201]);
      const shown = await Promise.all(results.map(({ body }) => second.ask('GET', `/api/v1/people/${body['id']}`)));
      const has = shown.map(({ body }) => [body['email'], body['status']]).toSorted();
      expect(has).toEqual([
        [null, 'disabled'],
        [`ada-${round}@example.com`, 'invited'],
      ]);
    }
  });

  test('accept a link once, and give no access through it to a person disabled on the other', async () => {
    const invite = async (email: string) => (await first.ask('POST', '/api/v1/people', { email, role: 'viewer' })).body;
    const accept = (person: Json): Parameters<Node['ask']> => [
      'POST',
      '/api/v1/invitations/accept',
      { secret: person['link_secret'], name: 'Ada', password: 'long enough' },
      { authorization: '' },
    ];
    for (let round = 0; round < ROUNDS / 5; round++) {
      const person = await invite(`accept-${round}@example.com`);
      const both = await askBoth(round, accept(person), accept(person));
      expect(both.map(({ status }) => status).toSorted()).toEqual([200, 404]);
      const other = await invite(`disable-${round}@example.com`);
      const path = `/api/v1/people/${other['id']}`;
      const [accepted, disabled] = await askBoth(round, accept(other), ['PATCH', path, { status: 'disabled' }]);
      expect([
        [200, 200],
        [404, 200],
      ]).toContainEqual([accepted.status, disabled.status]);
      expect((await second.ask('GET', path)).body).toMatchObject({ status: 'disabled', link_expires_at: null });
    }
  });

  test('keep one operator when two disable each other', async () => {
    for (let round = 0; round < ROUNDS / 5; round++) {
      const [one, other] = [await letIn(`one-${round}@example.com`), await letIn(`other-${round}@example.com`)];
      const disable = (id: string, by: string): Parameters<Node['ask']> => [
        'PATCH',
        `/api/v1/people/${id}`,
        { status: 'disabled' },
        { authorization: `Bearer ${by}` },
      ];
      const results = await askBoth(round, disable(other, one), disable(one, other));
      // The later request is refused because its author or its target is the last operator, or was never given
      // access.
      expect(results.filter(({ status }) => status === 200)).toHaveLength(1);
      expect([401, 403, 409]).toContain(results.find(({ status }) => status !== 200)?.status as number);
      expect(await first.stores.people.countInRole('operator', 'enabled')).toBe(1);
      for (const id of [one, other]) await second.ask('PATCH', `/api/v1/people/${id}`, { status: 'disabled' });
    }
  });

  async function letIn(email: string): Promise<string> {
    const { body } = await first.ask('POST', '/api/v1/people', { email, role: 'operator' });
    await second.ask('PATCH', `/api/v1/people/${body['id']}`, { status: 'enabled' });
    return String(body['id']);
  }

  test('know a group that was created on the other', async () => {
    const group = { models: ['*'] };
    expect((await first.ask('POST', '/api/v1/apply', { document: { groups: { group } } })).status).toBe(200);
    const made = await second.ask('POST', '/api/v1/accounts', { name: 'in it', groups: ['group'] });
    expect(made.status).toBe(201);
    await second.ask('PATCH', `/api/v1/accounts/${made.body['id']}`, { groups: ['default'] });
  });

  test('leave no account in a group that is removed on the other', async () => {
    const apply = (groups: object) =>
      ['POST', '/api/v1/apply', { document: { groups }, prune: true }] as Parameters<Node['ask']>;
    for (let round = 0; round < ROUNDS; round++) {
      const group = `group-${round}`;
      expect((await first.ask(...apply({ [group]: { models: ['*'] } }))).status).toBe(200);
      const [removed, made] = await askBoth(round, apply({}), [
        'POST',
        '/api/v1/accounts',
        { name: 'in it', groups: [group] },
      ]);
      expect([
        [200, 400],
        [400, 201],
      ]).toContainEqual([removed.status, made.status]);
      const documents = await first.stores.catalog.loadCatalog();
      const isThere = documents.some(({ kind, name }) => kind === 'group' && name === group);
      expect(isThere).toBe(made.status === 201);
      if (made.status === 201)
        await second.ask('PATCH', `/api/v1/accounts/${made.body['id']}`, { groups: ['default'] });
    }
  });
});
