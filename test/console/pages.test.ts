// The console while sessions end and roles differ: it asks who is there, forgets what was another's, and shows no button
// that would be refused.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { chromium } from '../clients/open-browser.ts';
import { PASSWORD } from '../sign-in/browser.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { type Inhabited, inhabit, pagesOf, visitAs, walkerOf } from './every-page.ts';
import { startChromium } from './open-console.ts';

setDefaultTimeout(180_000);

let turnpike: Turnpike;
let browser: Browser;
let inhabited: Inhabited;
beforeAll(async () => {
  if (chromium === null) return;
  [turnpike, browser] = await Promise.all([startTurnpike(), startChromium()]);
  inhabited = await inhabit(turnpike, true);
});
afterAll(async () => {
  await browser?.close();
  await turnpike?.stop();
});

/** What begins the names of buttons and links that change something, other than one's own sign-in. */
const CHANGES =
  /^(Add (?!a picture)|Make|Invite|Change|Edit|Revoke|Disable|Enable|Remove|Refund|New |Back to the default|Rotate|Credit|Test|End this key)/;

test.skipIf(chromium === null)('a viewer is shown nothing to press that would change something', async () => {
  await using visitor = await visitAs(browser, turnpike, inhabited.people.viewer);
  const { page } = visitor;
  const { walkTo } = walkerOf(page, turnpike.url);
  const shown: string[] = [];
  for (const path of pagesOf('viewer', inhabited.places)) {
    if (path === '/profile') continue;
    await walkTo(path);
    const names = await page.locator('main button, main a[href]').allInnerTexts();
    shown.push(...names.filter((name) => CHANGES.test(name.trim())).map((name) => `${path}: ${name}`));
  }
  expect(shown).toEqual([]);
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)(
  'a session that was ended elsewhere leads to the sign-in, and back to the same page',
  async () => {
    await using visitor = await visitAs(browser, turnpike, inhabited.people.owner);
    const { page } = visitor;
    const { walkTo } = walkerOf(page, turnpike.url);
    await walkTo('/usage?outcome=completed');
    await visitor.context.clearCookies();
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.getByLabel('E-mail').fill(inhabited.people.owner.email);
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    expect(page.url()).toEndWith('/console/keys');
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('who signs in after somebody sees nothing of theirs', async () => {
  await using visitor = await visitAs(browser, turnpike, inhabited.people.operator);
  const { page } = visitor;
  const { walkTo, settle } = walkerOf(page, turnpike.url);
  await walkTo('/accounts');
  await page.getByText('globex').first().waitFor();
  await page.getByRole('button', { name: 'Your menu' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  expect(await page.content()).not.toContain('globex');
  await page.getByLabel('E-mail').fill(inhabited.people.member.email);
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await settle();
  await page.goBack();
  await settle();
  expect(await page.content()).not.toContain('globex');
  expect(visitor.problems).toEqual([]);
});
