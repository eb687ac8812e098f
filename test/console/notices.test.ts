// Mails and notifications in a real browser: sign-up, a forgotten password, a webhook with its deliveries, unsubscribing.
// One service with a scripted SMTP server.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { Browser as Session } from '../contract/sign-in/browser.ts';
import { freePort } from '../support/free-port.ts';
import { readMail, type ScriptedSmtp, startScriptedSmtp } from '../support/scripted-smtp.ts';
import { type Receiver, startReceiver } from '../support/start-receiver.ts';
import { spawnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { findFaultsOfLooks } from './find-faults.ts';
import { type Visitor, visit } from './open-console.ts';
import { actionsOn } from './page-actions.ts';
import { walkerFor } from './walk-pages.ts';

setDefaultTimeout(240_000);

const EMAIL = 'ada@example.com';
const PASSWORD = 'a bridge of seven arches';
const NEW_PASSWORD = 'a road of seven tolls';

let smtp: ScriptedSmtp;
let receiver: Receiver;
let turnpike: Turnpike;
beforeAll(async () => {
  if (chromium === null) return;
  smtp = await startScriptedSmtp();
  receiver = startReceiver();
  const listen = `127.0.0.1:${freePort()}`;
  const mail = {
    TURNPIKE_SMTP_URL: smtp.url,
    TURNPIKE_MAIL_FROM: 'turnpike@example.com',
    TURNPIKE_PUBLIC_URL: `http://${listen}`,
  };
  turnpike = await spawnTurnpike(undefined, mail, ['--listen', listen]);
  const settings = { sign_up: 'on', sign_up_credit: '1.00', webhook_private_network: 'everyone' };
  await turnpike.admin('POST', '/apply', { document: { settings } });
});
afterAll(async () => {
  await turnpike?.stop();
  receiver?.[Symbol.dispose]();
  await smtp?.[Symbol.asyncDispose]();
});

/** Waits for a mail whose subject has this text, and returns its link to a page of the console. */
async function linkInMail(subject: string, page: string): Promise<string> {
  for (const endMs = Date.now() + 60_000; Date.now() < endMs; await Bun.sleep(50)) {
    const found = smtp.mails
      .map(({ raw }) => readMail(raw))
      .find(({ headers }) => headers.get('subject')?.includes(subject));
    const link = found && new RegExp(`${turnpike.url}/console/${page}#\\S+`).exec(found.text)?.[0];
    if (link) return link;
  }
  throw new Error(`no mail about "${subject}" arrived`);
}

/** The serious faults of the page as it is, wide, dark and narrow. */
async function expectAccessible({ page, problems }: Visitor): Promise<void> {
  const walker = walkerFor(page, turnpike.url);
  await walker.settle();
  expect(await findFaultsOfLooks(page, walker)).toEqual([]);
  expect(problems).toEqual([]);
}

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

test.skipIf(chromium === null)(
  'a stranger signs up with a mail, and is signed in with the password that they choose',
  async () => {
    await using visitor = await visit({ url: turnpike.url });
    const { page } = visitor;
    const { press, fill } = actionsOn(page);
    await visitor.goTo('/');
    await press('link', 'Sign up');
    await heading(page, 'Sign up');
    await expectAccessible(visitor);
    await fill('Email', EMAIL);
    await fill('Your name', 'Ada Lovelace');
    await fill('Account name', 'Analytical Engines');
    await press('button', 'Sign up');
    await heading(page, 'Check your email');
    await expectAccessible(visitor);

    // In the same tab, where only the fragment of the address changes.
    await page.goto(await linkInMail('Confirm your email address', 'sign-up'));
    await heading(page, 'Choose a password');
    await expectAccessible(visitor);
    expect(page.url()).not.toContain('#');
    await fill('Password', 'too short');
    await press('button', 'Create account and sign in');
    await page.getByText('must have at least 10 characters').waitFor();
    await fill('Password', PASSWORD);
    await press('button', 'Create account and sign in');
    await page.getByRole('button', { name: 'User menu' }).getByText('Owner · Analytical Engines').waitFor();

    await using again = await visit({ url: turnpike.url });
    await again.page.goto(await linkInMail('Confirm your email address', 'sign-up'));
    await actionsOn(again.page).fill('Password', PASSWORD);
    await actionsOn(again.page).press('button', 'Create account and sign in');
    await heading(again.page, 'This link is no longer valid');
  },
);

test.skipIf(chromium === null)(
  'a person who forgot their password sets another with a mail, which ends their sessions',
  async () => {
    const former = new Session(turnpike.url);
    expect((await former.signIn(EMAIL, PASSWORD)).status).toBe(200);
    await using visitor = await visit({ url: turnpike.url });
    const { page } = visitor;
    const { press, fill } = actionsOn(page);
    await visitor.goTo('/usage');
    await press('link', 'Forgot your password?');
    await heading(page, 'Forgot your password?');
    await expectAccessible(visitor);
    await fill('Email', EMAIL);
    await press('button', 'Send link');
    await heading(page, 'Check your email');

    await page.goto(await linkInMail('Choose a new password', 'password-reset'));
    await heading(page, 'Choose a new password');
    await expectAccessible(visitor);
    await fill('Password', NEW_PASSWORD);
    await press('button', 'Set password and sign in');
    await page.getByRole('button', { name: 'User menu' }).getByText('Ada Lovelace').waitFor();
    expect(await former.me()).toBeNull();
  },
);

async function signIn(visitor: Visitor): Promise<void> {
  const { page } = visitor;
  await page.getByLabel('Email').fill(EMAIL);
  await page.getByRole('textbox', { name: 'Password' }).fill(NEW_PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

test.skipIf(chromium === null)(
  'an owner creates a webhook, tests it, sees why an attempt failed, and sends the event again',
  async () => {
    await using visitor = await visit({ url: turnpike.url });
    const { page } = visitor;
    const { press, fill, see } = actionsOn(page);
    await visitor.goTo('/destinations');
    await signIn(visitor);
    await see('Notifications');
    await press('link', 'Create destination');
    await see('Create destination');
    await page.getByRole('radio', { name: 'Selected' }).check();
    await page.getByRole('checkbox', { name: 'API keys: all' }).check();
    await page.getByRole('checkbox', { name: /^Balance low/ }).check();
    await expectAccessible(visitor);
    await fill('URL', 'not an address');
    await press('button', 'Create destination');
    await page.getByText('must be printable ASCII without spaces').waitFor();
    receiver.status = 500;
    await fill('URL', receiver.url);
    await fill('Name', 'my server');
    await press('button', 'Create destination');
    await see('Destination created');
    expect(await page.getByTestId('secret').textContent()).toStartWith('whsec_');
    await expectAccessible(visitor);

    await press('button', 'Copy');
    await press('link', 'View destination');
    await see('my server');
    await page.getByText('key.*', { exact: true }).waitFor();
    await press('button', 'Send test');
    const deliveries = page.getByRole('table', { name: 'Deliveries' });
    await deliveries.getByRole('link', { name: 'Test' }).waitFor();
    await page.getByText('All attempts have failed since').waitFor();
    await expectAccessible(visitor);
    await deliveries.getByRole('link', { name: 'Test' }).click();
    await page.getByText('answered 500').first().waitFor();
    await expectAccessible(visitor);
    receiver.status = 200;
    await press('button', 'Resend');
    await page.getByText('Delivered (200)').waitFor();
    const [first, last] = [receiver.received[0], receiver.received.at(-1)];
    expect(last?.id).toBe(first?.id ?? '');
    expect(receiver.received.length).toBeGreaterThan(1);

    await visitor.goTo('/deliveries?status=delivered');
    await page.getByRole('table', { name: 'Deliveries' }).getByRole('link', { name: 'my server' }).waitFor();
    await visitor.goTo('/events');
    await page.getByText('This is a test of the destination').waitFor();
    for (const [path, none] of [
      ['/events', 'No events in this time range'],
      ['/deliveries', 'No deliveries in this time range'],
    ]) {
      await visitor.goTo(`${path}?range=2025-01-01..2025-01-02`);
      await page.getByText(`${none}`).waitFor();
    }
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('a recipient unsubscribes with the link of a mail, and subscribes again', async () => {
  const { id } = await turnpike.admin('POST', '/destinations', {
    kind: 'mail',
    address: 'ops@example.com',
    types: ['*'],
  });
  await turnpike.admin('POST', `/destinations/${id}/test`, {});
  const link = await linkInMail('Test', 'unsubscribe');
  const since = async () => (await turnpike.admin('GET', `/destinations/${id}`))['unsubscribed_at'];
  await using visitor = await visit({ url: turnpike.url });
  const { page } = visitor;
  const { press } = actionsOn(page);
  await page.goto(link);
  await heading(page, 'Unsubscribe from these emails?');
  await expectAccessible(visitor);
  expect(await since()).toBeNull(); // opening the link alone changes nothing
  await press('button', 'Unsubscribe');
  await heading(page, 'Unsubscribed');
  await page.getByText('ops@example.com no longer receives these emails.').waitFor();
  expect(await since()).toBeString();
  await press('button', 'Resubscribe');
  await heading(page, 'Resubscribed');
  expect(await since()).toBeNull();

  await using wrong = await visit({ url: turnpike.url });
  await wrong.goTo('/unsubscribe#v1.invented');
  await actionsOn(wrong.page).press('button', 'Unsubscribe');
  await heading(wrong.page, 'This link is not valid');
});
