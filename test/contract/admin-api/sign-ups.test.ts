// Sign-up by mail: what a stranger learns, what a link does, and what farming gets.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { creditKeysOf, ownedDomainOf } from '../../../src/accounts/accounts.ts';
import { mailboxOf } from '../../../src/accounts/mailboxes.ts';
import { DAY_MS } from '../../../src/base/clock.ts';
import { parseId } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import { errorOf, type Json, makeInstallation } from './installation.ts';
import { type Mailing, secretIn, startMailing } from './mailing.ts';

const OPEN = { sign_up: 'on', sign_up_credit: '5.00' };
const password = 'long enough';
let mailing: Mailing;
beforeEach(async () => {
  mailing = await startMailing(OPEN);
});
afterEach(async () => {
  await mailing[Symbol.asyncDispose]();
});

const signUp = (email: string, address?: string) =>
  mailing.ask('/sign-ups', { email, name: 'Ada', account_name: 'Ada Ltd' }, address);
const accept = (token: string, words = password, address?: string) =>
  mailing.ask('/sign-ups/accept', { token, password: words }, address);
const settings = (changed: Json) =>
  mailing.installation.ask('POST', '/api/v1/apply', { document: { settings: { ...OPEN, ...changed } } });

/** Counters of the last day end. */
function nextDay() {
  mailing.installation.clock.advance(DAY_MS + 1);
  mailing.installation.counters.clear();
}

async function complete(email: string): Promise<{ status: number; body: Json }> {
  await signUp(email);
  const [mail] = await mailing.deliver();
  return accept(secretIn(mail));
}

async function balanceOf(account: unknown): Promise<unknown> {
  return (await mailing.installation.ask('GET', `/api/v1/accounts/${account}`)).body['balance'];
}

