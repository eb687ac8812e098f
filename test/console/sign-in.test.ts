// From the first operator's link to a session that is ended: sign-in in a real browser, against the real service.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { chromium } from '../clients/open-browser.ts';
import { timeCode } from '../sign-in/browser.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { startChromium, visit } from './open-console.ts';

setDefaultTimeout(120_000);

const EMAIL = 'ada@example.com';
const PASSWORD = 'a bridge of seven arches';

let turnpike: Turnpike;
let browser: Browser;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startTurnpike();
  browser = await startChromium();
});
afterAll(async () => {
  await browser?.close();
  await turnpike?.stop();
});

/** The secret's own part of the link that the first start made. */
function firstLink(): string {
  const link = readFileSync(join(turnpike.dataDirectory, 'first-operator.txt'), 'utf8').trim();
  return link.slice(link.indexOf('/invitation#'));
}

async function enterPassword(page: Page, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail').fill(EMAIL);
  await page.getByRole('textbox', { name: 'Password' }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor();
}

/** What is given to the app, and the backup codes. */
async function setUpSecondFactor(page: Page): Promise<{ uri: string; codes: string[] }> {
  await page.getByRole('button', { name: 'Set up' }).click();
  const dialogue = page.getByRole('dialog');
  await dialogue.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD);
  await dialogue.getByRole('button', { name: 'Continue' }).click();
  const secret = (await dialogue.getByTestId('totp-secret').textContent()) ?? '';
  await dialogue.getByRole('img', { name: 'A QR code' }).waitFor();
  const uri = `otpauth://totp/Turnpike?secret=${secret}`;
  await dialogue.getByLabel('The six digits').fill('000000');
  await dialogue.getByRole('button', { name: 'Turn on' }).click();
  await dialogue.getByRole('alert').waitFor();
  await dialogue.getByLabel('The six digits').fill(timeCode(uri, Date.now()));
  await dialogue.getByRole('button', { name: 'Turn on' }).click();
  const list = dialogue.getByRole('list', { name: 'Backup codes' });
  await list.waitFor();
  const codes = await list.getByRole('listitem').allTextContents();
  await dialogue.getByRole('button', { name: 'I have kept them' }).click();
  return { uri, codes };
}

test.skipIf(chromium === null)(
  'the first operator’s link leads to a session, a second factor, and back in by a code; a session that is ended is out',
  async () => {
    await using first = await visit(browser, { url: turnpike.url });
    const { page } = first;
    await first.goTo(firstLink());
    await heading(page, 'Become the first operator');
    expect(page.url()).not.toContain('#');
    await page.getByLabel('E-mail').fill(EMAIL);
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.getByRole('textbox', { name: 'Password' }).fill('too short');
    await page.getByRole('button', { name: 'Accept and sign in' }).click();
    await page.getByText('must have at least 10 characters').waitFor();
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Accept and sign in' }).click();
    await page.getByRole('button', { name: 'Your menu' }).getByText('Ada Lovelace').waitFor();

    await first.goTo('/profile');
    const { uri, codes } = await setUpSecondFactor(page);
    expect(codes).toHaveLength(10);
    await page.getByText('On', { exact: true }).waitFor();

    // Whoever is not signed out is told so.
    const signOut = async () => {
      await page.getByRole('button', { name: 'Your menu' }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
    };
    await page.route('**/console/auth/sign-out', (route) => route.abort());
    await signOut();
    await page.getByRole('alert').waitFor();
    await page.unroute('**/console/auth/sign-out');
    await signOut();
    await heading(page, 'Sign in');

    // Whoever asks for a page is shown it once they are in.
    await first.goTo('/audit');
    await enterPassword(page, 'not the password');
    await page.getByText('The e-mail or the password is wrong.').waitFor();
    await enterPassword(page);
    await heading(page, 'Second factor');
    await page.getByLabel('Code').fill('000000');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('The code is wrong').waitFor();
    await page.getByLabel('Code').fill(timeCode(uri, Date.now()));
    await page.getByRole('button', { name: 'Continue' }).click();
    await heading(page, 'Audit');
    await page.getByText('accepted an invitation').waitFor();

    await using second = await visit(browser, { url: turnpike.url });
    await second.goTo('/profile');
    await enterPassword(second.page);
    await second.page.getByRole('button', { name: 'Use a backup code instead' }).click();
    await second.page.getByLabel('Backup code').fill(codes[0] ?? '');
    await second.page.getByRole('button', { name: 'Continue' }).click();
    await heading(second.page, 'Your sign-in');

    await first.goTo('/profile');
    const sessions = page.getByRole('table', { name: 'Sessions' }).getByRole('row');
    await sessions.nth(2).waitFor();
    expect(await sessions.count()).toBe(3);
    expect(await sessions.nth(1).textContent()).toContain('this one');
    await sessions.nth(2).getByRole('button', { name: 'End' }).click();
    await page.getByText('The session has ended.').waitFor();
    // Whoever is out is asked to sign in by the next thing that they do, and comes back to it.
    await second.page.getByRole('link', { name: 'Tokens', exact: true }).click();
    await heading(second.page, 'Sign in');
    expect(second.page.url()).toEndWith('/console/tokens');
    expect([...first.problems, ...second.problems]).toEqual([]);
  },
);

test.skipIf(chromium === null)('a link that was used says so, and leads to the sign-in', async () => {
  const made = await turnpike.admin('POST', '/people', { email: 'grace@example.com', role: 'viewer' });
  const link = `/invitation#${made['link_secret']}`;
  for (const title of ['You are invited', 'This link does not open anything']) {
    await using visitor = await visit(browser, { url: turnpike.url });
    const { page } = visitor;
    await visitor.goTo(link);
    await heading(page, title);
    if (title !== 'You are invited') {
      await page.getByRole('link', { name: 'To the sign-in' }).click();
      await heading(page, 'Sign in');
      continue;
    }
    expect(await page.getByLabel('E-mail').inputValue()).toBe('grace@example.com');
    await page.getByLabel('Your name').fill('Grace Hopper');
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Accept and sign in' }).click();
    await page.getByRole('button', { name: 'Your menu' }).getByText('Grace Hopper').waitFor();
  }
});

test.skipIf(chromium === null)(
  'what single sign-on refuses is said in words, and whoever knows their password still comes in',
  async () => {
    await using visitor = await visit(browser, { url: turnpike.url });
    await visitor.goTo('/sign-in?error=person_unknown');
    await visitor.page.getByText('Nobody has invited this e-mail address here.').waitFor();
    await visitor.page.getByLabel('E-mail').fill('grace@example.com');
    await visitor.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await visitor.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await visitor.page.getByRole('button', { name: 'Your menu' }).getByText('Grace Hopper').waitFor();
    expect(visitor.page.url()).not.toContain('sign-in');
  },
);
