// A new password by mail: the same answer for every email, one use of each link, and a mail that tells the person.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import type { Json } from './installation.ts';
import { type Mailing, secretIn, startMailing } from './mailing.ts';

const password = 'a new password';
let mailing: Mailing;
beforeEach(async () => {
  mailing = await startMailing();
});
afterEach(async () => {
  await mailing[Symbol.asyncDispose]();
});

const reset = (email: string) => mailing.ask('/password-resets', { email });
const accept = (token: string, words = password) => mailing.ask('/password-resets/accept', { token, password: words });

/** A person who can sign in. */
async function enable(email: string): Promise<string> {
  const { body } = await mailing.installation.ask('POST', '/api/v1/people', { role: 'viewer', email });
  const secret = body['link_secret'];
  await mailing.ask('/invitations/accept', { secret, name: 'Ada', password: 'the first password' });
  await mailing.deliver();
  return String(body['id']);
}

describe('a password reset', () => {
  test('sets the password once, ends sessions, keeps the second factor, and tells the person', async () => {
    const id = await enable('ada@example.com');
    const { signIn, clock } = mailing.installation;
    const calls: object[] = [];
    const { setPassword } = signIn;
    signIn.setPassword = (person) => {
      calls.push(person);
      return setPassword(person);
    };
    await reset('Ada@example.com');
    const [mail] = await mailing.deliver();
    expect(mail?.headers.get('subject')).toBe('Choose a new password for console.example.com');
    const { status, body } = await accept(secretIn(mail));
    expect([status, body]).toEqual([200, { email: 'ada@example.com', role: 'viewer' }]);
    expect(calls).toEqual([{ email: 'ada@example.com', name: 'Ada', password, keepsSecondFactor: true }]);
    const [told] = await mailing.deliver();
    expect(told?.headers.get('subject')).toBe('Your password for console.example.com was changed');
    expect(told?.text).toContain('192.0.2.7');
    expect((await accept(secretIn(mail), 'yet another one')).status).toBe(404);
    expect(mailing.installation.passwords.get('ada@example.com')?.password).toBe(password);
    const [record] = (await mailing.installation.ask('GET', `/api/v1/audit?object=${id}`)).body['data'] as Json[];
    expect(record).toMatchObject({ action: 'person.password_reset', actor: id, after: { by: 'mail' } });
    const events = (await mailing.installation.ask('GET', '/api/v1/events?type=password.reset')).body['data'];
    expect(events).toMatchObject([{ data: { person: id, email: 'ada@example.com' } }]);
    expect(clock.nowMs()).toBeGreaterThan(0);
  });

  test('has the same answer and does the same work for every email', async () => {
    await enable('ada@example.com');
    const { tables } = mailing.installation.stores;
    const before = Bun.inspect([tables.people, tables.mailedLinks, tables.audit], { depth: 5 });
    for (const email of ['ada@example.com', 'nobody@example.com']) {
      const { status, body } = await reset(email);
      expect([status, body]).toEqual([200, { email }]);
      expect(Bun.inspect([tables.people, tables.mailedLinks, tables.audit], { depth: 5 })).toBe(before);
    }
    expect(tables.mails.size).toBe(2);
    expect((await mailing.deliver()).map(({ to }) => to)).toEqual(['ada@example.com']);
    expect(tables.mails.size).toBe(0);
  });

  test('is accepted once by two concurrent requests', async () => {
    await enable('ada@example.com');
    await reset('ada@example.com');
    const token = secretIn((await mailing.deliver())[0]);
    const answers = await Promise.all(['the first one', 'the second one'].map((words) => accept(token, words)));
    expect(answers.map(({ status }) => status)).toEqual([200, 404]);
    expect(mailing.installation.passwords.get('ada@example.com')?.password).toBe('the first one');
  });

  test('can be accepted again if the password could not be stored', async () => {
    await enable('ada@example.com');
    await reset('ada@example.com');
    const token = secretIn((await mailing.deliver())[0]);
    const { signIn } = mailing.installation;
    const { setPassword } = signIn;
    signIn.setPassword = async () => {
      throw new TurnpikeError('store_unavailable', 'The store is gone.');
    };
    expect((await accept(token)).status).toBe(503);
    expect(await mailing.deliver()).toEqual([]);
    signIn.setPassword = setPassword;
    expect((await accept(token)).status).toBe(200);
  });

  test('expires after an hour, and does not work for a person who was disabled', async () => {
    const id = await enable('ada@example.com');
    await reset('ada@example.com');
    const token = secretIn((await mailing.deliver())[0]);
    mailing.installation.clock.advance(bounds.passwordResetLinkMs);
    expect((await accept(token)).status).toBe(404);
    await reset('ada@example.com');
    const later = secretIn((await mailing.deliver())[0]);
    await mailing.installation.ask('PATCH', `/api/v1/people/${id}`, { status: 'disabled' });
    expect((await accept(later)).status).toBe(404);
    await reset('ada@example.com');
    expect(await mailing.deliver()).toEqual([]);
  });

  test('of a person who signs in with single sign-on says so and has no link', async () => {
    await using single = await startMailing({}, 'Acme ID');
    const { body } = await single.installation.ask('POST', '/api/v1/people', {
      role: 'viewer',
      email: 'ada@example.com',
    });
    await single.installation.ask('PATCH', `/api/v1/people/${body['id']}`, { status: 'enabled' });
    await single.deliver();
    await single.ask('/password-resets', { email: 'ada@example.com' });
    const [mail] = await single.deliver();
    expect(mail?.text).toContain('You sign in there with Acme ID and have no password');
    expect(secretIn(mail)).toBe('');
  });

  test('of an invited person refers to the invitation', async () => {
    await mailing.installation.ask('POST', '/api/v1/people', { role: 'viewer', email: 'ada@example.com' });
    await mailing.deliver();
    await reset('ada@example.com');
    const [mail] = await mailing.deliver();
    expect([mail?.headers.get('subject'), secretIn(mail)]).toEqual(['Your invitation to console.example.com', '']);
  });

  test('is limited for one address, and for one mailbox with the same answer', async () => {
    await enable('ada@example.com');
    const statuses: number[] = [];
    for (let at = 0; at <= bounds.passwordResetsPerAddressMax; at++)
      statuses.push((await reset('ada@example.com')).status);
    expect(statuses).toEqual([...Array(bounds.passwordResetsPerAddressMax).fill(200), 429]);
    expect(await mailing.deliver()).toHaveLength(bounds.mailsPerMailboxMax);
  });
});

