// Links for passwords of people whom SCIM manages: only the mailbox gets them, and a password ends when the directory moves the person.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readMail, type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { acceptLink, Browser, PASSWORD, signUp } from '../sign-in/browser.ts';
import { type Directory, openDirectory, patchOf } from './directory.ts';

const PUBLIC = 'https://console.example.com';
let server: ScriptedSmtp;
let turnpike: Turnpike;
let directory: Directory;
let addresses = 0;

beforeAll(async () => {
  server = await startScriptedSmtp();
  const mail = { TURNPIKE_SMTP_URL: server.url, TURNPIKE_MAIL_FROM: 'turnpike@example.com' };
  turnpike = await startTurnpike(undefined, { ...mail, TURNPIKE_PUBLIC_URL: PUBLIC });
  directory = await openDirectory({ ...turnpike });
});
afterAll(async () => {
  await turnpike.stop();
  await server[Symbol.asyncDispose]();
});

const open = () => new Browser(turnpike.url, { 'x-forwarded-for': `10.14.0.${++addresses}`, origin: PUBLIC });

async function enters(name: string, password: string): Promise<Browser | null> {
  const browser = open();
  return (await browser.signIn(directory.addressOf(name), password)).status === 200 ? browser : null;
}

/** The link in the mail after so many. */
async function linkAfter(count: number, name: string): Promise<string> {
  const [mail] = (await server.untilMails(count + 1)).slice(count).map(({ raw }) => readMail(raw));
  expect(mail?.headers.get('to')).toBe(directory.addressOf(name));
  return /#(tk-inv-[0-9A-Za-z]+)/.exec(mail?.text ?? '')?.[1] ?? '';
}

/** A user in a mapped group who has set a password with the link of their mail. */
async function employ(name: string, password: string) {
  const count = server.mails.length;
  await directory.map(name);
  const user = await directory.addUser(name);
  const group = await directory.addGroup(name, [user]);
  await acceptLink(turnpike, await linkAfter(count, name), password);
  await server.untilMails(count + 2); // the second says that the password was changed
  return { group, person: String((await directory.person(name))?.['id']) };
}

test('a new user sets a password with the mailed link', async () => {
  await employ('joining', PASSWORD);
  expect(await (await enters('joining', PASSWORD))?.me()).toMatchObject({ role: 'member' });
});

test('the owner of their account does not see their link', async () => {
  const { person } = await employ('coveted', PASSWORD);
  const owner = await signUp(turnpike, directory.addressOf('owner'), 'owner', directory.account);
  const browser = open();
  expect((await browser.signIn(owner.email)).status).toBe(200);
  const count = server.mails.length;
  const made = await browser.post(`/api/v1/people/${person}/link`, {}, { 'idempotency-key': 'again' });
  expect([made.status, made.body['link_secret']]).toEqual([201, null]);
  const again = await browser.post(`/api/v1/people/${person}/link`, {}, { 'idempotency-key': 'again' });
  expect([again.status, again.body['link_secret']]).toEqual([201, null]);
  expect(await linkAfter(count, 'coveted')).toStartWith('tk-inv-');
});

test.each(['another account', 'the installation'])(
  'a password ends with a move to %s, and a mail has a link',
  async (to) => {
    const name = `moving-to-${to.replace(' ', '-')}`;
    const { group, person } = await employ(name, PASSWORD);
    const browser = await enters(name, PASSWORD);
    expect(await browser?.me()).toMatchObject({ account: { id: directory.account } });
    const { id: account } = await turnpike.admin('POST', '/accounts', { name: 'elsewhere' });
    const place = to === 'another account' ? { role: 'member', account } : { role: 'operator' };
    await turnpike.admin('POST', '/directory-groups', {
      name: `${directory.mark} of ${name}`,
      source: 'scim',
      ...place,
    });
    const count = server.mails.length;
    const displayName = `${directory.mark} of ${name}`;
    await directory.ask(
      'PATCH',
      `/Groups/${group}`,
      patchOf({ op: 'replace', path: 'displayName', value: displayName }),
    );
    expect(await turnpike.admin('GET', `/people/${person}`)).toMatchObject({
      account: to === 'another account' ? account : null,
    });
    expect([await browser?.me(), await enters(name, PASSWORD)]).toEqual([null, null]);
    await acceptLink(turnpike, await linkAfter(count, name), 'a password of another place');
    expect(await (await enters(name, 'a password of another place'))?.me()).toMatchObject({ id: person });
  },
);
