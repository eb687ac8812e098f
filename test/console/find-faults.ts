// Looks for faults of accessibility on a page that is open, with axe. Contains no tests.

import axe from 'axe-core';
import type { Page } from 'playwright-core';
import type { Walker } from './walk-pages.ts';

const WIDE = { width: 1360, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** The serious and critical findings of axe, one per kind; `rules` limits the rules. */
export async function findFaults(page: Page, rules?: string[]): Promise<string[]> {
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

/** Checks the page wide and narrow, light and dark. In dark, only colors are checked if light was checked in full. */
export async function findFaultsOfLooks(
  page: Page,
  { settle }: Pick<Walker, 'settle'>,
  isThorough: boolean,
): Promise<string[]> {
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
