// Dialogs, menus and forms of the console by keyboard and with axe, in a real Chromium. pages.test.ts has the pages.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { findFaults, findFaultsOfLooks } from './find-faults.ts';
import { PHONE } from './open-console.ts';
import { type FilledService, fillService, visitAs, type Walker, walkerFor } from './walk-pages.ts';

setDefaultTimeout(300_000);

let turnpike: Turnpike;
let filled: FilledService;
const plans = { pro: { title: 'Pro', price: '20.00', windows: { '5h': '2.00', month: '40.00' }, is_offered: true } };
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startTurnpike({ plans });
  filled = await fillService(turnpike, true);
});
afterAll(() => turnpike?.stop());

/** The buttons that open a dialog, by page. */
function dialogsOf({
  accountId,
  batchId,
  clientBatchId,
  keyId,
  requestId,
  destinationId,
  exportId,
}: FilledService['places']): Record<string, string[]> {
  return {
    [`/keys/${keyId}`]: ['Edit', 'Disable', 'Rotate', 'Revoke'],
    [`/usage/${requestId}`]: ['Refund…'],
    [`/accounts/${accountId}`]: ['Edit', 'Disable', 'Add credit', 'Invite owner'],
    [`/accounts/${accountId}/plan`]: ['Assign plan'],
    [`/codes/${batchId}`]: ['Revoke'],
    [`/batches/${clientBatchId}`]: ['Cancel batch'],
    [`/destinations/${destinationId}`]: ['Edit', 'Disable', 'Rotate secret'],
    [`/exports/${exportId}`]: ['Disable', 'Send now'],
    '/people': ['Invite user', 'Invite several'],
    '/directory-groups': ['Create directory group'],
    '/tokens': ['Create token', 'Revoke member of tests'],
    '/settings': ['Edit Support address'],
    '/agent-sign-ins': ['Revoke Claude Code'],
    '/groups': ['Create group', 'Edit default'],
    '/plans': ['Create plan', 'Edit pro', 'Delete pro'],
    '/codes': ['Create codes'],
    '/models/sandbox-echo': ['Schedule price', 'Delete'],
    '/profile': ['Set up'],
    '/playground': ['Settings', 'Code'],
  };
}

const isWithin = (page: Page, selector: string) =>
  page.evaluate((within) => document.activeElement?.closest(within) != null, selector);

/** Opens a dialog with the keyboard, checks it, tabs through it, and closes it. */
async function checkDialog(page: Page, { settle }: Walker, name: string): Promise<string[]> {
  const button = page.getByRole('main').getByRole('button', { name, exact: true }).first();
  await button.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.waitFor({ timeout: 5_000 }).catch(() => {});
  if ((await dialog.count()) === 0) return [`${name}: opens nothing`];
  await settle();
  const faults = await findFaults(page); // its colors in dark are those of the pages
  for (let at = 0; at < 12; at++) {
    if (!(await isWithin(page, '[role="dialog"]'))) faults.push(`focus leaves after ${at} tabs`);
    await page.keyboard.press(at < 6 ? 'Tab' : 'Shift+Tab');
  }
  // A list that is open in the dialog, and one that opens late, closes first.
  for (let keys = 0; keys < 3 && (await dialog.count()) > 0; keys++) {
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached', timeout: 3_000 }).catch(() => {});
  }
  await dialog.waitFor({ state: 'detached' });
  await settle();
  if (!(await button.evaluate((one) => one === document.activeElement))) faults.push('focus is not returned');
  return faults.map((fault) => `${name}: ${fault}`);
}

test.skipIf(chromium === null)(
  'every dialog is accessible, traps and returns the focus, and closes with Escape',
  async () => {
    const { places, people } = filled;
    await using visitor = await visitAs(turnpike, people.operator);
    const walker = walkerFor(visitor.page, turnpike.url);
    const faults: Record<string, string[]> = {};
    for (const [path, names] of Object.entries(dialogsOf(places))) {
      await walker.walkTo(path);
      for (const name of names) {
        const found = await checkDialog(visitor.page, walker, name);
        if (found.length > 0) faults[path] = [...(faults[path] ?? []), ...found];
      }
    }
    expect(faults).toEqual({});
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('the keyboard alone reaches the content, pages and menus', async () => {
  const { people } = filled;
  await using visitor = await visitAs(turnpike, people.operator);
  const { page } = visitor;
  const { walkTo, settle } = walkerFor(page, turnpike.url);
  await walkTo('/keys');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
  await page.keyboard.press('Enter');
  expect(await isWithin(page, '#content')).toBe(true);
  const nextStop = async () => {
    await page.keyboard.press('Tab');
    return await page.evaluate(() => document.activeElement?.textContent);
  };
  expect([await nextStop(), await nextStop()]).toEqual(['', 'Create API key']); // the field of the time range has no text

  await walkTo('/keys');
  const stops: string[] = [];
  for (let at = 0; at < 32; at++) {
    await page.keyboard.press('Tab');
    stops.push(await page.evaluate(() => document.activeElement?.textContent ?? ''));
  }
  for (const name of [
    'Overview',
    'Usage',
    'API keys',
    'Playground',
    'Accounts',
    'Users',
    'Settings',
    'Audit log',
    'Create API key',
  ])
    expect(stops).toContain(name);

  const menu = page.getByRole('button', { name: 'User menu' });
  await menu.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
  await settle();
  expect(await findFaultsOfLooks(page, { settle })).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor({ state: 'detached' });
  expect(await menu.evaluate((one) => one === document.activeElement)).toBe(true);

  await page.setViewportSize(PHONE);
  await settle();
  const linkToUsers = page.getByRole('navigation').getByRole('link', { name: 'Users' });
  expect(await linkToUsers.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Open menu' }).press('Enter');
  await linkToUsers.waitFor();
  await settle();
  expect(await findFaults(page)).toEqual([]);
  await linkToUsers.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
  await linkToUsers.waitFor({ state: 'hidden' });
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('an operator creates an API key with the keyboard alone', async () => {
  const { people } = filled;
  await using visitor = await visitAs(turnpike, people.operator);
  const { page } = visitor;
  await walkerFor(page, turnpike.url).walkTo('/keys/new');
  const account = page.getByRole('combobox', { name: 'Account' });
  expect(await account.evaluate((one) => one === document.activeElement)).toBe(true);
  const search = Promise.withResolvers<void>();
  await page.route(/\/accounts\?.*name=glo/, async (route) => {
    await search.promise;
    await route.continue();
  });
  await page.keyboard.type('glo');
  await page.getByRole('option', { name: 'acme' }).waitFor();
  await page.keyboard.press('Enter');
  expect(await account.inputValue()).toBe('glo');
  search.resolve();
  await page.locator('[role=option][data-combobox-selected]', { hasText: 'globex' }).waitFor();
  await page.keyboard.press('Enter');
  expect(await account.inputValue()).toBe('globex');
  await page.keyboard.press('Tab');
  await page.keyboard.type('from the keyboard');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'API key created' }).waitFor();
  const { data } = (await turnpike.admin('GET', '/keys?limit=1000')) as { data: { name: string }[] };
  expect(data.filter(({ name }) => name === 'from the keyboard')).toHaveLength(1);
});