describe('an invitation', () => {
  test('is mailed with the link that the inviting person sees, which the store has only sealed', async () => {
    const account = (await mailing.installation.ask('POST', '/api/v1/accounts', { name: 'Acme' })).body['id'];
    const invited = { role: 'owner', account, email: 'ada@example.com' };
    const { body } = await mailing.installation.ask('POST', '/api/v1/people', invited);
    const secret = String(body['link_secret']);
    expect(Bun.inspect(mailing.installation.stores.tables, { depth: 9 })).not.toContain(secret);
    const [mail] = await mailing.deliver();
    expect(mail?.headers.get('subject')).toBe('You are invited to Acme at console.example.com');
    expect(secretIn(mail)).toBe(secret);
    expect(mail?.text).toContain(`https://console.example.com/console/invitation#${secret}`);
    const link = await mailing.installation.ask('POST', `/api/v1/people/${body['id']}/link`);
    expect(secretIn((await mailing.deliver())[0])).toBe(String(link.body['link_secret']));
  });

  test('of a person who has access is a link for a new password, and its use causes a mail', async () => {
    const id = await enable('ada@example.com');
    const link = await mailing.installation.ask('POST', `/api/v1/people/${id}/link`);
    const [mail] = await mailing.deliver();
    expect(mail?.headers.get('subject')).toBe('Set a new password for console.example.com');
    await mailing.ask('/invitations/accept', { secret: link.body['link_secret'], name: 'Ada', password });
    expect((await mailing.deliver())[0]?.headers.get('subject')).toContain('was changed');
  });

  test('by the people of an account has its link only in the mail, and a limited number are made in a day', async () => {
    const account = (await mailing.installation.ask('POST', '/api/v1/accounts', { name: 'Acme' })).body['id'];
    const token = await mailing.installation.ask('POST', '/api/v1/tokens', { role: 'owner', account });
    const headers = { authorization: `Bearer ${token.body['token']}` };
    for (let at = 0; at < bounds.invitationMailsPerAccountMax; at++) {
      const body = { role: 'member', email: `p${at}@example.com` };
      const made = await mailing.installation.ask('POST', '/api/v1/people', body, headers);
      expect([made.status, made.body['link_secret']]).toEqual([201, null]);
    }
    const body = { role: 'member', email: 'one-more@example.com' };
    expect((await mailing.installation.ask('POST', '/api/v1/people', body, headers)).status).toBe(429);
    const mails = await mailing.deliver();
    expect(mails).toHaveLength(bounds.invitationMailsPerAccountMax);
    const accepted = { secret: secretIn(mails[0]), name: 'P', password };
    expect((await mailing.ask('/invitations/accept', accepted)).body).toMatchObject({ email: mails[0]?.to });
  });
});

