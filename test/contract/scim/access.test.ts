// Who may use SCIM: a token with the role scim, for nothing else. Errors are in the words of RFC 7644.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bounds } from '../../../src/config/config.ts';
import { Browser, signUp } from '../sign-in/browser.ts';
import { askScim, type Directory, type Json, openDirectory, patchOf, userOf } from './directory.ts';

let directory: Directory;
beforeAll(async () => {
  directory = await openDirectory();
});
afterAll(() => directory[Symbol.asyncDispose]());

const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';

const paths = [
  ['GET', '/ServiceProviderConfig'],
  ['GET', '/ResourceTypes'],
  ['GET', '/Schemas'],
  ['GET', '/Users'],
  ['POST', '/Users'],
  ['GET', '/Users/scimuser_000000000'],
  ['PUT', '/Users/scimuser_000000000'],
  ['PATCH', '/Users/scimuser_000000000'],
  ['DELETE', '/Users/scimuser_000000000'],
  ['GET', '/Groups'],
  ['POST', '/Groups'],
  ['DELETE', '/Groups/scimgroup_000000000'],
  ['GET', '/nonsense'],
] as const;

describe('SCIM', () => {
  test('refuses every other token, with 403, on every path', async () => {
    const { turnpike, account, mark } = directory;
    const { token: local } = JSON.parse(readFileSync(join(turnpike.dataDirectory, 'operator.json'), 'utf8'));
    const tokens = [String(local)];
    for (const role of ['operator', 'viewer', 'owner', 'member']) {
      const of = role === 'owner' || role === 'member' ? { account } : {};
      tokens.push(String((await turnpike.admin('POST', '/tokens', { role, name: mark, ...of }))['token']));
    }
    for (const token of tokens)
      for (const [method, path] of paths) {
        const { status, body } = await askScim(turnpike, token, method, path, method === 'GET' ? undefined : {});
        expect([method, path, status, body['schemas']]).toEqual([method, path, 403, [ERROR]]);
      }
  });

  test('refuses requests without a token, with a wrong one, with a key and with a session, with 401', async () => {
    const { turnpike, mark } = directory;
    const { secret } = await turnpike.makeKey();
    const email = `session@${mark}.example.com`;
    await signUp(turnpike, email);
    const browser = new Browser(turnpike.url);
    await browser.signIn(email);
    expect((await browser.get('/scim/v2/Users')).status).toBe(401);
    for (const token of ['tk-tp-nonsense', secret])
      expect((await askScim(turnpike, token, 'GET', '/Users')).status).toBe(401);
    expect((await fetch(`${turnpike.url}/scim/v2/Users`)).status).toBe(401);
  });

  test('ends with its token', async () => {
    const { turnpike } = directory;
    const { id, token } = await turnpike.admin('POST', '/tokens', { role: 'scim' });
    expect((await askScim(turnpike, String(token), 'GET', '/Users')).status).toBe(200);
    await turnpike.admin('POST', `/tokens/${id}/revoke`, {});
    expect((await askScim(turnpike, String(token), 'GET', '/Users')).status).toBe(401);
  });
});