describe('a sign-up', () => {
  test('creates an account with an owner and credit once the email is confirmed', async () => {
    expect(await signUp('Ada@example.com')).toMatchObject({ status: 200, body: { email: 'ada@example.com' } });
    const [mail, ...others] = await mailing.deliver();
    expect(others).toEqual([]);
    expect([mail?.to, mail?.headers.get('subject')]).toEqual([
      'ada@example.com',
      'Confirm your email address for console.example.com',
    ]);
    expect(mail?.headers.get('list-unsubscribe')).toBeUndefined();
    expect(mailing.installation.stores.tables.people.size).toBe(0);
    const { status, body } = await accept(secretIn(mail));
    expect([status, body]).toMatchObject([200, { email: 'ada@example.com', role: 'owner' }]);
    expect(mailing.installation.passwords.get('ada@example.com')).toMatchObject({ name: 'Ada', password });
    const account = (await mailing.installation.ask('GET', `/api/v1/accounts/${body['account']}`)).body;
    expect(account).toMatchObject({ name: 'Ada Ltd', groups: ['default'], balance: '5.00', status: 'enabled' });
    const entries = (await mailing.installation.ask('GET', `/api/v1/accounts/${body['account']}/entries`)).body['data'];
    expect(entries).toMatchObject([{ kind: 'promotion', amount: '5.00', note: 'sign-up' }]);
    const audit = (await mailing.installation.ask('GET', '/api/v1/audit')).body['data'] as Json[];
    expect(
      audit
        .slice(0, 2)
        .map(({ action }) => action)
        .sort(),
    ).toEqual(['account.create', 'person.create']);
    expect(audit[0]?.['actor']).toMatch(/^person_/);
    const events = (await mailing.installation.ask('GET', '/api/v1/events')).body['data'];
    expect(events).toMatchObject([
      { type: 'account.signed_up', data: { name: 'Ada Ltd', email: 'ada@example.com', credit: '5.00' } },
    ]);
  });

  test('needs consent to the terms in force, and says which', async () => {
    await settings({ terms_version: '2026-11', terms_of_service: 'https://example.com/terms' });
    await signUp('ada@example.com');
    const [mail] = await mailing.deliver();
    const token = secretIn(mail);
    const refused = await accept(token);
    expect([refused.status, errorOf(refused.body).faults]).toMatchObject([400, [{ path: ['consent'] }]]);
    expect(mailing.installation.stores.tables.people.size).toBe(0);
    const { status } = await mailing.ask('/sign-ups/accept', { token, password, consent: '2026-11' });
    const [person] = (await mailing.installation.ask('GET', '/api/v1/people')).body['data'] as Json[];
    expect([status, person?.['consents']]).toMatchObject([200, [{ version: '2026-11' }]]);
    const { body } = await mailing.installation.ask('GET', `/api/v1/audit?object=${person?.['id']}`);
    expect((body['data'] as Json[]).map(({ action }) => action).sort()).toEqual(['person.consent', 'person.create']);
  });

  test('that is the last one of a day tells operators so, once', async () => {
    await settings({ sign_ups_per_day_max: 2 });
    const limited = async () =>
      ((await mailing.installation.ask('GET', '/api/v1/events?type=sign_up.limited')).body['data'] as Json[]).map(
        ({ data }) => data,
      );
    await complete('ada@example.com');
    expect(await limited()).toEqual([]);
    await complete('bob@example.org');
    expect(await limited()).toEqual([{ per_day_max: 2 }]);
  });

  test('stores its link only as a hash, and shows neither the names given nor another link in its mail', async () => {
    await mailing.ask('/sign-ups', {
      email: 'ada@example.com',
      name: 'You won! evil.example',
      account_name: 'evil.example',
    });
    const [mail] = await mailing.deliver();
    expect(mail?.text).not.toContain('evil');
    expect(mail?.html).not.toContain('evil');
    const kept = Bun.inspect(mailing.installation.stores.tables, { depth: 9 });
    expect(kept).not.toContain(secretIn(mail).slice(7));
    expect(mailing.installation.stores.tables.mails.size).toBe(0);
  });

  test('with a known email has the same answer, and its mail says so to the one who reads it', async () => {
    await complete('ada@example.com');
    nextDay();
    const unknown = await signUp('new@example.com');
    const known = await signUp('ada@example.com');
    expect([known.status, Object.keys(known.body)]).toEqual([unknown.status, Object.keys(unknown.body)]);
    const mails = await mailing.deliver();
    const toAda = mails.find(({ to }) => to === 'ada@example.com');
    expect(toAda?.headers.get('subject')).toBe('You already have access to console.example.com');
    expect(secretIn(toAda)).toBe('');
  });

  test('of a disabled person sends nothing, and of an invited one refers to the invitation', async () => {
    const made = await mailing.installation.ask('POST', '/api/v1/people', { role: 'viewer', email: 'ada@example.com' });
    await mailing.deliver();
    await signUp('ada@example.com');
    expect((await mailing.deliver())[0]?.text).toContain('open the link of the invitation');
    await mailing.installation.ask('PATCH', `/api/v1/people/${made.body['id']}`, { status: 'disabled' });
    await signUp('ada@example.com');
    expect(await mailing.deliver()).toEqual([]);
  });

  test('does the same work before its answer whether the email is known', async () => {
    await complete('ada@example.com');
    nextDay();
    const { tables } = mailing.installation.stores;
    const before = Bun.inspect([tables.people, tables.accounts, tables.mailedLinks, tables.audit], { depth: 5 });
    for (const email of ['ada@example.com', 'new@example.com']) {
      const queued = tables.mails.size;
      await signUp(email);
      expect(tables.mails.size).toBe(queued + 1);
      const after = Bun.inspect([tables.people, tables.accounts, tables.mailedLinks, tables.audit], { depth: 5 });
      expect(after).toBe(before);
    }
  });

  test('is not possible unless it is on, and a mail server and the group exist', async () => {
    const signIn = async () => (await mailing.installation.ask('GET', '/api/v1/sign-in')).body;
    expect(await signIn()).toMatchObject({ sign_up: { domains: [] }, password_reset: true });
    for (const changed of [{ sign_up: 'off' }, { sign_up_group: 'none' }]) {
      await settings(changed);
      expect(await signIn()).toMatchObject({ sign_up: null });
      expect((await signUp('ada@example.com')).status).toBe(404);
    }
    const silent = await makeInstallation();
    await silent.ask('POST', '/api/v1/apply', { document: { settings: OPEN } });
    expect((await silent.ask('GET', '/api/v1/sign-in')).body).toMatchObject({ sign_up: null, password_reset: false });
    const body = { email: 'ada@example.com', name: 'Ada' };
    expect((await silent.ask('POST', '/api/v1/sign-ups', body, { authorization: '' })).status).toBe(404);
  });

  test('needs an email of a listed domain if there is a list', async () => {
    await settings({ sign_up_domains: ['example.com', 'example.org'] });
    expect((await signUp('ada@example.org')).status).toBe(200);
    for (const email of ['ada@sub.example.com', 'ada@example.com.evil.net', 'ada@notexample.com']) {
      const { status, body } = await signUp(email);
      expect([status, errorOf(body).faults]).toMatchObject([400, [{ path: ['email'] }]]);
    }
  });
});

