// Queued mails, mailed links and sign-ups: each mail is taken by one node, each link works once, and credit is given
// once for each mailbox.

import { expect, test } from 'bun:test';
import type { MailedLink, Person, SignUp } from '../../../src/accounts/accounts.ts';
import type { QueuedMail } from '../../../src/delivery/delivery.ts';
import { Outpaced } from '../../../src/ledger/ledger.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

const mail = (id: number, members: Partial<QueuedMail> = {}): QueuedMail => ({
  id,
  createdAtMs: START_MS,
  nextAtMs: START_MS + id,
  tries: 0,
  to: 'ada@example.com',
  request: { kind: 'sign-up', name: 'Ada “日本”', accountName: 'Acme' },
  secretSealed: null,
  ...members,
});

const link = (hash: string, members: Partial<MailedLink> = {}): MailedLink => ({
  hash,
  purpose: 'sign-up',
  email: 'ada@example.com',
  expiresAtMs: START_MS + 1_000,
  name: 'Ada',
  accountName: 'Acme',
  ...members,
});

function signUp(id: number, members: Partial<SignUp> = {}): SignUp {
  const owner: Person = {
    id: id + 1,
    accountId: id,
    role: 'owner',
    email: `${id}@example.com`,
    name: 'Ada',
    status: 'enabled',
    linkExpiresAtMs: null,
    madeBy: 'person',
    createdAtMs: START_MS,
  };
  return {
    account: { id, name: 'Acme', groups: ['default'], status: 'enabled', createdAtMs: START_MS },
    terms: { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' },
    owner,
    credit: 5_000_000_000,
    emailKey: 'key',
    signUpsMax: 3,
    countedSinceMs: START_MS - 1,
    ...members,
  };
}

/** The results: 'done', or 'late' for Outpaced. */
async function outcomes(changes: readonly Promise<void>[]): Promise<string[]> {
  const settled = await Promise.allSettled(changes);
  return settled.map((one) => {
    if (one.status === 'rejected' && !(one.reason instanceof Outpaced)) throw one.reason;
    return one.status === 'fulfilled' ? 'done' : 'late';
  });
}

export function mailConformance(open: OpenStores): void {
  test('mails until they are removed, and gives each to one of those who take it', async () => {
    await using bench = await openWorkbench(open, 0);
    const { mails } = bench.stores;
    for (const id of [2, 1, 3]) await mails.putMail(mail(id));
    expect(await mails.listDueMails(START_MS + 2, 9)).toEqual([mail(1), mail(2)]);
    expect(await mails.listDueMails(START_MS + 9, 1)).toEqual([mail(1)]);
    const takes = [1, 1, 1, 2].map((id) => mails.takeMail(mail(id), START_MS + 100));
    expect((await outcomes(takes)).sort()).toEqual(['done', 'done', 'late', 'late']);
    expect(await mails.listDueMails(START_MS + 99, 9)).toEqual([mail(3)]);
    expect(await mails.listDueMails(START_MS + 100, 9)).toContainEqual(mail(1, { tries: 1, nextAtMs: START_MS + 100 }));
    await mails.removeMail(1);
    expect(await outcomes([mails.takeMail(mail(1, { tries: 1 }), START_MS)])).toEqual(['late']);
  });

  test('links by their hash, which work once and not after their time', async () => {
    await using bench = await openWorkbench(open, 0);
    const { mails, signUps } = bench.stores;
    for (const one of [link('a'), link('b'), link('c', { purpose: 'password-reset' }), link('d', { email: 'x@y.zz' })])
      await mails.putLink(one);
    expect(await signUps.findMailedLink('a')).toEqual(link('a'));
    expect(await signUps.findMailedLink('z')).toBeNull();
    const uses = [1, 2, 3].map(() => signUps.useLink(link('a'), START_MS, noAuditContext));
    expect((await outcomes(uses)).sort()).toEqual(['done', 'late', 'late']);
    const found = await Promise.all(['a', 'b', 'c', 'd'].map((hash) => signUps.findMailedLink(hash)));
    expect(found.map((one) => one?.hash ?? null)).toEqual([null, null, 'c', 'd']);
    const late = signUps.useLink(link('d', { email: 'x@y.zz' }), START_MS + 1_000, noAuditContext);
    expect(await outcomes([late])).toEqual(['late']);
    await signUps.restoreLink(link('a'), noAuditContext);
    expect(await outcomes([signUps.useLink(link('a'), START_MS, noAuditContext)])).toEqual(['done']);
  });

  test('a sign-up with everything, or nothing of it: credit once for a mailbox, and not beyond the limit', async () => {
    await using bench = await openWorkbench(open, 0);
    const { mails, signUps, accounts, people, ledger } = bench.stores;
    for (const hash of ['a', 'b', 'c', 'd', 'e']) await mails.putLink(link(hash, { email: hash }));
    const create = (one: SignUp, hash: string) =>
      signUps.createSignUp(one, link(hash, { email: hash }), noAuditContext);
    const id = 2 ** 33;
    const [first, second] = [signUp(id), signUp(id + 10)];
    const results = await outcomes([create(first, 'a'), create(second, 'b')]);
    expect(results.sort()).toEqual(['done', 'late']);
    const created = (await accounts.getAccount(id)) === null ? second : first;
    const refused = created === first ? second : first;
    expect(await ledger.accountMeters(created.account.id, START_MS)).toMatchObject({ balance: 5_000_000_000 });
    expect(await people.findPersonByEmail(created.owner.email ?? '')).toEqual(created.owner);
    expect(await accounts.getAccount(refused.account.id)).toBeNull();
    expect(await people.findPersonByEmail(refused.owner.email ?? '')).toBeNull();
    expect(await signUps.findMailedLink(created === first ? 'b' : 'a')).not.toBeNull();
    expect([await signUps.wasCredited('key'), await signUps.wasCredited('other')]).toEqual([true, false]);
    expect(await outcomes([create(signUp(id + 20, { credit: 0 }), 'c')])).toEqual(['done']);
    expect(await outcomes([create(signUp(id + 30, { emailKey: 'other' }), 'd')])).toEqual(['done']);
    expect(await signUps.countSignUps(START_MS - 1)).toBe(3);
    expect(await outcomes([create(signUp(id + 40, { emailKey: 'third' }), 'e')])).toEqual(['late']);
    expect(await signUps.findMailedLink('e')).not.toBeNull();
  });
}
