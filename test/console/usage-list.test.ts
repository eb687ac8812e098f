// The list of requests in a real browser: the reason of a failure, filters, orders, sums and groups, also on a phone.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { formatUtcDay } from '../../console/times.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { findFaults } from './find-faults.ts';
import { openConsole } from './open-console.ts';
import { addFilter } from './page-actions.ts';

const MESSAGES = 24;
const DAY_MS = 86_400_000;

const opened = openConsole(MESSAGES);

const open = (isPhone = false) => opened.visit('operator', { isPhone });

async function newestOf(query: string): Promise<Record<string, unknown>> {
  const { data } = (await opened.turnpike.admin('GET', `/usage?limit=1&${query}`)) as {
    data: Record<string, unknown>[];
  };
  return data[0] ?? {};
}

/** Waits until the cells of a column are as they should be: rows of the previous filter stay visible for a while. */
async function waitForColumn(page: Page, label: string, isRight: (cells: string[]) => boolean): Promise<void> {
  let cells: string[] = [];
  for (let turn = 0; turn < 200; turn++) {
    cells = await columnOf(page, label);
    if (cells.length > 0 && isRight(cells)) return;
    await page.waitForTimeout(100);
  }
  throw new Error(`${label}: ${cells.join(', ')}`);
}

const all = (name: string) => (cells: string[]) => cells.every((cell) => cell === name);

/** The texts of a column of the table of requests. */
async function columnOf(page: Page, label: string): Promise<string[]> {
  const table = page.getByRole('table', { name: 'Requests' });
  await table.waitFor();
  const labels = await table.getByRole('columnheader').allInnerTexts();
  const at = labels.findIndex((one) => one.startsWith(label));
  return table.locator(`tbody tr td:nth-child(${at + 1})`).allInnerTexts();
}

test.skipIf(chromium === null)(
  'a failed request is shown with the status and message that its client got',
  async () => {
    const { request_id: requestId } = await newestOf('status=529');
    await using visitor = await open();
    const { page } = visitor;
    await visitor.goTo(`/usage/${requestId}`);
    await page.getByText('The provider of this model is overloaded.').waitFor();
    await page.getByText('529 · Overloaded', { exact: true }).waitFor();
    expect(await page.getByText('No provider responded').count()).toBe(0);
    const price = page.getByRole('region', { name: 'Cost breakdown' });
    expect(await price.textContent()).toContain('the request ended before any output (529 · Overloaded)');
    await visitor.goTo('/usage');
    await page.getByText('529 · Overloaded').locator('visible=true').first().waitFor();
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('requests are found by error, status, cost and a part of the model', async () => {
  await using visitor = await open();
  const { page } = visitor;
  await visitor.goTo('/usage?error=upstream_overloaded');
  await waitForColumn(page, 'Model', all('sandbox-error-529'));
  await visitor.goTo('/usage?status=5xx&model_search=ERROR');
  await waitForColumn(page, 'Model', all('sandbox-error-529'));
  await visitor.goTo('/usage');
  await addFilter(page, 'Model');
  await page.keyboard.type('LOREM');
  await page.getByRole('option', { name: 'Contains “LOREM”' }).click();
  await page.waitForURL(/model_search=LOREM/);
  await waitForColumn(page, 'Model', all('sandbox-lorem'));
  await visitor.goTo('/usage?cost_min=100');
  await page
    .getByRole('heading', { name: 'No matching requests' })
    .or(page.getByText('No matching requests'))
    .waitFor();
});

test.skipIf(chromium === null)('a click on a column label sorts by it, and the address keeps the order', async () => {
  await using visitor = await open();
  const { page } = visitor;
  await visitor.goTo('/usage');
  await page.getByRole('button', { name: 'Cost', exact: true }).click();
  await page.waitForURL(/sort=cost/);
  const header = page.getByRole('columnheader', { name: 'Cost' });
  expect(await header.getAttribute('aria-sort')).toBe('descending');
  await waitForColumn(page, 'Cost', (cells) => {
    const costs = cells.map((cell) => Number(cell.replace('$', '')));
    return (
      costs.every((cost, row) => row === 0 || cost <= (costs[row - 1] ?? 0)) && (costs[0] ?? 0) > (costs.at(-1) ?? 0)
    );
  });
  await page.getByRole('button', { name: 'Cost', exact: true }).click();
  await page.waitForURL(/order=asc/);
  expect(await header.getAttribute('aria-sort')).toBe('ascending');
  for (const path of ['/keys', '/accounts', '/models']) {
    await visitor.goTo(path);
    await page.locator('th button').first().click();
    await page.waitForURL(/sort=|order=/);
    await page.locator('th[aria-sort="ascending"], th[aria-sort="descending"]').first().waitFor();
  }
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)(
  'groups and the small chart have the total of the line above them, and lead to their requests',
  async () => {
    await using visitor = await open();
    const { page } = visitor;
    await visitor.goTo('/usage?group_by=model');
    const groups = page.getByRole('table', { name: 'Requests by model' });
    await groups.waitFor();
    const counts = await groups.locator('tbody tr td:nth-child(2)').allInnerTexts();
    expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBe(MESSAGES);
    const totals = page.getByRole('region', { name: 'Totals of the filtered requests' });
    expect(await totals.textContent()).toMatch(new RegExp(`Requests${MESSAGES}(?!\\d)`));
    await groups.getByRole('link', { name: 'sandbox-error-529' }).click();
    await page.getByRole('table', { name: 'Requests', exact: true }).waitFor();
    await waitForColumn(page, 'Model', all('sandbox-error-529'));
    await expectChart(page, (await columnOf(page, 'Model')).length);
    expect(visitor.problems).toEqual([]);
  },
);

/** The chart covers the last seven days, of which today has messages. A click on its bar leads to them, and so does dragging. */
async function expectChart(page: Page, count: number): Promise<void> {
  const dayOf = (daysAgo: number) => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);
  const ends = `from ${formatUtcDay(dayOf(6))} to ${formatUtcDay(dayOf(0))}`;
  const chart = page.getByRole('img', { name: `Requests over time, ${ends}: ${count}` });
  const bars = chart.locator('.recharts-bar-rectangle path');
  await bars.first().waitFor();
  expect(await bars.count()).toBe(1);
  const isSame = (cells: string[]) => all('sandbox-error-529')(cells) && cells.length === count;
  await bars.first().click();
  await page.waitForURL(new RegExp(`range=${dayOf(0)}T00%3A00Z`));
  await waitForColumn(page, 'Model', isSame);
  await page.goBack();
  const box = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0 };
  await page.mouse.move(box.x + box.width / 2, box.y + 9);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 9, box.y + 9, { steps: 5 });
  await page.mouse.up();
  await page.waitForURL(/range=\d{4}-\d\d-\d\d.*\.\./);
  expect(new URL(page.url()).searchParams.get('model')).toBe('sandbox-error-529');
  await waitForColumn(page, 'Model', isSame);
}