describe('an email at a denied domain', () => {
  const denied = {
    email_domains_denied: ['mailinator.com', 'bücher.example', 'zip'],
    email_domains_allowed: ['acme.zip', 'good.mailinator.com'],
  };
  const CLEAR = /^email: must not be an address at (.+): use a permanent address of yours$/;

  test.each([
    ['ada@mailinator.com', false],
    ['ada@Deep.Sub.MAILINATOR.com', false],
    ['ada@good.mailinator.com', true],
    ['ada@x.good.mailinator.com', true],
    ['ada@notmailinator.com', true],
    ['ada@mailinator.com.example.org', true],
    ['ada@xn--bcher-kva.example', false],
    ['ada@shop.xn--bcher-kva.example', false],
    ['ada@any.zip', false],
    ['ada@acme.zip', true],
  ])('%s cannot sign up, with all names below the domain, but those that are allowed: %p', async (email, isTaken) => {
    await settings(denied);
    const { status, body } = await signUp(email);
    expect(status).toBe(isTaken ? 200 : 400);
    if (!isTaken)
      expect(errorOf(body)).toMatchObject({ message: expect.stringMatching(CLEAR), faults: [{ path: ['email'] }] });
    expect(await mailing.deliver()).toHaveLength(isTaken ? 1 : 0);
  });

  test('is refused at the confirmation, too, if the list has it since', async () => {
    await signUp('ada@mailinator.com');
    const token = secretIn((await mailing.deliver())[0]);
    await settings(denied);
    expect(errorOf((await accept(token)).body).message).toMatch(CLEAR);
    await settings({});
    expect((await accept(token)).status).toBe(200);
  });

  test('cannot be invited by accounts, one or many at a time, but by operators', async () => {
    const { body } = await complete('ada@example.com');
    await settings(denied);
    const { ask } = mailing.installation;
    const { body: token } = await ask('POST', '/api/v1/tokens', { role: 'owner', account: body['account'] });
    const owner = { authorization: `Bearer ${token['token']}` };
    const invited = { role: 'member', email: 'bob@mailinator.com' };
    const one = await ask('POST', '/api/v1/people', invited, owner);
    expect([one.status, errorOf(one.body).message]).toEqual([400, expect.stringMatching(CLEAR)]);
    const many = await ask(
      'POST',
      '/api/v1/people/import',
      { people: [invited, { ...invited, email: 'bob@example.com' }] },
      owner,
    );
    expect(many.body).toMatchObject({ invited: 1, refused: 1 });
    expect((await ask('POST', '/api/v1/people', { ...invited, account: body['account'] })).status).toBe(201);
  });
});