describe('a token with the role scim', () => {
  test('may call no route of the admin API, and read no metrics', async () => {
    const { turnpike, token } = directory;
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const document = (await (await fetch(`${turnpike.url}/api/v1/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { security?: unknown[] }>>;
    };
    let tried = 0;
    for (const [path, operations] of Object.entries(document.paths))
      for (const [method, { security }] of Object.entries(operations)) {
        if (security?.length === 0) continue; // for everybody
        const url = turnpike.url + path.replaceAll(/\{[^}]*\}/g, 'acct_000000000');
        const body = method === 'get' ? {} : { body: '{}' };
        const { status } = await fetch(url, { method: method.toUpperCase(), headers, ...body });
        expect([method, path, status]).toEqual([method, path, 403]);
        tried++;
      }
    expect(tried).toBeGreaterThan(80);
    expect((await turnpike.scrape({ authorization: `Bearer ${token}` })).status).toBe(403);
  });

  test('is created by operators only, and audited', async () => {
    const { turnpike, account } = directory;
    const { token: owner } = await turnpike.admin('POST', '/tokens', { role: 'owner', account });
    const create = (token: unknown, body: Json) =>
      fetch(`${turnpike.url}/api/v1/tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await create(owner, { role: 'scim' })).status).toBe(400);
    expect((await create(directory.token, { role: 'scim' })).status).toBe(403);
    const { id } = await turnpike.admin('POST', '/tokens', { role: 'scim', name: 'audited' });
    const { data } = await turnpike.admin('GET', `/audit?object=${id}`);
    expect(data).toMatchObject([{ action: 'token.create', after: { role: 'scim' } }]);
  });

  test('is the actor of its changes in the audit log', async () => {
    const { turnpike, ask } = directory;
    const user = await directory.addUser('audited');
    await ask('PATCH', `/Users/${user}`, patchOf({ op: 'replace', path: 'active', value: false }));
    const { data } = await turnpike.admin('GET', `/audit?object=${user}`);
    expect(data).toMatchObject([
      { action: 'scim-user.update', role: 'scim', before: { active: true }, after: { active: false } },
      { action: 'scim-user.create', role: 'scim', actor: expect.stringMatching(/^tok_/) },
    ]);
  });
});

describe('an error', () => {
  test('has the schema, the status as a text and the keyword of RFC 7644', async () => {
    const { ask } = directory;
    const id = await directory.addUser('faulty');
    const filtered = (filter: string) => ask('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    const patched = (...operations: Json[]) => ask('PATCH', `/Users/${id}`, patchOf(...operations));
    for (const [answer, status, scimType] of [
      [filtered('userName'), 400, 'invalidFilter'],
      [filtered('userName gt "a"'), 400, 'invalidFilter'],
      [filtered('password eq "a"'), 400, 'invalidFilter'],
      [filtered('userName eq "a" and'), 400, 'invalidFilter'],
      [filtered('not (userName eq "a")'), 400, 'invalidFilter'],
      [ask('POST', '/Users', '{'), 400, 'invalidSyntax'],
      [ask('POST', '/Users', {}), 400, 'invalidValue'],
      [ask('POST', '/Users', { userName: 'not an address' }), 400, 'invalidValue'],
      [patched({ op: 'replace', path: 'id', value: 'x' }), 400, 'mutability'],
      [patched({ op: 'replace', path: 'groups', value: [] }), 400, 'mutability'],
      [patched({ op: 'remove', path: 'userName' }), 400, 'mutability'],
      [patched({ op: 'remove', path: 'active' }), 400, 'mutability'],
      [patched({ op: 'remove' }), 400, 'noTarget'],
      [patched({ op: 'move', path: 'userName' }), 400, 'invalidSyntax'],
      [patched({ op: 'replace', path: 'emails[', value: 'x' }), 400, 'invalidPath'],
      [patched({ op: 'replace', path: 'active', value: 'maybe' }), 400, 'invalidValue'],
      [ask('POST', '/Groups', { displayName: 'x', members: [{ value: 'nobody' }] }), 400, 'invalidValue'],
      [ask('POST', '/Groups', { displayName: 'x', members: [{ value: 'scimuser_000000000' }] }), 400, 'invalidValue'],
      [ask('GET', '/Users/scimuser_000000000'), 404, undefined],
      [ask('DELETE', '/Schemas'), 405, undefined],
      [ask('POST', '/Bulk', {}), 501, undefined],
      [ask('POST', '/Users', {}, { 'content-type': 'text/plain' }), 415, undefined],
    ] as const) {
      const { status: given, body } = await answer;
      expect([given, body['scimType']]).toEqual([status, scimType]);
      expect(body).toMatchObject({ schemas: [ERROR], status: String(status), detail: expect.any(String) });
    }
  });
});

describe('a bound', () => {
  test('holds for bodies, filters, texts, addresses, operations and members, and no answer repeats them', async () => {
    const { ask } = directory;
    const id = await directory.addUser('bounded');
    const long = 'x'.repeat(bounds.scimFilterCharactersMax);
    const address = directory.addressOf('bounded-other');
    const ids = Array.from({ length: bounds.scimMembersPerRequestMax + 1 }, () => ({ value: 'scimuser_000000000' }));
    const operation = { op: 'replace', path: 'displayName', value: 'x' };
    for (const [answer, status] of [
      [ask('POST', '/Users', { ...userOf(address), title: 'x'.repeat(bounds.scimBodyBytesMax) }), 413],
      [ask('GET', `/Users?filter=${encodeURIComponent(`userName eq "${long}"`)}`), 400],
      [ask('GET', `/Users?filter=${encodeURIComponent(Array(65).fill('id eq "a"').join(' or '))}`), 400],
      [ask('GET', `/Users?filter=${encodeURIComponent(`${'('.repeat(50)}id eq "a"${')'.repeat(50)}`)}`), 400],
      [ask('GET', `/Users?attributes=${long}x`), 400],
      [ask('GET', '/Users?count=abc'), 400],
      [ask('POST', '/Users', { ...userOf(address), displayName: long }), 400],
      [ask('POST', '/Users', { ...userOf(address), userName: long }), 400],
      [ask('POST', '/Users', { ...userOf(address), emails: Array(11).fill({ value: address }) }), 400],
      [ask('PATCH', `/Users/${id}`, patchOf(...Array(bounds.scimOperationsMax + 1).fill(operation))), 400],
      [ask('PATCH', `/Users/${id}`, patchOf({ ...operation, path: `emails[type eq "${long}"]` })), 400],
      [ask('POST', '/Groups', { displayName: 'x', members: ids }), 400],
    ] as const) {
      const { status: given, body } = await answer;
      expect([given, JSON.stringify(body).length < 500]).toEqual([status, true]);
    }
    const { body } = await ask('GET', '/Users?count=1000000');
    expect(Number(body['itemsPerPage'])).toBeLessThanOrEqual(bounds.scimPageMax);
  });
});
