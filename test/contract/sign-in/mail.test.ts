// The whole service with a mail server: sign-up, password reset, invitations and links of people of a directory, as people do them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readMail, type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { type Directory, openDirectory, patchOf } from '../scim/directory.ts';
import { acceptLink, Browser, PASSWORD, signUp, timeCode } from './browser.ts';

let server: ScriptedSmtp;
let turnpike: Turnpike;

const environment = ({ url }: ScriptedSmtp) => ({
  TURNPIKE_SMTP_URL: url,
  TURNPIKE_MAIL_FROM: 'turnpike@example.com',
  TURNPIKE_PUBLIC_URL: 'https://console.example.com',
});
const settings = { settings: { sign_up: 'on', sign_up_credit: '2.50', sign_up_group: 'sandbox' } };

beforeAll(async () => {
  server = await startScriptedSmtp();
  turnpike = await startTurnpike(settings, environment(server));
}, 60_000);
afterAll(async () => {
  await turnpike?.stop();
  await server?.[Symbol.asyncDispose]();
});

/** A browser on the page of the public URL, from an address of its own. */
let addresses = 0;
const open = (at: Turnpike = turnpike) =>
  new Browser(at.url, { 'x-forwarded-for': `10.9.0.${++addresses}`, origin: 'https://console.example.com' });

/** The next mails, after those that came before `count`. */
async function mailsAfter(count: number, more = 1) {
  return (await server.untilMails(count + more)).slice(count).map(({ raw }) => readMail(raw));
}

const secretIn = (text: string | undefined) => /#(tk-[a-z]+-[0-9A-Za-z]+)/.exec(text ?? '')?.[1] ?? '';

describe('a person', () => {
  test('signs up, confirms their email, signs in and has credit', async () => {
    const browser = open();
    expect((await browser.get('/api/v1/sign-in')).body).toMatchObject({
      sign_up: { domains: [] },
      password_reset: true,
    });
    const before = server.mails.length;
    expect((await browser.post('/api/v1/sign-ups', { email: 'New@example.com', name: 'Ada' })).status).toBe(200);
    const [mail] = await mailsAfter(before);
    const accepted = await browser.post('/api/v1/sign-ups/accept', { token: secretIn(mail?.text), password: PASSWORD });
    expect([accepted.status, accepted.body['role']]).toEqual([200, 'owner']);
    expect((await browser.signIn('new@example.com')).status).toBe(200);
    expect(await browser.me()).toMatchObject({ role: 'owner', email: 'new@example.com' });
    const account = await turnpike.admin('GET', `/accounts/${accepted.body['account']}`);
    expect(account).toMatchObject({ name: 'Ada', balance: '2.50', groups: ['sandbox'] });
    expect((await turnpike.check()).faults).toEqual([]);
  }, 60_000);

  test('who forgot their password gets a new one by mail: sessions end, the second factor stays, and a mail says so', async () => {
    await signUp(turnpike, 'forgetful@example.com');
    const browser = open();
    await browser.signIn('forgetful@example.com');
    const { body } = await browser.auth('/two-factor/enable', { password: PASSWORD });
    const uri = String(body['totpURI']);
    await browser.auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) });
    expect(await browser.me()).not.toBeNull();
    const before = server.mails.length;
    await open().post('/api/v1/password-resets', { email: 'forgetful@example.com' });
    const [mail] = await mailsAfter(before);
    const token = secretIn(mail?.text);
    const changed = await open().post('/api/v1/password-resets/accept', { token, password: 'another long password' });
    expect(changed.status).toBe(200);
    expect(await browser.me()).toBeNull();
    const [told] = await mailsAfter(before + 1);
    expect(told?.headers.get('subject')).toBe('Your password for console.example.com was changed');
    const again = await open().post('/api/v1/password-resets/accept', { token, password: 'and one more password' });
    expect(again.status).toBe(404);
    expect((await open().signIn('forgetful@example.com')).status).toBe(401);
    const next = open();
    const first = await next.signIn('forgetful@example.com', 'another long password');
    expect([first.status, first.body['twoFactorRedirect']]).toEqual([200, true]);
    expect(await next.me()).toBeNull();
  }, 60_000);

  test('who changes their password in the console gets a mail', async () => {
    await signUp(turnpike, 'changer@example.com');
    const browser = open();
    await browser.signIn('changer@example.com');
    const before = server.mails.length;
    const change = { currentPassword: PASSWORD, newPassword: 'yet another password' };
    expect((await browser.auth('/change-password', change)).status).toBe(200);
    const [mail] = await mailsAfter(before);
    expect(mail?.headers.get('to')).toBe('changer@example.com');
    expect(mail?.headers.get('subject')).toContain('was changed');
  }, 60_000);

  test('is invited by mail, with the link that the inviting person sees', async () => {
    const before = server.mails.length;
    const made = await turnpike.admin('POST', '/people', { email: 'invited@example.com', role: 'viewer' });
    const [mail] = await mailsAfter(before);
    expect(secretIn(mail?.html)).toBe(String(made['link_secret']));
  }, 60_000);
});

