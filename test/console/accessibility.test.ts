// Every page, dialogue and menu of the console for whoever cannot see it well, or has a keyboard only, or a phone: axe in
// a real Chromium, light and dark, wide and narrow, with much and with nothing, as every role.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { openScreens } from '../../console/screens.ts';
import { chromium } from '../clients/open-browser.ts';
import { invite } from '../sign-in/browser.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { type Inhabited, inhabit, pagesOf, roles, visitAs, type Walker, walkerOf } from './every-page.ts';
import { startChromium, visit } from './open-console.ts';

setDefaultTimeout(300_000);

const WIDE = { width: 1360, height: 900 };
const PHONE = { width: 390, height: 844 };

type Amount = 'much' | 'none';
let browser: Browser;
const services = {} as Record<Amount, { turnpike: Turnpike } & Inhabited>;
beforeAll(async () => {
  if (chromium === null) return;
  browser = await startChromium();
  for (const amount of ['much', 'none'] as const) {
    const turnpike = await startTurnpike();
    services[amount] = { turnpike, ...(await inhabit(turnpike, amount === 'much')) };
  }
});
afterAll(async () => {
  await browser?.close();
  for (const { turnpike } of Object.values(services)) await turnpike.stop();
});

/** What axe finds serious or critical, by the first place of each kind; `rules` instead of all of them. */
async function findFaults(page: Page, rules?: string[]): Promise<string[]> {
  if ((await page.evaluate(() => 'axe' in window)) === false) await page.evaluate(axe.source);
  return await page.evaluate(async (only) => {
    const { axe: runner } = window as unknown as { axe: typeof import('axe-core') };
    const { violations } = await runner.run(document, {
      resultTypes: ['violations'],
      ...(only !== undefined && { runOnly: { type: 'rule', values: only } }),
    });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => {
        const first = nodes[0];
        const where = `${first?.target} ${first?.html.slice(0, 120)}`;
        return `${id}, ${nodes.length}: ${where} ${first?.failureSummary}`;
      });
  }, rules);
}

/** How the page, as it is now, looks wide and narrow, light and dark. Of the dark, colours alone where the rest was seen in the light. */
async function findFaultsOfLooks(page: Page, { settle }: Walker, isThorough: boolean): Promise<string[]> {
  const faults: string[] = [];
  const note = (look: string, found: string[]) => faults.push(...found.map((fault) => `${look} ${fault}`));
  if (isThorough) {
    note('wide', await findFaults(page));
    await page.emulateMedia({ colorScheme: 'dark' });
    await settle();
    note('wide dark', await findFaults(page, ['color-contrast', 'link-in-text-block']));
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await page.setViewportSize(PHONE);
  await settle();
  note('phone', [...(await findFaults(page)), ...(await findSideways(page))]);
  await page.setViewportSize(WIDE);
  return faults;
}

/** What stands out to the right of the screen where the whole page can be moved sideways. */
async function findSideways(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const outside = [...document.querySelectorAll('main *')].filter(
      (one) => one.getBoundingClientRect().right > clientWidth,
    );
    return [`${scrollWidth} px wide: ${outside.slice(0, 3).map((one) => one.outerHTML.slice(0, 160))}`];
  });
}

describe.each(['much', 'none'] as const)('with %s of everything', (amount) => {
  const seenBy = amount === 'much' ? [...roles] : (['operator', 'owner'] as const);
  test.skipIf(chromium === null).each([...seenBy])('every page is open to every %s', async (role) => {
    const { turnpike, places, people } = services[amount];
    // What viewers and members see, operators and owners see, too: it is enough to see once that it holds together.
    const isThorough = amount === 'much' && (role === 'operator' || role === 'owner');
    await using visitor = await visitAs(browser, turnpike, people[role], { isDark: !isThorough });
    const walker = walkerOf(visitor.page, turnpike.url);
    const faults: Record<string, string[]> = {};
    for (const path of pagesOf(role, places)) {
      await walker.walkTo(path);
      const found = await findFaultsOfLooks(visitor.page, walker, isThorough);
      if (found.length > 0) faults[path] = found;
    }
    expect(faults).toEqual({});
    expect(visitor.problems).toEqual([]);
  });
});

test.skipIf(chromium === null)(
  'the pages for whoever is not signed in, and those that there are not, are open to everybody',
  async () => {
    const { turnpike, people } = services.none;
    const { secret } = await invite(turnpike, 'grace@example.com');
    const open = openScreens.map(({ path }) => path);
    await using stranger = await visit(browser, { url: turnpike.url });
    await using operator = await visitAs(browser, turnpike, people.operator);
    const faults: Record<string, string[]> = {};
    for (const [{ page }, paths] of [
      [stranger, [...open, `/invitation?again#${secret}`, '/keys', '/sign-in?error=person_unknown']],
      [operator, ['/nothing/here', '/keys/key_000000000']],
    ] as const) {
      const walker = walkerOf(page, turnpike.url);
      for (const path of paths) {
        await walker.walkTo(path);
        const found = await findFaultsOfLooks(page, walker, true);
        if (found.length > 0) faults[path] = found;
      }
    }
    expect(faults).toEqual({});
  },
);

