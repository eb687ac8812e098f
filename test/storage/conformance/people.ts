// People and their one-time links: who is found by what, and what one person has that no other may.

import { expect, test } from 'bun:test';
import type { Person } from '../../../src/accounts/accounts.ts';
import { failureOf, type OpenStores, openWorkbench, START_MS } from '../../ledger/workbench.ts';
import { noTrail } from '../../support/no-trail.ts';

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
  test('people by their e-mail and by their link, and lists of them by account', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    const owner = person(2, { role: 'owner', accountId: bench.account });
    await people.createPerson(person(3), 'link 3', noTrail);
    await people.createPerson(owner, null, noTrail);
    await people.createPerson(person(1, { email: null }), 'link 1', noTrail);
    expect(await people.findPersonByEmail('3@example.com')).toEqual(person(3));
    expect(await people.findPersonByEmail('9@example.com')).toBeNull();
    expect(await people.findPersonByLinkHash('link 1')).toEqual(person(1, { email: null }));
    expect(await people.findPersonByLinkHash('link 2')).toBeNull();
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

  test('of a person who changed what they are now, under their link, another or none', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    await people.createPerson(person(1, { email: null }), 'first', noTrail);
    const named = person(1, { role: 'viewer', status: 'enabled', email: 'other@example.com', name: 'Ada' });
    await people.updatePerson(named, 'as it is', noTrail);
    expect(await people.findPersonByLinkHash('first')).toEqual(named);
    expect(await people.findPersonByEmail('other@example.com')).toEqual(named);
    const inRoles = () =>
      Promise.all([people.countInRole('operator', 'invited'), people.countInRole('viewer', 'enabled')]);
    expect(await inRoles()).toEqual([0, 1]);
    await people.updatePerson({ ...named, email: '1@example.com', role: 'operator' }, { hash: 'second' }, noTrail);
    expect(await people.findPersonByLinkHash('first')).toBeNull();
    expect(await people.findPersonByEmail('other@example.com')).toBeNull();
    expect((await people.findPersonByLinkHash('second'))?.email).toBe('1@example.com');
    await people.updatePerson({ ...named, status: 'invited', role: 'operator' }, { hash: null }, noTrail);
    expect(await people.findPersonByLinkHash('second')).toBeNull();
    expect(await inRoles()).toEqual([1, 0]);
  });

  keepsOneEmail(open);

  test('that no two people have the same e-mail or link, and any number have none', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    await people.createPerson(person(1), 'link', noTrail);
    await people.createPerson(person(2, { email: null }), null, noTrail);
    await people.createPerson(person(3, { email: null }), null, noTrail);
    await failureOf(people.createPerson(person(4, { email: '1@example.com' }), null, noTrail));
    await failureOf(people.createPerson(person(5), 'link', noTrail));
    await failureOf(people.updatePerson(person(2, { email: '1@example.com' }), 'as it is', noTrail));
    await failureOf(people.updatePerson(person(3), { hash: 'link' }, noTrail));
    const stored = await people.listPeople({ accountId: null, after: null, limit: 9 });
    expect(stored).toEqual([person(1), person(2, { email: null }), person(3, { email: null })]);
  });
}

function keepsOneEmail(open: OpenStores): void {
  test('one who gives up an e-mail for another, at once with them', async () => {
    await using bench = await openWorkbench(open, 0);
    const { people } = bench.stores;
    await people.createPerson(person(1), 'first', noTrail);
    const former = person(1, { email: null, status: 'disabled' });
    const next = person(2, { email: '1@example.com' });
    await failureOf(people.createPerson(next, 'second', noTrail, person(1, { status: 'disabled' })));
    expect(await people.findPersonByEmail('1@example.com')).toEqual(person(1)); // all of it, or nothing
    await people.createPerson(next, 'second', noTrail, former);
    expect(await people.findPersonByEmail('1@example.com')).toEqual(next);
    expect(await people.getPerson(1)).toEqual(former);
    expect([await people.findPersonByLinkHash('first'), await people.findPersonByLinkHash('second')]).toEqual([
      null,
      next,
    ]);
  });
}