describe('a link', () => {
  test('works once', async () => {
    await signUp('ada@example.com');
    const token = secretIn((await mailing.deliver())[0]);
    expect((await accept(token)).status).toBe(200);
    expect((await accept(token, 'another, as long')).status).toBe(404);
    expect(mailing.installation.passwords.get('ada@example.com')?.password).toBe(password);
  });

  test('is accepted once by two concurrent requests, and gives credit once', async () => {
    await signUp('ada@example.com');
    const token = secretIn((await mailing.deliver())[0]);
    const answers = await Promise.all(['the first one', 'the second one'].map((words) => accept(token, words)));
    expect(answers.map(({ status }) => status)).toEqual([200, 404]);
    expect(mailing.installation.passwords.get('ada@example.com')?.password).toBe('the first one');
    expect(mailing.installation.stores.tables.accounts.size).toBe(1);
  });

  test('of an earlier mail ends with the acceptance of a later one', async () => {
    await signUp('ada@example.com');
    await signUp('ada@example.com');
    const mails = await mailing.deliver();
    expect(mails).toHaveLength(2);
    const [first, second] = mails.map(secretIn) as [string, string];
    expect((await accept(second)).status).toBe(200);
    expect((await accept(first)).status).toBe(404);
  });

  test('expires after a day', async () => {
    await signUp('ada@example.com');
    const [mail] = await mailing.deliver();
    mailing.installation.clock.advance(bounds.signUpLinkMs - 1);
    const wrong = await mailing.ask('/password-resets/accept', { token: secretIn(mail), password });
    expect(wrong.status).toBe(404);
    mailing.installation.clock.advance(1);
    expect((await accept(secretIn(mail))).status).toBe(404);
    expect(mailing.installation.stores.tables.accounts.size).toBe(0);
  });

  test('that is invented, mistyped or of another purpose counts against the address', async () => {
    await mailing.installation.ask('POST', '/api/v1/people', { role: 'viewer', email: 'eve@example.com' });
    const invitation = secretIn((await mailing.deliver())[0]);
    const { failures } = mailing.installation;
    for (const token of ['', 'tk-new-x', invitation]) expect((await accept(token)).status).toBe(404);
    expect(mailing.installation.failures).toBe(failures + 3);
  });

  test('is refused if a person got this email meanwhile', async () => {
    await signUp('ada@example.com');
    const token = secretIn((await mailing.deliver())[0]);
    await mailing.installation.ask('POST', '/api/v1/people', { role: 'viewer', email: 'ada@example.com' });
    expect((await accept(token)).status).toBe(409);
    expect(mailing.installation.passwords.has('ada@example.com')).toBe(false);
  });
});

