// Looks for faults on a page that is open: of accessibility, with axe, of its layout, of script that runs, and buttons
// that a role cannot use. Contains no tests.

import axe, { type RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';
import { PHONE, WIDE, ZOOMED } from './open-console.ts';
import type { Walker } from './walk-pages.ts';

/** axe takes longest for the contrast. */
const COLORS = ['color-contrast', 'link-in-text-block'];

/** Tables whose first column shows the others in words of its own on phones. */
const IN_OTHER_WORDS: readonly string[] = [
  ...['Cost breakdown', 'Errors', 'Payments', 'Sessions', 'Transactions', 'Transactions by day'],
];

export type Rules = 'all' | 'colors' | 'others';

export interface Look {
  isPhone: boolean;
  isZoomed?: true;
  isDark: boolean;
  /** The rules of axe that depend on it, if not all. */
  rules: Rules | 'none';
}

/** Colors depend on the scheme and structure on the width, so that each is checked once in either. */
export const everyLook: readonly Look[] = [
  { isPhone: false, isDark: false, rules: 'all' },
  { isPhone: false, isDark: true, rules: 'colors' },
  { isPhone: false, isZoomed: true, isDark: true, rules: 'none' },
  { isPhone: true, isDark: true, rules: 'others' },
];

/** Checks the page in each look. Each fault begins with the look. The page stays in the last one. */
export async function checkInLooks(
  page: Page,
  { settle }: Pick<Walker, 'settle'>,
  looks: readonly Look[],
  check: (look: Look) => Promise<string[]>,
): Promise<string[]> {
  const faults: string[] = [];
  for (const look of looks) {
    if (await takeLook(page, look)) await settle();
    const name = `${look.isPhone ? 'phone' : look.isZoomed ? 'zoomed' : 'wide'} ${look.isDark ? 'dark' : 'light'}`;
    faults.push(...(await check(look)).map((fault) => `${name}: ${fault}`));
  }
  return faults;
}

/** Resolves to whether the page changes with it. */
export async function takeLook(page: Page, { isPhone, isZoomed, isDark }: Omit<Look, 'rules'>): Promise<boolean> {
  const size = isPhone ? PHONE : isZoomed ? ZOOMED : WIDE;
  const isWrong = await page.evaluate(
    ([dark, width]) => matchMedia('(prefers-color-scheme: dark)').matches !== dark || innerWidth !== width,
    [isDark, size.width] as const,
  );
  if (!isWrong) return false;
  await page.emulateMedia({ colorScheme: isDark ? 'dark' : 'light' });
  await page.setViewportSize(size);
  return true;
}

/** Checks accessibility and layout in each look, and returns to the first one. */
export async function findFaultsOfLooks(page: Page, walker: Pick<Walker, 'settle'>): Promise<string[]> {
  const faults = await checkInLooks(page, walker, everyLook, (look) => findFaultsOfLook(page, look));
  if (await takeLook(page, { isPhone: false, isDark: false })) await walker.settle();
  return faults;
}

/** `withShell`: also checks header and navigation, which are the same on every page. */
export async function findFaultsOfLook(page: Page, { rules }: Look, withShell = true): Promise<string[]> {
  return [
    ...(rules === 'none' ? [] : await findFaults(page, rules, withShell)),
    ...(await findSideways(page)),
    ...(await findClipped(page)),
    ...(await findLost(page)),
    ...(await findRawText(page)),
  ];
}

/** The serious and critical findings of axe, one per kind. `rules` limits the rules to those of colors, or to the others. */
export async function findFaults(page: Page, rules: Rules = 'all', withShell = true): Promise<string[]> {
  if ((await page.evaluate(() => 'axe' in window)) === false) await page.evaluate(axe.source);
  const options: RunOptions = {
    resultTypes: ['violations'],
    ...(rules === 'colors' && { runOnly: { type: 'rule', values: COLORS } }),
    ...(rules === 'others' && { rules: Object.fromEntries(COLORS.map((name) => [name, { enabled: false }])) }),
  };
  const place = withShell ? { include: ['html'] } : { include: ['html'], exclude: ['body header', 'body nav'] };
  return await page.evaluate(
    async ([context, asked]) => {
      const { axe: runner } = window as unknown as { axe: typeof import('axe-core') };
      const { violations } = await runner.run(context, asked);
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => {
          const first = nodes[0];
          const where = `${first?.target} ${first?.html.slice(0, 120)}`;
          return `${id}, ${nodes.length}: ${where} ${first?.failureSummary}`;
        });
    },
    [place, options] as const,
  );
}

/** The elements that make the page scroll horizontally. */
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

