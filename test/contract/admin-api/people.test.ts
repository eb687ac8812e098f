// Persons in the admin API: who can invite them, which changes are allowed, and that one operator always remains.

import { beforeEach, describe, expect, test } from 'bun:test';
import { makeFirstOperator } from '../../../src/admin-api/admin-api.ts';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, NOW_MS } from './installation.ts';

let installation: Installation;
let account: Json;
beforeEach(async () => {
  installation = await makeInstallation();
  account = await makeAccount(installation);
});

const PATH = '/api/v1/people';
const isoAfter = (ms: number) => new Date(NOW_MS + ms).toISOString();

/** Sends a request as the machine's operator, or as the person with that id. */
function ask(method: string, path: string, body?: unknown, as?: unknown) {
  return installation.ask(method, path, body, as === undefined ? {} : { authorization: `Bearer ${as}` });
}

async function invite(role: string, email: string, members: Json = {}): Promise<Json> {
  const of = role === 'owner' || role === 'member' ? { account: account['id'] } : {};
  return (await ask('POST', PATH, { role, email, ...of, ...members })).body;
}

/** Invites a person and accepts the invitation. */
async function signUp(role: string, email: string): Promise<string> {
  const { id, link_secret: secret } = await invite(role, email);
  await ask('POST', '/api/v1/invitations/accept', { secret, name: email, password: 'long enough' });
  return String(id);
}

const change = (id: unknown, body: Json, as?: unknown) => ask('PATCH', `${PATH}/${id}`, body, as);
const statusOf = async (id: unknown) => (await ask('GET', `${PATH}/${id}`)).body['status'];
const auditOf = async (id: unknown) => (await ask('GET', `/api/v1/audit?object=${id}`)).body['data'] as Json[];

describe('an invited person', () => {
  test('has an email in lower case, and a link whose secret is shown only in that response', async () => {
    const { status, body } = await ask('POST', PATH, { role: 'viewer', email: 'Ada@Example.COM', name: 'Ada' });
    const { link_secret: secret, ...shown } = body;
    expect([status, shown]).toEqual([
      201,
      {
        id: expect.stringMatching(/^person_[0-9A-Za-z]{9}$/),
        role: 'viewer',
        account: null,
        email: 'ada@example.com',
        name: 'Ada',
        tags: {},
        status: 'invited',
        managed_by: null,
        directory_source: null,
        identity: null,
        claimed_groups: null,
        disabled_by: null,
        link_expires_at: isoAfter(bounds.linkMs),
        made_by: 'local',
        created_at: isoAfter(0),
      },
    ]);
    expect(secret).toMatch(/^tk-inv-[0-9A-Za-z]{49}$/);
    expect((await ask('GET', `${PATH}/${shown['id']}`)).body).toEqual({ ...shown, consents: [] });
    expect((await ask('GET', PATH)).body).toEqual({ data: [{ ...shown, consents: [] }], next_cursor: null });
    const audit = await auditOf(shown['id']);
    expect(audit).toMatchObject([{ action: 'person.create', actor: 'local', before: null, after: shown }]);
    expect(Bun.inspect([installation.stores.tables, installation.answers], { depth: 9 })).not.toContain(
      String(secret).slice(7),
    );
  });

  test('is the only one with that email in the whole installation, however it is written', async () => {
    await signUp('member', 'ada@example.com');
    const { status, body } = await ask('POST', PATH, { role: 'viewer', email: 'ADA@example.com' });
    expect([status, errorOf(body).code]).toEqual([409, 'conflict']);
    expect(errorOf(body).message).toStartWith('email: ');
    expect(installation.stores.tables.people.size).toBe(1);
  });

  test('is created once under one idempotency key, with the same secret', async () => {
    const headers = { 'idempotency-key': 'once' };
    const body = { role: 'viewer', email: 'ada@example.com' };
    const first = await installation.ask('POST', PATH, body, headers);
    expect(await installation.ask('POST', PATH, body, headers)).toMatchObject({ status: 201, body: first.body });
    const link = `${PATH}/${first.body['id']}/link`;
    const linked = await installation.ask('POST', link, {}, { 'idempotency-key': 'twice' });
    const again = await installation.ask('POST', link, {}, { 'idempotency-key': 'twice' });
    expect([linked.status, again.body]).toEqual([201, linked.body]);
    expect(linked.body['link_secret']).not.toBe(first.body['link_secret']);
  });

  test('of an account does not count against the account’s limit when an operator invites them', async () => {
    const owner = await signUp('owner', 'owner@example.com');
    installation.stores.people.countPeople = async () => bounds.peoplePerAccountMax;
    const refused = await ask('POST', PATH, { role: 'member', email: 'a@example.com' }, owner);
    expect([refused.status, errorOf(refused.body).code]).toEqual([409, 'conflict']);
    expect((await invite('member', 'a@example.com'))['status']).toBe('invited');
  });
});