/** The buttons behind which a dialogue is, by page. */
function dialoguesOf({ accountId, keyId, requestId }: Inhabited['places']): Record<string, string[]> {
  return {
    [`/keys/${keyId}`]: ['Edit', 'Disable', 'New secret', 'Revoke'],
    [`/usage/${requestId}`]: ['Refund …'],
    [`/accounts/${accountId}`]: ['Change', 'Disable', 'Add credit'],
    '/people': ['Invite somebody'],
    '/tokens': ['Make a token', 'Revoke member of tests'],
    '/settings': ['Change drain_seconds'],
    '/groups': ['Add a group', 'Change default'],
    '/models/sandbox-echo': ['Remove'],
    '/profile': ['Set up'],
    '/playground': ['Code'],
  };
}

const isWithin = (page: Page, selector: string) =>
  page.evaluate((within) => document.activeElement?.closest(within) != null, selector);

/** Opens it by the keyboard, looks at it, tries to leave it by tabs, and closes it. */
async function tryDialogue(page: Page, { settle }: Walker, name: string): Promise<string[]> {
  const button = page.getByRole('main').getByRole('button', { name, exact: true }).first();
  await button.focus();
  await page.keyboard.press('Enter');
  const dialogue = page.getByRole('dialog');
  await dialogue.waitFor({ timeout: 5_000 }).catch(() => {});
  if ((await dialogue.count()) === 0) return [`${name}: opens nothing`];
  await settle();
  const faults = await findFaultsOfLooks(page, { settle, walkTo: async () => {} }, true);
  for (let at = 0; at < 12; at++) {
    if (!(await isWithin(page, '[role="dialog"]'))) faults.push(`focus leaves after ${at} tabs`);
    await page.keyboard.press(at < 6 ? 'Tab' : 'Shift+Tab');
  }
  await page.keyboard.press('Escape');
  await dialogue.waitFor({ state: 'detached' });
  await settle();
  if (!(await button.evaluate((one) => one === document.activeElement))) faults.push('focus is not given back');
  return faults.map((fault) => `${name}: ${fault}`);
}

test.skipIf(chromium === null)(
  'every dialogue is open to everybody, keeps the focus, gives it back, and closes by Escape',
  async () => {
    const { turnpike, places, people } = services.much;
    await using visitor = await visitAs(browser, turnpike, people.operator);
    const walker = walkerOf(visitor.page, turnpike.url);
    const faults: Record<string, string[]> = {};
    for (const [path, names] of Object.entries(dialoguesOf(places))) {
      await walker.walkTo(path);
      for (const name of names) {
        const found = await tryDialogue(visitor.page, walker, name);
        if (found.length > 0) faults[path] = [...(faults[path] ?? []), ...found];
      }
    }
    expect(faults).toEqual({});
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'with the keyboard alone one skips to the content, goes to pages, opens menus and closes them',
  async () => {
    const { turnpike, people } = services.much;
    await using visitor = await visitAs(browser, turnpike, people.operator);
    const { page } = visitor;
    const { walkTo, settle } = walkerOf(page, turnpike.url);
    await walkTo('/keys');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await isWithin(page, '#content')).toBe(true);
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Make a key');

    await walkTo('/keys');
    const stops: string[] = [];
    for (let at = 0; at < 24; at++) {
      await page.keyboard.press('Tab');
      stops.push(await page.evaluate(() => document.activeElement?.textContent ?? ''));
    }
    for (const name of [
      'Overview',
      'Usage',
      'Keys',
      'Playground',
      'Accounts',
      'People',
      'Settings',
      'Audit',
      'Make a key',
    ])
      expect(stops).toContain(name);

    const menu = page.getByRole('button', { name: 'Your menu' });
    await menu.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
    await settle();
    expect(await findFaultsOfLooks(page, { walkTo, settle }, true)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor({ state: 'detached' });
    expect(await menu.evaluate((one) => one === document.activeElement)).toBe(true);

    await page.setViewportSize(PHONE);
    await settle();
    const linkOfPeople = page.getByRole('navigation').getByRole('link', { name: 'People' });
    expect(await linkOfPeople.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Open the menu' }).press('Enter');
    await linkOfPeople.waitFor();
    await settle();
    expect(await findFaults(page)).toEqual([]);
    await linkOfPeople.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor();
    await linkOfPeople.waitFor({ state: 'hidden' });
    expect(visitor.problems).toEqual([]);
  },
);