test.skipIf(chromium === null)(
  'a view keeps filters, range and grouping, is found again, shared and deleted',
  async () => {
    await using visitor = await opened.visit('owner');
    const { page } = visitor;
    await visitor.goTo('/usage?range=30d&group_by=model&outcome=failed');
    const search = new URL(page.url()).searchParams;
    const menu = page.getByRole('button', { name: 'Views', exact: true });
    const view = (name: string) => page.getByRole('menuitem', { name });
    const isOpened = () =>
      page.waitForURL((url) => [...search].every(([name, value]) => url.searchParams.get(name) === value));
    await menu.click();
    await view('Save this view').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Failures by model');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('View saved.').first().waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'API keys' }).click();
    await page.getByRole('table', { name: 'API keys' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('failures by');
    await page.getByRole('option', { name: 'Failures by model' }).waitFor();
    await page.keyboard.press('Enter');
    await isOpened();
    await page.getByRole('table', { name: 'Requests by model' }).waitFor();
    await menu.click();
    await view('Edit views').click();
    await dialog.getByLabel('Share with users of your account').click();
    await dialog.getByLabel('Name').fill('Failures');
    const reread = page.waitForResponse((answer) => answer.url().includes('/api/v1/views?'));
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await reread;
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await menu.click();
    await view('Failures Shared').click();
    await isOpened();
    await menu.click();
    await view('Edit views').click();
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('No saved views of this page.').waitFor();
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('names of models that differ at their ends are shown whole', async () => {
  await using visitor = await open();
  await visitor.goTo('/usage?model=sandbox-error-529');
  const names = visitor.page.getByRole('table', { name: 'Requests' }).getByTitle('sandbox-error-529');
  await names.first().waitFor();
  const cut = await names.evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).length);
  expect(cut).toBe(0);
});

test.skipIf(chromium === null)('filters are added, changed and removed with the keyboard alone', async () => {
  await using visitor = await open();
  const { page } = visitor;
  await visitor.goTo('/usage');
  await page.getByRole('button', { name: 'Add filter' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'HTTP status' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('[role=combobox]:focus').waitFor();
  await page.keyboard.type('529');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL(/status=529/);
  await waitForColumn(page, 'Model', all('sandbox-error-529'));
  const chip = page.getByRole('button', { name: 'HTTP status: 529', exact: true });
  await chip.focus();
  await page.keyboard.press('Enter');
  await page.locator('[role=combobox]:focus').waitFor(); // the field loads with its first use
  await page.keyboard.press('Escape');
  await page.getByRole('combobox', { name: 'HTTP status' }).waitFor({ state: 'detached' });
  expect(await chip.evaluate((one) => one === document.activeElement)).toBe(true);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => !url.search.includes('status'));
  await chip.waitFor({ state: 'detached' });
  await addFilter(page, 'Min cost (USD)');
  await page.keyboard.type('much');
  await page.keyboard.press('Enter');
  await page.getByText('Enter an amount').waitFor();
  expect(await findFaults(page)).toEqual([]);
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('the table of keys fits wide screens and phones', async () => {
  const limits = {
    quota: '1250.00',
    quota_period: 'month',
    models: ['claude-sonnet-4-5-*', 'gpt-5-mini-*', 'gemini-*'],
  };
  const account = opened.filled.accounts.globex;
  await opened.turnpike.admin('POST', '/keys', { account, name: 'Nightly batch of the research team', ...limits });
  await using visitor = await open();
  const { page } = visitor;
  await visitor.goTo('/keys');
  for (const width of [1440, 1280, 390, 360]) {
    await page.setViewportSize({ width, height: 900 });
    const beyond = () =>
      page
        .getByRole('table', { name: 'API keys' })
        .evaluate((table) => table.scrollWidth - (table.parentElement?.clientWidth ?? 0));
    await page.waitForFunction((wide) => innerWidth === wide, width);
    expect([width, await beyond()]).toEqual([width, 0]);
  }
});