describe('a person whom SCIM manages', () => {
  let directory: Directory;
  beforeAll(async () => {
    directory = await openDirectory({ ...turnpike });
  });

  async function enters(name: string, password: string): Promise<Browser | null> {
    const browser = open();
    return (await browser.signIn(directory.addressOf(name), password)).status === 200 ? browser : null;
  }

  async function linkAfter(count: number, name: string): Promise<string> {
    const [mail] = await mailsAfter(count);
    expect(mail?.headers.get('to')).toBe(directory.addressOf(name));
    return secretIn(mail?.text);
  }

  /** A user in a mapped group who has set a password with the link of their mail. */
  async function employ(name: string) {
    const count = server.mails.length;
    await directory.map(name);
    const group = await directory.addGroup(name, [await directory.addUser(name)]);
    await acceptLink(turnpike, await linkAfter(count, name));
    await mailsAfter(count + 1); // that the password was changed
    expect(await (await enters(name, PASSWORD))?.me()).toMatchObject({ role: 'member' });
    return { group, person: String((await directory.person(name))?.['id']) };
  }

  test('gets links by mail only: the owner of their account does not see them', async () => {
    const { person } = await employ('coveted');
    const owner = await signUp(turnpike, directory.addressOf('owner'), 'owner', directory.account);
    const browser = open();
    expect((await browser.signIn(owner.email)).status).toBe(200);
    const before = server.mails.length;
    for (const _ of ['first', 'repeated']) {
      const made = await browser.post(`/api/v1/people/${person}/link`, {}, { 'idempotency-key': 'again' });
      expect([made.status, made.body['link_secret']]).toEqual([201, null]);
    }
    expect(await linkAfter(before, 'coveted')).toStartWith('tk-inv-');
  }, 60_000);

  test.each(['another account', 'the installation'])(
    'loses the password with a move to %s, and gets a link for another',
    async (to) => {
      const name = `moving-to-${to.replace(' ', '-')}`;
      const { group, person } = await employ(name);
      const browser = await enters(name, PASSWORD);
      const { id: account } = await turnpike.admin('POST', '/accounts', { name: 'elsewhere' });
      const place = to === 'another account' ? { role: 'member', account } : { role: 'operator' };
      const displayName = `${directory.mark} of ${name}`;
      await turnpike.admin('POST', '/directory-groups', { name: displayName, source: 'scim', ...place });
      const before = server.mails.length;
      const renamed = patchOf({ op: 'replace', path: 'displayName', value: displayName });
      expect((await directory.ask('PATCH', `/Groups/${group}`, renamed)).status).toBe(204);
      expect(await turnpike.admin('GET', `/people/${person}`)).toMatchObject({ account: null, ...place });
      expect([await browser?.me(), await enters(name, PASSWORD)]).toEqual([null, null]);
      await acceptLink(turnpike, await linkAfter(before, name), 'a password of another place');
      expect(await (await enters(name, 'a password of another place'))?.me()).toMatchObject({ id: person });
    },
    60_000,
  );
});

test('an answer does not wait for a mail server that does not respond, and its mail is sent by the next start', async () => {
  await using silent = await startScriptedSmtp();
  silent.script = () => 'silent';
  await using other = await startTurnpike(settings, environment(silent));
  const began = performance.now();
  const asked = await open(other).post('/api/v1/sign-ups', { email: 'patient@example.com', name: 'Ada' });
  expect(asked.status).toBe(200);
  while (silent.connections() === 0) await Bun.sleep(10);
  const invited = await other.admin('POST', '/people', { email: 'second@example.com', role: 'viewer' });
  expect(String(invited['link_secret'])).toStartWith('tk-inv-');
  expect(performance.now() - began).toBeLessThan(60_000);
  expect(silent.mails).toEqual([]);
}, 90_000);