describe('a signed-in person', () => {
  test('can read who they are', async () => {
    const id = await signUp('owner', 'ada@example.com');
    const { body } = await ask('GET', '/api/v1/me', undefined, id);
    expect(body).toMatchObject({
      id,
      kind: 'person',
      name: 'ada@example.com',
      email: 'ada@example.com',
      role: 'owner',
    });
    expect((await ask('GET', '/api/v1/me')).body).toMatchObject({ kind: 'local', name: null, email: null });
  });

  test('has no access from the moment they are disabled, and loses links and sessions', async () => {
    const id = await signUp('viewer', 'ada@example.com');
    const { link_secret: secret } = (await ask('POST', `${PATH}/${id}/link`)).body;
    expect((await change(id, { status: 'disabled' })).body).toMatchObject({
      status: 'disabled',
      link_expires_at: null,
    });
    expect((await ask('GET', '/api/v1/me', undefined, id)).status).toBe(401);
    expect((await ask('POST', '/api/v1/invitations/show', { secret })).status).toBe(404);
    expect(installation.notifications).toContain('end sessions of ada@example.com');
    const refused = await ask('POST', `${PATH}/${id}/link`);
    expect([refused.status, errorOf(refused.body).message]).toEqual([
      409,
      expect.stringContaining('enable them first'),
    ]);
    expect((await change(id, { status: 'enabled' })).body['status']).toBe('enabled');
    expect((await ask('GET', '/api/v1/me', undefined, id)).status).toBe(200);
    expect((await auditOf(id)).map(({ action }) => action)).toEqual([
      'person.update',
      'person.update',
      'person.link',
      'person.accept',
      'person.create',
    ]);
  });

  test('is disabled even if their sessions cannot be ended, and can be enabled only once they are ended', async () => {
    const id = await signUp('viewer', 'ada@example.com');
    let isUnavailable = true;
    installation.signIn.endSessions = async () => {
      if (isUnavailable) throw new TurnpikeError('store_unavailable', 'The store is gone.');
    };
    expect((await change(id, { status: 'disabled' })).status).toBe(200);
    expect(installation.notifications.join()).toContain('The store is gone.'); // to the operator's log
    expect((await change(id, { status: 'enabled' })).status).toBe(503);
    expect(await statusOf(id)).toBe('disabled');
    isUnavailable = false;
    expect((await change(id, { status: 'enabled' })).status).toBe(200);
  });

  test('keeps their credentials until a new link is accepted, which invalidates the earlier link', async () => {
    const id = await signUp('viewer', 'ada@example.com');
    const first = (await ask('POST', `${PATH}/${id}/link`)).body['link_secret'];
    const second = (await ask('POST', `${PATH}/${id}/link`)).body['link_secret'];
    const show = async (secret: unknown) => (await ask('POST', '/api/v1/invitations/show', { secret })).status;
    expect([await show(first), await show(second), await statusOf(id)]).toEqual([404, 200, 'enabled']);
  });
});

describe('no person', () => {
  test('can change their own role, disable themselves or create a link for themselves, but everyone may rename themselves', async () => {
    const [one] = [await signUp('operator', 'one@example.com'), await signUp('operator', 'two@example.com')];
    for (const body of [{ role: 'viewer' }, { status: 'disabled' }])
      expect((await change(one, body, one)).status).toBe(409);
    expect((await ask('POST', `${PATH}/${one}/link`, {}, one)).status).toBe(409);
    expect((await change(one, { name: 'One', role: 'operator', status: 'enabled' }, one)).status).toBe(200);
  });

  test('can remove the last operator, not even with an operator’s token: only the machine’s operator can', async () => {
    const last = await signUp('operator', 'last@example.com');
    await invite('operator', 'invited@example.com'); // not accepted yet, so not an operator
    const { token } = (await ask('POST', '/api/v1/tokens', { role: 'operator' })).body;
    for (const body of [{ status: 'disabled' }, { role: 'viewer' }])
      expect((await change(last, body, token)).status).toBe(409);
    const other = await signUp('operator', 'other@example.com');
    expect((await change(last, { role: 'viewer' }, token)).status).toBe(200);
    expect((await change(other, { status: 'disabled' })).status).toBe(200);
  });

  test('can leave the installation without an operator by disabling another concurrently', async () => {
    const [one, two] = [await signUp('operator', 'one@example.com'), await signUp('operator', 'two@example.com')];
    const answers = await Promise.all([
      change(one, { status: 'disabled' }, two),
      change(two, { status: 'disabled' }, one),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403]);
    expect([await statusOf(one), await statusOf(two)].toSorted()).toEqual(['disabled', 'enabled']);
  });

  test('can sign in without an email', async () => {
    const { person, linkHash } = makeFirstOperator(NOW_MS);
    await installation.stores.people.createPerson(person, linkHash, noAuditContext);
    const [{ id }] = (await ask('GET', PATH)).body['data'] as [Json];
    const { status, body } = await change(id, { status: 'enabled' });
    expect([status, errorOf(body).message]).toEqual([409, expect.stringContaining('no email address yet')]);
    expect((await change(id, { status: 'disabled' })).status).toBe(200);
  });

  test('can move from an account to the installation, or the other way', async () => {
    const [owner, viewer] = [await invite('owner', 'a@example.com'), await invite('viewer', 'b@example.com')];
    expect((await change(owner['id'], { role: 'viewer' })).status).toBe(400);
    expect((await change(viewer['id'], { role: 'member' })).status).toBe(400);
    expect((await change(owner['id'], { role: 'member' })).body).toMatchObject({ role: 'member' });
  });
});

