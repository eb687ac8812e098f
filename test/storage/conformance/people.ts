// People and their one-time links: lookups, and values that must be unique.

import { expect, test } from 'bun:test';
import { type DirectoryGroup, NO_KEY_LIMITS, newKey, type Person } from '../../../src/accounts/accounts.ts';
import { failureOf, type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

const person = (id: number, members: Partial<Person> = {}): Person => ({
  id,
  accountId: null,
  role: 'operator',
  email: `${id}@example.com`,
  name: '',
  status: 'invited',
  linkExpiresAtMs: START_MS,
  madeBy: 'local',
  createdAtMs: START_MS + id,
  ...members,
});

export function peopleConformance(open: OpenStores): void {
  test('people by their email and by their link, and lists of them by account', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    const owner = person(2, { role: 'owner', accountId: bench.account });
    await people.createPerson(person(3), 'link 3', noAuditContext);
    await people.createPerson(owner, null, noAuditContext);
    await people.createPerson(person(1, { email: null }), 'link 1', noAuditContext);
    expect(await people.findPersonByEmail('3@example.com')).toEqual(person(3));
    expect(await people.findPersonByEmail('9@example.com')).toBeNull();
    expect(await people.findPersonByLinkHash(['link 1'])).toEqual(person(1, { email: null }));
    expect(await people.findPersonByLinkHash(['link 2'])).toBeNull();
    expect(await people.getPerson(2)).toEqual(owner);
    expect(await people.getPerson(9)).toBeNull();
    const listed = async (after: number | null, accountId: number | null, limit = 9) =>
      (await people.listPeople({ accountId, after, limit })).map(({ id }) => id);
    expect(await listed(null, null)).toEqual([1, 2, 3]);
    expect(await listed(null, null, 2)).toEqual([1, 2]);
    expect(await listed(2, null)).toEqual([3]);
    expect(await listed(null, bench.account)).toEqual([2]);
    expect(await listed(2, bench.account)).toEqual([]);
    expect([await people.countPeople(bench.account), await people.countPeople(404)]).toEqual([1, 0]);
  });

  test('the latest version of a changed person, under the same link, another or none', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    await people.createPerson(person(1, { email: null }), 'first', noAuditContext);
    const consents = [{ version: '2026-11', atMs: START_MS, address: '192.0.2.1' }];
    const named = person(1, { role: 'viewer', status: 'enabled', email: 'other@example.com', name: 'Ada', consents });
    await people.updatePerson(named, 'as it is', noAuditContext);
    expect(await people.findPersonByLinkHash(['first'])).toEqual(named);
    expect(await people.findPersonByEmail('other@example.com')).toEqual(named);
    const inRoles = () =>
      Promise.all([people.countInRole('operator', 'invited'), people.countInRole('viewer', 'enabled')]);
    expect(await inRoles()).toEqual([0, 1]);
    await people.updatePerson(
      { ...named, email: '1@example.com', role: 'operator' },
      { hash: 'second' },
      noAuditContext,
    );
    expect(await people.findPersonByLinkHash(['first'])).toBeNull();
    expect(await people.findPersonByEmail('other@example.com')).toBeNull();
    expect((await people.findPersonByLinkHash(['second']))?.email).toBe('1@example.com');
    await people.updatePerson({ ...named, status: 'invited', role: 'operator' }, { hash: null }, noAuditContext);
    expect(await people.findPersonByLinkHash(['second'])).toBeNull();
    expect(await inRoles()).toEqual([1, 0]);
  });

  bindsIdentities(open);
  movesPeople(open);
  keepsDirectoryGroups(open);
  keepsOneEmail(open);
  claimsEmails(open);

  test('people with unique emails and links, and any number without', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    await people.createPerson(person(1), 'link', noAuditContext);
    await people.createPerson(person(2, { email: null }), null, noAuditContext);
    await people.createPerson(person(3, { email: null }), null, noAuditContext);
    await failureOf(people.createPerson(person(4, { email: '1@example.com' }), null, noAuditContext));
    await failureOf(people.createPerson(person(5), 'link', noAuditContext));
    await failureOf(people.updatePerson(person(2, { email: '1@example.com' }), 'as it is', noAuditContext));
    await failureOf(people.updatePerson(person(3), { hash: 'link' }, noAuditContext));
    const stored = await people.listPeople({ accountId: null, after: null, limit: 9 });
    expect(stored).toEqual([person(1), person(2, { email: null }), person(3, { email: null })]);
  });
}

