// The people of an account learn nothing of emails outside of it, and keep none from its holder.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { errorOf, type Json, makeInstallation } from './installation.ts';
import { type Mailing, secretIn, startMailing } from './mailing.ts';

const password = 'long enough';
let mailing: Mailing;
let acme: Owner;
let rival: Owner;

interface Owner {
  account: unknown;
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>;
}

async function makeOwner(name: string): Promise<Owner> {
  const { installation } = mailing;
  const account = (await installation.ask('POST', '/api/v1/accounts', { name })).body['id'];
  const { token } = (await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account })).body;
  const headers = { authorization: `Bearer ${token}` };
  return { account, ask: (method, path, body) => installation.ask(method, `/api/v1${path}`, body, headers) };
}

beforeEach(async () => {
  mailing = await startMailing({ sign_up: 'on' });
  [acme, rival] = [await makeOwner('Acme'), await makeOwner('Rival')];
});
afterEach(async () => {
  await mailing[Symbol.asyncDispose]();
});

const operate = (method: string, path: string, body?: unknown) =>
  mailing.installation.ask(method, `/api/v1${path}`, body);
const invite = (owner: Owner, email: string) => owner.ask('POST', '/people', { email, role: 'member', name: 'X' });
const accept = (secret: unknown) => mailing.ask('/invitations/accept', { secret, name: 'X', password });

/** The secret in the newest mail to this email. */
async function mailed(email: string): Promise<string> {
  return secretIn((await mailing.deliver()).findLast(({ to }) => to === email));
}

/** Invites somebody who accepts with the link in their mail. */
async function join(owner: Owner, email: string): Promise<string> {
  const { id } = (await invite(owner, email)).body;
  expect((await accept(await mailed(email))).status).toBe(200);
  return String(id);
}

/** Signs up, and returns the status of the confirmation. */
async function signUp(email: string): Promise<number> {
  await mailing.ask('/sign-ups', { email, name: 'X' });
  return (await mailing.ask('/sign-ups/accept', { token: await mailed(email), password })).status;
}

/** An answer without what differs between any two people: ids, email and times. */
const shown = ({ status, body }: { status: number; body: Json }) =>
  [status, { ...body, request_id: null, id: null, email: null, created_at: null, link_expires_at: null }] as const;

/** Ways in which an email is known outside of the account. */
const known: Readonly<Record<string, (email: string) => Promise<unknown>>> = {
  'an enabled person of another account': (email) => join(acme, email),
  'an invited person of another account': (email) => invite(acme, email),
  'a disabled person of another account': async (email) =>
    acme.ask('PATCH', `/people/${await join(acme, email)}`, { status: 'disabled' }),
  'a person who signed up': signUp,
  'an operator': async (email) => {
    const { link_secret: secret } = (await operate('POST', '/people', { email, role: 'operator' })).body;
    return accept(secret);
  },
  'an invited viewer': (email) => operate('POST', '/people', { email, role: 'viewer' }),
};

describe.each(Object.entries(known))(
  'an owner gets the same answers about the email of %s and an unknown one',
  (_, make) => {
    beforeEach(async () => {
      await make('known@example.com');
      await mailing.deliver();
    });

    test('when they invite it, make a new link, disable and enable it, and list their people', async () => {
      const seen = await Promise.all(
        ['known@example.com', 'unknown@example.com'].map(async (email) => {
          const made = await invite(rival, email);
          const path = `/people/${made.body['id']}`;
          const answers = [made, await invite(rival, email), await rival.ask('POST', `${path}/link`, {})];
          for (const status of ['disabled', 'enabled', 'disabled'])
            answers.push(await rival.ask('PATCH', path, { status }), await rival.ask('GET', path));
          return JSON.stringify(answers.map(shown)).replaceAll(email, 'EMAIL');
        }),
      );
      expect(seen[0]).toBe(seen[1] ?? '');
      expect(seen[0]).toContain('[201,');
    });

    test('and cannot end sessions, forget a password or take the email of its holder', async () => {
      const { notifications, passwords, stores } = mailing.installation;
      const before = [
        notifications.length,
        Bun.inspect(passwords),
        await stores.people.findPersonByEmail('known@example.com'),
      ];
      const { id } = (await invite(rival, 'known@example.com')).body;
      for (const status of ['disabled', 'disabled', 'enabled']) await rival.ask('PATCH', `/people/${id}`, { status });
      const after = [
        notifications.length,
        Bun.inspect(passwords),
        await stores.people.findPersonByEmail('known@example.com'),
      ];
      expect(after).toEqual(before);
    });
  },
);