test('an owner can invite and change people of their own account only', async () => {
  const owner = await signUp('owner', 'owner@example.com');
  const other = await makeAccount(installation, { name: 'other' });
  const theirs = await invite('member', 'theirs@example.com', { account: other['id'] });
  const { status, body } = await ask('POST', PATH, { role: 'owner', email: 'two@example.com' }, owner);
  expect([status, body]).toMatchObject([201, { account: account['id'], made_by: owner }]);
  expect((await change(body['id'], { role: 'member', status: 'disabled' }, owner)).status).toBe(200);
  const into = { role: 'member', email: 'three@example.com', account: other['id'] };
  expect((await ask('POST', PATH, into, owner)).status).toBe(400);
  expect((await ask('POST', PATH, { role: 'viewer', email: 'three@example.com' }, owner)).status).toBe(400);
  expect((await change(theirs['id'], { name: 'x' }, owner)).status).toBe(404);
  expect((await ask('POST', `${PATH}/${theirs['id']}/link`, {}, owner)).status).toBe(404);
  const listed = (await ask('GET', PATH, undefined, owner)).body['data'] as Json[];
  expect(listed.map(({ id }) => id).toSorted()).toEqual([owner, body['id']].toSorted());
});

describe('the email of a person without access', () => {
  const again = (email: string, as?: unknown) => ask('POST', PATH, { role: 'viewer', email }, as);

  test.each(['invited', 'disabled'])('can be reused by an invitation of the installation: %s', async (status) => {
    const { id, link_secret: secret } = await invite('operator', 'ada@example.com');
    if (status === 'disabled') await change(id, { status });
    const { status: answered, body } = await again('Ada@example.com');
    expect([answered, body]).toMatchObject([201, { email: 'ada@example.com', role: 'viewer', status: 'invited' }]);
    expect((await ask('GET', `${PATH}/${id}`)).body).toMatchObject({ email: null, status: 'disabled' });
    expect((await ask('POST', '/api/v1/invitations/show', { secret })).status).toBe(404);
    expect((await change(id, { status: 'enabled' })).status).toBe(409);
    expect(installation.notifications).toContain('forget the password of ada@example.com');
    expect((await auditOf(id))[0]).toMatchObject({
      action: 'person.update',
      before: { email: 'ada@example.com' },
      after: { email: null },
    });
    expect(await auditOf(body['id'])).toMatchObject([{ action: 'person.create' }]);
  });

  test('cannot be reused if the old password cannot be invalidated', async () => {
    const { id } = await invite('operator', 'ada@example.com');
    installation.signIn.forgetPassword = async () => {
      throw new TurnpikeError('store_unavailable', 'The store is gone.');
    };
    expect((await again('ada@example.com')).status).toBe(503);
    expect(await statusOf(id)).toBe('invited');
  });

  test('cannot be reused by people of the same account, and neither can the email of a person with access', async () => {
    const owner = await signUp('owner', 'owner@example.com');
    await invite('member', 'ada@example.com');
    for (const email of ['ada@example.com', 'owner@example.com'])
      expect((await ask('POST', PATH, { role: 'member', email }, owner)).status).toBe(409);
    expect((await again('owner@example.com')).status).toBe(409);
    expect(await statusOf(owner)).toBe('enabled');
  });

  test('loses its password when an operator gives its person access without a link', async () => {
    const { id } = await invite('viewer', 'ada@example.com');
    await change(id, { status: 'enabled' });
    expect(installation.notifications).toContain('forget the password of ada@example.com');
  });
});

test('a member sees no people; a viewer sees all of them and can change none', async () => {
  const [member, viewer] = [await signUp('member', 'm@example.com'), await signUp('viewer', 'v@example.com')];
  expect((await ask('GET', `${PATH}/${member}`, undefined, member)).status).toBe(403);
  expect((await ask('GET', PATH, undefined, viewer)).body['data']).toHaveLength(2);
  expect((await change(member, { name: 'x' }, viewer)).status).toBe(403);
  expect((await ask('POST', PATH, { role: 'viewer', email: 'x@example.com' }, viewer)).status).toBe(403);
});

test('people can be listed by account', async () => {
  const { id: other } = await makeAccount(installation, { name: 'other' });
  await invite('operator', 'root@example.com');
  await invite('owner', 'ada@example.com');
  await invite('member', 'bob@example.com', { account: other });
  const emails = async (query: string) =>
    ((await ask('GET', `${PATH}?${query}`)).body['data'] as Json[]).map(({ email }) => email);
  expect(await emails(`account=${account['id']}`)).toEqual(['ada@example.com']);
  expect(await emails(`account=${other}`)).toEqual(['bob@example.com']);
  expect((await ask('GET', `${PATH}?account=acct_000000000`)).status).toBe(404);
});