function claimsEmails(open: OpenStores): void {
  test('an email that people of accounts do not claim until they are enabled, and then one of them', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    const email = 'ada@example.com';
    const member = (id: number, status: Person['status']) =>
      person(id, { role: 'member', accountId: bench.account, email, status });
    for (const [id, status] of [
      [3, 'invited'],
      [2, 'disabled'],
      [1, 'invited'],
    ] as const)
      await people.createPerson(member(id, status), `link ${id}`, noAuditContext);
    expect(await people.findPersonByEmail(email)).toBeNull();
    const found = async (status: 'invited' | 'disabled', accountId: number | null = null, limit = 9) =>
      (await people.listUnclaimed({ email, status, accountId, limit })).map(({ id }) => id);
    expect([await found('invited'), await found('disabled')]).toEqual([[1, 3], [2]]);
    expect([await found('invited', bench.account, 1), await found('invited', 404)]).toEqual([[1], []]);
    await people.updatePerson(member(3, 'enabled'), { hash: null }, noAuditContext);
    expect(await people.findPersonByEmail(email)).toEqual(member(3, 'enabled'));
    expect(await found('invited')).toEqual([1]);
    await failureOf(people.updatePerson(member(1, 'enabled'), { hash: null }, noAuditContext));
    await failureOf(people.createPerson(person(4, { email }), null, noAuditContext));
    await people.updatePerson(member(3, 'disabled'), 'as it is', noAuditContext);
    expect(await people.findPersonByEmail(email)).toBeNull();
    await people.updatePerson(member(1, 'enabled'), { hash: null }, noAuditContext);
    expect((await people.findPersonByEmail(email))?.id).toBe(1);
  });
}

function keepsOneEmail(open: OpenStores): void {
  test('a person who takes over an email in the bundle that frees it', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    await people.createPerson(person(1), 'first', noAuditContext);
    const former = person(1, { email: null, status: 'disabled' });
    const next = person(2, { email: '1@example.com' });
    await failureOf(people.createPerson(next, 'second', noAuditContext, person(1, { status: 'disabled' })));
    expect(await people.findPersonByEmail('1@example.com')).toEqual(person(1)); // All or nothing.
    await people.createPerson(next, 'second', noAuditContext, former);
    expect(await people.findPersonByEmail('1@example.com')).toEqual(next);
    expect(await people.getPerson(1)).toEqual(former);
    expect([await people.findPersonByLinkHash(['first']), await people.findPersonByLinkHash(['second'])]).toEqual([
      null,
      next,
    ]);
  });
}

function bindsIdentities(open: OpenStores): void {
  test('one person for each subject of an issuer, among those who claim it', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    const identity = { issuer: 'https://id.example.com', subject: 'ada' };
    const member = { role: 'member' as const, accountId: bench.account, status: 'enabled' as const, identity };
    await people.createPerson(person(1, member), null, noAuditContext);
    expect((await people.findPersonByIdentity(identity))?.id).toBe(1);
    expect(await people.findPersonByIdentity({ ...identity, subject: 'bob' })).toBeNull();
    expect(await people.findPersonByIdentity({ ...identity, issuer: 'https://id.example.org' })).toBeNull();
    await failureOf(people.createPerson(person(2, member), null, noAuditContext));
    await people.updatePerson(person(1, { ...member, status: 'disabled' }), 'as it is', noAuditContext);
    expect(await people.findPersonByIdentity(identity)).toBeNull();
    await people.createPerson(person(2, { ...member, managedBy: 'directory' }), null, noAuditContext);
    const managed = person(2, { ...member, managedBy: 'directory', status: 'disabled', disabledBy: 'directory' });
    await people.updatePerson(managed, { hash: null }, noAuditContext);
    expect(await people.findPersonByIdentity(identity)).toEqual(managed);
    await people.updatePerson({ ...managed, identity: null }, 'as it is', noAuditContext);
    expect(await people.findPersonByIdentity(identity)).toBeNull();
  });
}