/** Times and amounts that are shown as the API writes them, and counts with the wrong form of their noun. */
async function findRawText(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const form =
      /\d{4}-\d\d-\d\dT\d\d:\d\d\S*|\d\.\d+ USD\b|\b1 (?:results|requests|models|keys|rows|codes|routes)\b|\d %/;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const blank = [...document.querySelectorAll('.stat-value')].filter((one) => one.textContent.trim() === '–');
    const found = blank.map((one) => `a tile without a value: ${one.parentElement?.textContent}`);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node.parentElement?.closest('code, pre, script, style, textarea') !== null) continue;
      const raw = form.exec(node.textContent ?? '')?.[0];
      if (raw !== undefined) found.push(`raw text: ${raw}`);
    }
    return [...new Set(found)];
  });
}

/** Cells, figures and badges that reach beyond the visible edge of their table or card, badges that shorten their text, and choices that do not fit. */
async function findClipped(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const isOutside = (one: Element) => {
      const edge = one.closest('.mantine-TableScrollContainer-scrollContainer, main .mantine-Card-root');
      return edge !== null && one.getBoundingClientRect().right > edge.getBoundingClientRect().right + 0.5;
    };
    const outside = [...document.querySelectorAll('main :is(th, td, td .mantine-Badge-root, .tabular)')].filter(
      isOutside,
    );
    const shortened = [
      ...document.querySelectorAll('main :is(.mantine-Badge-label, .mantine-SegmentedControl-root)'),
    ].filter((one) => one.scrollWidth > one.clientWidth);
    return [...outside.slice(0, 3), ...shortened.slice(0, 3)].map((one) => `clipped: ${one.outerHTML.slice(0, 200)}`);
  });
}

/**
 * Columns that a narrow window hides although no other place shows them: rows neither have a page of their own nor show the column in
 * the first one.
 */
async function findLost(page: Page): Promise<string[]> {
  return await page.evaluate((inOtherWords) => {
    const found: string[] = [];
    for (const table of document.querySelectorAll('main table')) {
      const name = table.getAttribute('aria-label') ?? '';
      const row = table.querySelector('tbody tr');
      if (row === null || row.classList.contains('row-link') || inOtherWords.includes(name)) continue;
      if (table.getClientRects().length === 0) continue; // in a closed part of the page
      const folded = [...table.querySelectorAll('.folded > :first-child')].map((label) => label.textContent);
      for (const head of table.querySelectorAll('th'))
        if (getComputedStyle(head).display === 'none' && !folded.includes(head.textContent))
          found.push(`lost: ${head.textContent} of ${name}`);
    }
    return found;
  }, IN_OTHER_WORDS);
}

/** Script that ran, and elements that text became; scripts of the tests set `window.ran`. */
export async function findScript(page: Page): Promise<string[]> {
  const found = await page.evaluate(() => ({
    'script ran': 'ran' in window,
    'text became an element': document.querySelector('main img, main svg[onload]') !== null,
  }));
  return Object.keys(found).filter((name) => found[name as keyof typeof found]);
}

/** Matches the names of buttons and links that change something other than the user's own sign-in. */
const CHANGES =
  /^(Add (?!image)|Create(?!d)|Invite|Edit|Revoke|Disable|Enable|Delete|Refund|New |Reset|Rotate|Deduct|Test)/;
/** The names of links to deliveries are those of events, such as “Test”. */
const ACTIONS = 'main button, main a[href]:not([href*="/deliveries/"])';

/** Changes what is shown, and nothing else. */
const ADD_FILTER = 'Add filter';

/** Buttons and links to changes, on a page that must have none. */
export async function findChanges(page: Page): Promise<string[]> {
  const names = await page.locator(ACTIONS).allInnerTexts();
  return names
    .filter((name) => CHANGES.test(name.trim()) && name.trim() !== ADD_FILTER)
    .map((name) => `a button: ${name}`);
}

/** Filters that are not behind a button with this name on a phone. Opens them. */
export async function findOpenFilters(page: Page, field: string, button: string): Promise<string[]> {
  const main = page.getByRole('main');
  const opener = main.getByRole('button', { name: button, exact: true });
  if ((await opener.count()) === 0) return [`no button “${button}”`];
  const shown = main.getByLabel(field, { exact: true }).first();
  if (await shown.isVisible()) return [`the filter “${field}” is open`];
  await opener.click();
  const isOpened = await shown.waitFor({ timeout: 10_000 }).then(
    () => true,
    () => false,
  );
  return isOpened ? [] : [`“${button}” does not open the filter “${field}”`];
}