describe('an invitation by the people of an account', () => {
  test('has its link only in the mail, so that they cannot accept it themselves', async () => {
    const { status, body } = await invite(acme, 'ada@example.com');
    expect([status, body['link_secret'], body['status']]).toEqual([201, null, 'invited']);
    await mailing.deliver();
    const link = await acme.ask('POST', `/people/${body['id']}/link`, {});
    expect([link.status, link.body['link_secret']]).toEqual([201, null]);
    const enabled = await acme.ask('PATCH', `/people/${body['id']}`, { status: 'enabled' });
    expect([enabled.status, enabled.body['status']]).toEqual([200, 'invited']);
    expect(await mailing.installation.stores.people.findPersonByEmail('ada@example.com')).toBeNull();
    expect((await accept(await mailed('ada@example.com'))).status).toBe(200);
    const own = await acme.ask('POST', `/people/${body['id']}/link`, {}); // of their own account
    expect(String(own.body['link_secret'])).toStartWith('tk-inv-');
  });

  test('without mail has a link that an operator hands over', async () => {
    const silent = await makeInstallation();
    const account = (await silent.ask('POST', '/api/v1/accounts', { name: 'Acme' })).body['id'];
    const { token } = (await silent.ask('POST', '/api/v1/tokens', { role: 'owner', account })).body;
    const headers = { authorization: `Bearer ${token}` };
    const body = { email: 'ada@example.com', role: 'member' };
    const made = (await silent.ask('POST', '/api/v1/people', body, headers)).body;
    expect(made['link_secret']).toBeNull();
    const link = await silent.ask('POST', `/api/v1/people/${made['id']}/link`);
    const accepted = { secret: link.body['link_secret'], name: 'Ada', password };
    expect((await silent.ask('POST', '/api/v1/invitations/accept', accepted)).status).toBe(200);
  });

  test('keeps the email from nobody: its holder signs up, or accepts the invitation of another account', async () => {
    await invite(rival, 'ada@example.com');
    await mailing.deliver();
    expect(await signUp('ada@example.com')).toBe(200);
    await invite(rival, 'bob@example.com');
    await mailing.deliver();
    await join(acme, 'bob@example.com');
    const { id } = (await invite(rival, 'eve@example.com')).body;
    await rival.ask('PATCH', `/people/${id}`, { status: 'disabled' });
    await mailing.deliver();
    await join(acme, 'eve@example.com');
  });

  test('of a person with access elsewhere tells them so by mail, without a link', async () => {
    await join(acme, 'ada@example.com');
    await invite(rival, 'ada@example.com');
    const [mail, ...others] = await mailing.deliver();
    expect(others).toEqual([]);
    expect(mail?.headers.get('subject')).toBe('You already have access to console.example.com');
    expect([secretIn(mail), mail?.text]).toEqual(['', expect.stringContaining('Rival')]);
  });

  test('that is accepted after its holder got access elsewhere changes nothing', async () => {
    const { id } = (await invite(rival, 'ada@example.com')).body;
    const secret = await mailed('ada@example.com');
    await join(acme, 'ada@example.com');
    mailing.installation.passwords.set('ada@example.com', { name: 'Ada', password: 'their own' });
    const refused = await accept(secret);
    expect([refused.status, errorOf(refused.body).code]).toEqual([409, 'conflict']);
    expect(mailing.installation.passwords.get('ada@example.com')?.password).toBe('their own');
    expect((await rival.ask('GET', `/people/${id}`)).body['status']).toBe('invited');
    const enabled = await operate('PATCH', `/people/${id}`, { status: 'enabled' });
    expect([enabled.status, errorOf(enabled.body).code]).toEqual([409, 'conflict']);
  });

  test('is mailed few times to one mailbox, unseen by the account, while another account’s is still mailed', async () => {
    const { id } = (await invite(rival, 'ada+1@gmail.com')).body;
    for (let at = 0; at < bounds.mailsPerMailboxMax + 2; at++)
      expect((await rival.ask('POST', `/people/${id}/link`, {})).status).toBe(201);
    expect(await mailing.deliver()).toHaveLength(bounds.mailsPerMailboxMax);
    await invite(acme, 'a.da@gmail.com');
    expect(await mailing.deliver()).toHaveLength(1);
  });

  test('leaves mails for other accounts, however many are sent', async () => {
    mailing.installation.counters.set('invitations', bounds.invitationMailsPerDayMax / 2);
    const statuses: number[] = [];
    for (let at = 0; at < 2 * bounds.accountFreeShare; at++)
      statuses.push((await invite(rival, `a${at}@example.com`)).status);
    expect(new Set(statuses.slice(0, bounds.accountFreeShare))).toEqual(new Set([201]));
    mailing.installation.counters.set('invitations', bounds.invitationMailsPerDayMax * 0.8);
    expect((await invite(rival, 'another@example.com')).status).toBe(429);
    expect((await invite(acme, 'another@example.com')).status).toBe(201);
  });
});

test('a disabled person who is enabled by their account is invited again, and joins with the link in the mail', async () => {
  const id = await join(acme, 'ada@example.com');
  await acme.ask('PATCH', `/people/${id}`, { status: 'disabled' });
  expect(mailing.installation.notifications).toContain('end sessions of ada@example.com');
  const enabled = await acme.ask('PATCH', `/people/${id}`, { status: 'enabled' });
  expect([enabled.status, enabled.body['status']]).toEqual([200, 'invited']);
  expect((await accept(await mailed('ada@example.com'))).status).toBe(200);
  expect((await acme.ask('GET', `/people/${id}`)).body['status']).toBe('enabled');
});

test('an operator sees that an email is taken, and can replace an open invitation to the same account', async () => {
  await join(acme, 'ada@example.com');
  const again = { email: 'ada@example.com', role: 'owner', account: rival.account };
  expect((await operate('POST', '/people', again)).status).toBe(409);
  const { id } = (await invite(rival, 'bob@example.com')).body;
  const replaced = await operate('POST', '/people', { ...again, email: 'bob@example.com' });
  expect(replaced.status).toBe(201);
  expect((await operate('GET', `/people/${id}`)).body).toMatchObject({ email: null, status: 'disabled' });
});

test('a person invited to an account who asks for a new password gets a mail about the invitation', async () => {
  await invite(acme, 'ada@example.com');
  await mailing.deliver();
  await mailing.ask('/password-resets', { email: 'ada@example.com' });
  expect((await mailing.deliver())[0]?.headers.get('subject')).toContain('Your invitation');
});