function movesPeople(open: OpenStores): void {
  test('a person who moves to another account is listed there alone, and their keys end with it', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people, accounts, ledger } = bench.stores;
    const other = { id: 777, name: 'other', groups: [], status: 'enabled' as const, createdAtMs: START_MS };
    const terms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' as const };
    await accounts.createAccount(other, terms, null, noAuditContext);
    const member = person(1, { role: 'member', accountId: bench.account, status: 'enabled' });
    await people.createPerson(member, null, noAuditContext);
    const key = { ...newKey(bench.account, 'mine', 'sk-tp-Ab3d', 'person_000000001', START_MS), id: 4_242 };
    const limits = { ...NO_KEY_LIMITS, expiresAtMs: null };
    await accounts.createKey(key, 'hash of the key', { ...limits, status: 'enabled' }, noAuditContext);
    const ended = [{ key: { ...key, status: 'disabled' as const }, terms: { ...limits, status: 'disabled' as const } }];
    for (const link of ['as it is', { hash: null }] as const)
      for (const accountId of [other.id, bench.account])
        await people.updatePerson({ ...member, accountId }, link, noAuditContext, ended);
    await people.updatePerson({ ...member, accountId: other.id }, 'as it is', noAuditContext, ended);
    const idsIn = async (accountId: number) =>
      (await people.listPeople({ accountId, after: null, limit: 9 })).map(({ id }) => id);
    expect([await idsIn(other.id), await idsIn(bench.account)]).toEqual([[1], []]);
    expect([await people.countPeople(other.id), await people.countPeople(bench.account)]).toEqual([1, 0]);
    expect((await accounts.getKey(key.id))?.status).toBe('disabled');
    expect((await accounts.findKeyBySecretHash(['hash of the key']))?.key.status).toBe('disabled');
    expect(await ledger.keyMeters(key.id, START_MS)).not.toBeNull();
  });
}

function keepsDirectoryGroups(open: OpenStores): void {
  test('directory groups by their name and source, in order, with their latest version', async () => {
    await using bench = await openWorkbench(open, 0);
    const { directoryGroups: groups } = bench.stores;
    const group = (id: number, source: string | null): DirectoryGroup => ({
      ...{ id, name: 'engineers', source, accountId: bench.account, role: 'member', priority: 100 },
      ...{ status: 'enabled', madeBy: 'local', createdAtMs: START_MS + id },
    });
    for (const one of [group(2, 'scim'), group(1, null)]) await groups.saveDirectoryGroup(one, noAuditContext);
    expect(await groups.findDirectoryGroup('engineers', null)).toEqual(group(1, null));
    expect(await groups.findDirectoryGroup('engineers', 'scim')).toEqual(group(2, 'scim'));
    expect(await groups.findDirectoryGroup('engineers', 'oidc')).toBeNull();
    await groups.saveDirectoryGroup({ ...group(2, 'oidc'), role: 'owner' }, noAuditContext);
    expect(await groups.findDirectoryGroup('engineers', 'scim')).toBeNull();
    expect(await groups.getDirectoryGroup(2)).toMatchObject({ source: 'oidc', role: 'owner' });
    const listed = async (after: number | null, limit = 9) =>
      (await groups.listDirectoryGroups({ after, limit })).map(({ id }) => id);
    expect([await listed(null), await listed(null, 1), await listed(1)]).toEqual([[1, 2], [1], [2]]);
    expect(await groups.countDirectoryGroups()).toBe(2);
  });
}