describe('the queue', () => {
  test('loses nothing while the server is unavailable, and waits longer after each attempt', async () => {
    mailing.server.script = (command) => (command === 'CONNECT' ? '421 later' : null);
    const { body } = await mailing.installation.ask('POST', '/api/v1/people', {
      role: 'viewer',
      email: 'ada@example.com',
    });
    const pauses: number[] = [];
    const { clock } = mailing.installation;
    let lastMs = clock.nowMs();
    for (let at = 0; at < 200; at++) {
      const tries = mailing.attempts.length;
      await mailing.queue.wake();
      if (mailing.attempts.length > tries) {
        pauses.push(clock.nowMs() - lastMs);
        lastMs = clock.nowMs();
      }
      clock.advance(60_000);
    }
    expect(pauses.slice(0, 5)).toEqual([0, 120_000, 240_000, 480_000, 960_000]);
    expect(mailing.attempts.every(({ event }) => event === 'mail_failed')).toBe(true);
    mailing.server.script = () => null;
    clock.advance(bounds.mailPauseMsMax);
    expect(secretIn((await mailing.deliver())[0])).toBe(String(body['link_secret']));
    expect(mailing.attempts.at(-1)?.event).toBe('mail_sent');
    expect(await mailing.deliver()).toEqual([]);
  });

  test('gives up a mail after three days, and one that the server refuses for good after a few attempts', async () => {
    const { clock } = mailing.installation;
    mailing.server.script = (command) => (command === 'RCPT' ? '550 no such user' : null);
    await mailing.installation.ask('POST', '/api/v1/people', { role: 'viewer', email: 'ada@example.com' });
    for (let at = 0; at < 5; at++) {
      await mailing.queue.wake();
      clock.advance(bounds.mailPauseMsMax);
    }
    const events = mailing.attempts.map(({ event }) => event);
    expect(events).toEqual(['mail_failed', 'mail_failed', 'mail_given_up']);
    mailing.server.script = () => null;
    await enable('eve@example.com');
    mailing.server.script = (command) => (command === 'CONNECT' ? '421 later' : null);
    await reset('eve@example.com');
    await mailing.queue.wake();
    clock.advance(bounds.mailTriedMsMax + 1);
    await mailing.queue.wake();
    expect(mailing.attempts.at(-1)).toMatchObject({ event: 'mail_given_up', kind: 'password-reset' });
    expect(mailing.installation.stores.tables.mails.size).toBe(0);
  });

  test('drops an invitation that expired before it could be sent', async () => {
    mailing.server.script = (command) => (command === 'CONNECT' ? '421 later' : null);
    await mailing.installation.ask('POST', '/api/v1/people', { role: 'viewer', email: 'ada@example.com' });
    await mailing.queue.wake();
    mailing.server.script = () => null;
    mailing.installation.clock.advance(bounds.linkMs);
    expect(await mailing.deliver()).toEqual([]);
  });

  test('sends each mail once although two nodes look for it at the same time', async () => {
    for (let at = 0; at < 12; at++)
      await mailing.installation.ask('POST', '/api/v1/people', { role: 'viewer', email: `p${at}@example.com` });
    await using other = await startMailing();
    const { stores } = mailing.installation;
    const due = await stores.mails.listDueMails(mailing.installation.clock.nowMs(), 100);
    expect(due).toHaveLength(12);
    const takes = await Promise.allSettled(
      [...due, ...due].map((mail) => stores.mails.takeMail(mail, mailing.installation.clock.nowMs())),
    );
    expect(takes.filter(({ status }) => status === 'fulfilled')).toHaveLength(12);
    expect(other.failures).toEqual([]);
  });
});