describe('farming', () => {
  test('gets credit once for each mailbox, in whatever form its address is written', async () => {
    const forms = ['ada.b@gmail.com', 'adab@gmail.com', 'a.d.a.b+1@googlemail.com', 'ADAB+x+y@gmail.com'];
    expect(new Set(forms.map(mailboxOf)).size).toBe(1);
    const balances: unknown[] = [];
    for (const email of forms) {
      nextDay();
      const { status, body } = await complete(email);
      expect(status).toBe(200);
      balances.push(await balanceOf(body['account']));
    }
    expect(balances).toEqual(['5.00', '0', '0', '0']);
  });

  test('gets credit once even if two forms of an address are accepted at the same time', async () => {
    await signUp('ada@gmail.com');
    await signUp('a.da@gmail.com');
    const mails = await mailing.deliver();
    const answers = await Promise.all(mails.map((mail) => accept(secretIn(mail))));
    const balances = await Promise.all(answers.map(({ body }) => balanceOf(body['account'])));
    expect(balances.sort()).toEqual(['0', '5.00']);
  });

  test('gets few mails to one mailbox in a day, with the same answer', async () => {
    for (let at = 0; at < bounds.mailsPerMailboxMax + 2; at++)
      expect((await signUp(`ada+${at}@gmail.com`)).status).toBe(200);
    expect(await mailing.deliver()).toHaveLength(bounds.mailsPerMailboxMax);
  });

  test('is limited for one address, and for one domain with everything below it', async () => {
    const statuses: number[] = [];
    for (let at = 0; at <= bounds.signUpsPerAddressMax; at++) statuses.push((await signUp(`a${at}@gmail.com`)).status);
    expect(statuses).toEqual([...Array(bounds.signUpsPerAddressMax).fill(200), 429]);
    nextDay();
    const results: number[] = [];
    for (let at = 0; at <= bounds.signUpsPerDomainMax; at++)
      results.push((await signUp(`a@x${at}.farm.example`, `10.${at}.0.1`)).status);
    expect(results).toEqual([...Array(bounds.signUpsPerDomainMax).fill(200), 429]);
    expect(['a@x.farm.co.uk', 'a@farm.co.uk', 'a@y.z.example.com', 'a@example.com'].map(ownedDomainOf)).toEqual([
      'farm.co.uk',
      'farm.co.uk',
      'example.com',
      'example.com',
    ]);
  });

  test('creates no more accounts in a day than the setting allows, also with links that were mailed before', async () => {
    await settings({ sign_ups_per_day_max: 2 });
    for (const name of ['a', 'b', 'c']) await signUp(`${name}@gmail.com`);
    const mails = await mailing.deliver();
    const answers = await Promise.all(mails.map((mail) => accept(secretIn(mail))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    expect((await signUp('d@gmail.com')).status).toBe(429);
    nextDay();
    expect((await signUp('d@gmail.com')).status).toBe(200);
    const last = answers.findIndex(({ status }) => status === 429);
    expect((await accept(secretIn(mails[last]))).status).toBe(404); // expired meanwhile
  });
});

describe('networks', () => {
  /** How many of so many sign-ups are accepted, each from the address that `from` returns. */
  async function countAllowed(tries: number, from: (at: number) => string): Promise<number> {
    let allowed = 0;
    for (let at = 0; at < tries; at++) if ((await signUp(`a${at}@gmail.com`, from(at))).status === 200) allowed++;
    return allowed;
  }
  const stranger = () => signUp('stranger@gmail.com', '198.51.100.7');

  test.each<[network: string, tries: number, allowed: number, from: (at: number) => string]>([
    ['/64 of IPv6', 30, bounds.signUpsPerAddressMax, (at) => `2001:db8::${at + 1}`],
    ['/48 of IPv6', 60, bounds.signUpsPerSiteMax, (at) => `2001:db8:7:${at}::1`],
    ['/32 of IPv6', 200, bounds.signUpsPerRegionMax, (at) => `2001:db8:${at}::1`],
    ['/24 of IPv4', 60, bounds.signUpsPerSiteMax, (at) => `203.0.113.${at}`],
    ['/16 of IPv4', 200, bounds.signUpsPerRegionMax, (at) => `203.0.${at}.1`],
    ['/24 of IPv4 in IPv6', 60, bounds.signUpsPerSiteMax, (at) => `::ffff:203.0.113.${at}`],
    [
      '/24 of IPv4 in 6to4',
      60,
      bounds.signUpsPerRegionMax,
      (at) => `2002:cb00:71${at.toString(16).padStart(2, '0')}::1`,
    ],
  ])('one %s gets few mails in a day, and closes sign-up for nobody else', async (_, tries, allowed, from) => {
    expect(await countAllowed(tries, from)).toBe(Math.min(tries, allowed));
    expect((await stranger()).status).toBe(200);
  });

  test('of which many sign up leave a part of the mails for one that did not', async () => {
    await settings({ sign_ups_per_day_max: 20 });
    const mailsMax = 20 * bounds.signUpMailsPerSignUpMax;
    const allowed = await countAllowed(2 * mailsMax, (at) => `10.${at % 12}.${at % 60}.1`);
    expect(allowed).toBeGreaterThanOrEqual(mailsMax / 2);
    expect(allowed).toBeLessThan(mailsMax);
    expect((await stranger()).status).toBe(200);
  });

  test('of which one creates accounts leave a part of them for others', async () => {
    await settings({ sign_ups_per_day_max: 20 });
    let created = 0;
    for (let at = 0; at < 25; at++) {
      await signUp(`a${at}@gmail.com`, `10.${at}.0.1`);
      const [mail] = await mailing.deliver();
      if ((await accept(secretIn(mail), password, `2001:db8:7:${at}::1`)).status === 200) created++;
    }
    expect(created).toBeWithin(10, 15);
    await stranger();
    const [mail] = await mailing.deliver();
    expect((await accept(secretIn(mail), password, '198.51.100.7')).status).toBe(200);
  });

  test('of which one asks for many addresses of a domain leaves it open for others', async () => {
    for (let at = 0; at < 20; at++) await signUp(`a${at}@acme.example`, `2001:db8:7:${at}::1`);
    expect((await signUp('employee@acme.example', '198.51.100.7')).status).toBe(200);
  });

  test('share password resets in the same way', async () => {
    const statuses = new Set<number>();
    for (let at = 0; at < 60; at++) {
      const body = { email: `a${at}@gmail.com` };
      statuses.add((await mailing.ask('/password-resets', body, `2001:db8:7:${at}::1`)).status);
    }
    expect(statuses).toEqual(new Set([200, 429]));
    expect(mailing.installation.counters.get('reset:mails')).toBe(bounds.passwordResetsPerSiteMax);
    expect((await mailing.ask('/password-resets', { email: 'b@gmail.com' }, '198.51.100.7')).status).toBe(200);
  });
});

describe('credit', () => {
  /** The balances of accounts that sign up with these emails, in order. */
  async function balancesOf(emails: readonly string[]): Promise<unknown[]> {
    const balances: unknown[] = [];
    for (const email of emails) {
      nextDay();
      balances.push(await balanceOf((await complete(email)).body['account']));
    }
    return balances;
  }

  test.each<[owner: string, ...emails: string[]]>([
    ['Proton', 'eve.ils@proton.me', 'e-v_eils@pm.me', 'eveils+1@protonmail.com'],
    ['Yandex', 'eve-x@yandex.ru', 'eve.x@ya.ru', 'eve.x+1@yandex.com.tr'],
    ['Yahoo', 'eve-a1@yahoo.com', 'eve-a2@yahoo.com'],
    ['Fastmail', 'eve@fastmail.com', 'a@eve.fastmail.com', 'eve+b@fastmail.com'],
    ['iCloud', 'eve@icloud.com', 'eve@me.com', 'eve+a@mac.com'],
    ['a domain', 'a@evil.example', 'b@evil.example', 'c@x.y.evil.example'],
    ['a disposable mail service', 'a@mailinator.example', 'b@mailinator.example'],
  ])('is given once to the owner of a mailbox or domain: %s', async (_, ...emails) => {
    expect(await balancesOf(emails)).toEqual(['5.00', ...Array(emails.length - 1).fill('0')]);
  });

  test('is given to each person where strangers share a domain: at mail providers, and at listed domains', async () => {
    expect(await balancesOf(['ada@outlook.com', 'ada@hotmail.com', 'a.da@outlook.com'])).toEqual([
      '5.00',
      '5.00',
      '5.00',
    ]);
    await settings({ sign_up_domains: ['acme.example'] });
    expect(await balancesOf(['ada@acme.example', 'bob@acme.example'])).toEqual(['5.00', '5.00']);
  });

  test('that an earlier version gave counts, in the form in which that version stored the mailbox', async () => {
    const former = [
      'e.vileve@proton.me',
      'eve-x@yandex.ru',
      'eve-a1@yahoo.com',
      'a@eve.fastmail.com',
      'ada@firm.example',
    ];
    const { signUps } = mailing.installation.stores.tables;
    for (const email of former) {
      await complete(email);
      const stored = signUps.at(-1);
      if (stored === undefined) throw new Error('no sign-up was stored');
      stored.emailKey = createHash('sha256').update(email).digest('base64url'); // without rules but those of Gmail
    }
    for (const { person } of mailing.installation.stores.tables.people.values())
      person.email = `${person.id}@x.example`;
    expect(await balancesOf([...former, 'evileve@proton.me', 'eve-x@ya.ru'])).toEqual([
      ...Array(former.length).fill('0'),
      '5.00', // a hash does not tell where the dots were
      '0',
    ]);
  });
});

test('a list of former sign-ups has no addresses', async () => {
  const { body } = await complete('ada@example.com');
  const { signUps } = mailing.installation.stores.tables;
  expect(signUps.map(({ account }) => account.id)).toEqual([parseId('acct', String(body['account'])) ?? 0]);
  expect(signUps[0]?.emailKey).toBe(creditKeysOf('ADA+x@example.com', [])[0]);
});
