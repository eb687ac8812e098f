// A session has exactly the rights of a token with the same role: the matrix again, each request with a token and
// with a session. test/contract/sign-in/ has the tests of signing in.

import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { ADDRESS, errorOf, type Json } from './installation.ts';
import { type Answer, objectsFor, plainCell, send } from './matrix/cells.ts';
import { type Operation, readDocument, readOperations } from './matrix/operations.ts';
import { takeSnapshot } from './matrix/tables.ts';
import { makeWorld, type Principal, principalNamed, restoreWorld, type World } from './matrix/world.ts';

const WHO = [
  'operator',
  'viewer',
  'owner of alpha',
  'member 1 of alpha',
  'owner of bravo',
  'owner of delta, disabled',
  'member of delta, disabled',
];
const SHOWN_FAULTS_MAX = 25;

let world: World;
let operations: Operation[];
/** By the name of the principal with an equivalent token. */
const people = new Map<string, string>();

beforeAll(async () => {
  world = await makeWorld();
  operations = readOperations(await readDocument(world.installation));
  for (const name of WHO) people.set(name, await letIn(principalNamed(world, name)));
  world.snapshot = takeSnapshot(world.installation.stores.tables);
});
beforeEach(() => restoreWorld(world));

async function letIn({ name, role, account }: Principal): Promise<string> {
  const { ask } = world.installation;
  const email = `${name.replaceAll(/[ ,]+/g, '-')}-signed-in@example.com`;
  const { body } = await ask('POST', '/api/v1/people', {
    email,
    role,
    ...(account && { account: world.accountIds[account] }),
  });
  const accepted = { secret: body['link_secret'], name: 'Somebody', password: 'long enough 1' };
  expect((await ask('POST', '/api/v1/invitations/accept', accepted)).status).toBe(200);
  return String(body['id']);
}

const page = { 'sec-fetch-site': 'same-origin' };
const cookieOf = (name: string) => ({ authorization: '', cookie: `session=${people.get(name)}`, ...page });

describe.each(WHO)('%s with a session', (name) => {
  test('gets the same response as with their token, from every route and for every object', async () => {
    const principal = principalNamed(world, name);
    const faults: string[] = [];
    let count = 0;
    for (const operation of operations)
      for (const object of objectsFor(world, operation)) {
        // Objects of a member, and saved views, belong to the identity that created them.
        const isOwn =
          object !== null && object !== 'none' && [object.maker, `token of ${name}`].includes(principal.name);
        if ((principal.role === 'member' || operation.path.startsWith('/api/v1/views')) && isOwn) continue;
        const cell = plainCell(world, operation, principal, object);
        await restoreWorld(world);
        const byToken = await send(world.installation, cell);
        await restoreWorld(world);
        const bySession = await send(world.installation, { ...cell, headers: cookieOf(name) });
        count++;
        if (summary(byToken) !== summary(bySession))
          faults.push(`${operation.name} ${cell.path}: ${summary(byToken)} by token, ${summary(bySession)} by session`);
      }
    expect(faults.slice(0, SHOWN_FAULTS_MAX)).toEqual([]);
    expect(count).toBeGreaterThan(operations.length);
  });
});

function summary({ status, body }: Answer): string {
  return status < 400 ? String(status) : `${status} ${errorOf(body).code}`;
}

describe('a session', () => {
  const me = (headers: Record<string, string>) => world.installation.ask('GET', '/api/v1/me', undefined, headers);

  test('shows the identity of its person, and the response extends the cookie', async () => {
    const { body, headers } = await me(cookieOf('viewer'));
    expect(body).toMatchObject({ id: people.get('viewer'), kind: 'person', role: 'viewer', expires_at: null });
    expect(headers.getSetCookie()).toEqual(['session=longer']);
  });

  test('is invalid from the moment its person is disabled', async () => {
    const { ask } = world.installation;
    const path = `/api/v1/people/${people.get('viewer')}`;
    await ask('PATCH', path, { status: 'disabled' });
    const refused = await me(cookieOf('viewer'));
    expect(refused.status).toBe(401);
    expect(errorOf(refused.body).code).toBe('token_invalid');
  });

  test('with an unknown cookie is refused, and does not count as a guess', async () => {
    const before = world.installation.failures;
    expect((await me({ authorization: '', cookie: 'session=person_000000000', ...page })).status).toBe(401);
    expect(world.installation.failures).toBe(before);
  });

  test('is ignored if the request has a token, valid or not', async () => {
    const { body } = await me({
      ...cookieOf('viewer'),
      authorization: `${principalNamed(world, 'operator').authorization}`,
    });
    expect(body).toMatchObject({ kind: 'token', role: 'operator' });
    expect((await me({ ...cookieOf('viewer'), authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await me({ ...cookieOf('viewer'), authorization: 'Basic YTpi' })).status).toBe(401);
  });

  test('makes changes under its own name', async () => {
    const { ask, stores } = world.installation;
    const made = await ask('POST', '/api/v1/accounts', { name: 'made' }, cookieOf('operator'));
    expect(made.status).toBe(201);
    expect(stores.tables.audit.at(-1)).toMatchObject({
      actor: { id: people.get('operator'), role: 'operator', address: ADDRESS },
    });
  });

  test.each(['cross-site', 'same-site', 'none'])(
    'makes no change for a request with sec-fetch-site %s',
    async (site) => {
      for (const { method, name, path } of operations.filter(
        ({ method, name }) =>
          method !== 'GET' && !/\/(?:invitations|sign-ups|password-resets|unsubscribe)\b/.test(name),
      )) {
        const headers = { ...cookieOf('operator'), 'sec-fetch-site': site };
        const response = await world.installation.api.fetch(
          new Request(`http://127.0.0.1${path.replace(/\{\w+\}/, 'any')}`, { method, headers, body: '{}' }),
          ADDRESS,
        );
        const { error } = (await response.json()) as { error: Json };
        expect([name, response.status, error['code']]).toEqual([name, 403, 'cross_site_refused']);
      }
    },
  );
});
