// Looks for faults of accessibility on a page that is open, with axe. Contains no tests.

import axe, { type RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';
import type { Walker } from './walk-pages.ts';

const WIDE = { width: 1360, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** axe takes longest for the contrast. */
const COLORS = ['color-contrast', 'link-in-text-block'];

/** The serious and critical findings of axe, one per kind. `rules` limits the rules to those of colors, or to the others. */
export async function findFaults(page: Page, rules: 'all' | 'colors' | 'others' = 'all'): Promise<string[]> {
  if ((await page.evaluate(() => 'axe' in window)) === false) await page.evaluate(axe.source);
  const options: RunOptions = {
    resultTypes: ['violations'],
    ...(rules === 'colors' && { runOnly: { type: 'rule', values: COLORS } }),
    ...(rules === 'others' && { rules: Object.fromEntries(COLORS.map((name) => [name, { enabled: false }])) }),
  };
  return await page.evaluate(async (asked) => {
    const { axe: runner } = window as unknown as { axe: typeof import('axe-core') };
    const { violations } = await runner.run(document, asked);
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => {
        const first = nodes[0];
        const where = `${first?.target} ${first?.html.slice(0, 120)}`;
        return `${id}, ${nodes.length}: ${where} ${first?.failureSummary}`;
      });
  }, options);
}

/** Checks the page wide and narrow, light and dark. Colors are checked once in each scheme. */
export async function findFaultsOfLooks(page: Page, { settle }: Pick<Walker, 'settle'>): Promise<string[]> {
  const faults: string[] = [];
  const note = (look: string, found: string[]) => faults.push(...found.map((fault) => `${look} ${fault}`));
  note('wide', [...(await findFaults(page)), ...(await findClipped(page))]);
  await page.emulateMedia({ colorScheme: 'dark' });
  await settle();
  note('wide dark', await findFaults(page, 'colors'));
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(PHONE);
  await settle();
  note('phone', [...(await findFaults(page, 'others')), ...(await findSideways(page)), ...(await findClipped(page))]);
  await page.setViewportSize(WIDE);
  return faults;
}

/** The elements that make the page scroll horizontally. */
export async function findSideways(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const outside = [...document.querySelectorAll('main *')].filter(
      (one) => one.getBoundingClientRect().right > clientWidth,
    );
    return [`${scrollWidth} px wide: ${outside.slice(0, 3).map((one) => one.outerHTML.slice(0, 160))}`];
  });
}

/** Cells and badges that reach beyond the visible edge of their table, and badges that shorten their text. */
export async function findClipped(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const isOutside = (one: Element) => {
      const table = one.closest('.mantine-TableScrollContainer-scrollContainer');
      return table !== null && one.getBoundingClientRect().right > table.getBoundingClientRect().right + 0.5;
    };
    const outside = [...document.querySelectorAll('main :is(th, td, td .mantine-Badge-root)')].filter(isOutside);
    const shortened = [...document.querySelectorAll('main .mantine-Badge-label')].filter(
      (one) => one.scrollWidth > one.clientWidth,
    );
    return [...outside.slice(0, 3), ...shortened.slice(0, 3)].map((one) => `clipped: ${one.outerHTML.slice(0, 200)}`);
  });
}
