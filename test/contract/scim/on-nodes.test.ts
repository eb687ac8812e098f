// SCIM on two nodes that share one PostgreSQL: a person who is disabled through one is refused by the other at once, and concurrent
// requests have the result of some order.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cannotStartPostgres, sharedPostgres, type TestDatabase } from '../../support/start-postgres.ts';
import { ADDRESS, type Json, makeAccount } from '../admin-api/installation.ts';
import { type Node, openNode } from '../admin-api/open-node.ts';
import { patchOf, userOf } from './directory.ts';

const ROUNDS = 20;

describe.skipIf(cannotStartPostgres)('two nodes', () => {
  let database: TestDatabase;
  let [first, second]: Node[] = [];
  let token: unknown;
  let account: Json;

  beforeAll(async () => {
    database = await (await sharedPostgres()).newDatabase();
    first = await openNode(database.url);
    second = await openNode(database.url);
    account = await makeAccount(first as never);
    token = (await first.ask('POST', '/api/v1/tokens', { role: 'scim' })).body['token'];
  });
  afterAll(async () => {
    await Promise.all([first?.close(), second?.close()]);
    await database[Symbol.asyncDispose]();
  });

  async function scim(node: Node | undefined, method: string, path: string, body?: object) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' };
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const request = new Request(`http://127.0.0.1/scim/v2${path}`, { method, headers, ...given });
    const response = await (node as Node).api.fetch(request, ADDRESS);
    const text = await response.text();
    return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Json };
  }

  /** An enabled owner, through a group of their own. */
  async function employ(name: string) {
    const user = String((await scim(first, 'POST', '/Users', userOf(`${name}@example.com`))).body['id']);
    const members = [{ value: user }];
    const group = String((await scim(second, 'POST', '/Groups', { displayName: name, members })).body['id']);
    const mapping = { name, role: 'owner', source: 'scim', account: account['id'] };
    expect((await (first as Node).ask('POST', '/api/v1/directory-groups', mapping)).status).toBe(201);
    return { user, group };
  }

  const personOf = async (name: string) => {
    const people = (await (second as Node).ask('GET', `/api/v1/people?account=${account['id']}&limit=1000`)).body;
    return (people['data'] as Json[]).find(({ email }) => email === `${name}@example.com`);
  };

  test('refuse a person everywhere once one of them has answered that they are inactive', async () => {
    const { user } = await employ('leaving');
    const person = await personOf('leaving');
    expect(person).toMatchObject({ status: 'enabled', role: 'owner' });
    const as = (secret: unknown) => ({ authorization: `Bearer ${secret}` });
    const made = await (first as Node).ask('POST', '/api/v1/tokens', { role: 'member' }, as(person?.['id']));
    expect(made.status).toBe(201);
    const me = async () => (await (second as Node).ask('GET', '/api/v1/me', undefined, as(made.body['token']))).status;
    expect(await me()).toBe(200);
    const inactive = patchOf({ op: 'replace', path: 'active', value: 'False' });
    expect((await scim(first, 'PATCH', `/Users/${user}`, inactive)).status).toBe(200);
    expect(await me()).toBe(401);
  });

  test('create one user of two requests with the same name, and refuse the other', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const answers = await Promise.all(
        [first, second].map((node) => scim(node, 'POST', '/Users', userOf(`twin-${round}@example.com`))),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
    }
  });

  test('leave nobody with access who lost the group on one while the other changed them', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `racing-${round}`;
      const { user, group } = await employ(name);
      const removal = patchOf({ op: 'remove', path: `members[value eq "${user}"]` });
      const renamed = patchOf({ op: 'replace', path: 'displayName', value: `Renamed ${round}` });
      const answers = await Promise.all([
        scim(first, 'PATCH', `/Groups/${group}`, removal),
        scim(second, 'PATCH', `/Users/${user}`, renamed),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([204, 200]);
      expect(await personOf(name)).toMatchObject({ status: 'disabled', disabled_by: 'directory' });
      expect((await scim(second, 'GET', `/Users/${user}`)).body['groups']).toBeUndefined();
    }
  });
});
