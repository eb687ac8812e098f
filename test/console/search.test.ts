// The command palette in a real browser: by keyboard, by role, and without weight for the first page.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { chromium } from '../verify/clients/open-browser.ts';
import { findFaults } from './find-faults.ts';
import { openConsole } from './open-console.ts';

const opened = openConsole(2, async (turnpike) => {
  await turnpike.admin('POST', '/people', { email: 'ada@example.com', name: 'Ada', role: 'viewer' });
});

async function search(page: Page, text: string): Promise<void> {
  if (!(await page.getByRole('combobox', { name: 'Search' }).isVisible())) await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search' }).fill(text);
}

test.skipIf(chromium === null)('Ctrl-K finds pages, objects and ids, and Enter opens the selected one', async () => {
  await using visitor = await opened.visit('operator');
  const { page } = visitor;
  await visitor.goTo('/settings');
  await page.getByLabel('Setting', { exact: true }).focus(); // the shortcut also works in a field
  const places: [text: string, option: RegExp, path: string][] = [
    ['glob', /^globex/, `/accounts/${opened.filled.accounts.globex}`],
    ['night', /^nightly batch/, '/keys/key_'],
    [opened.filled.key.id, /^production/, `/keys/${opened.filled.key.id}`],
    ['sandbox-tool', /^sandbox-tool/, '/models/sandbox-tool'],
    ['ada@', /^Ada/, '/people?person=person_'],
    [opened.filled.requestId, /^Open request/, `/usage/${opened.filled.requestId}`],
    ['create api', /^Create API key/, '/keys/new'],
    ['audit', /^Audit log/, '/audit'],
  ];
  for (const [text, name, path] of places) {
    await search(page, text);
    await page.getByRole('option', { name }).first().waitFor();
    const option = page.getByRole('option', { name }).first();
    for (let step = 0; (await option.getAttribute('aria-selected')) !== 'true' && step < 20; step++)
      await page.keyboard.press('ArrowDown');
    const active = await page.getByRole('combobox', { name: 'Search' }).getAttribute('aria-activedescendant');
    expect(await option.getAttribute('id')).toBe(active);
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => `${url.pathname}${url.search}`.startsWith(`/console${path}`));
  }
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('a member finds only what the role may see', async () => {
  await using visitor = await opened.visit('member');
  const { page } = visitor;
  await visitor.goTo('/');
  for (const text of ['globex', 'production', 'ada', 'audit log', 'provider']) {
    const answered = page.waitForResponse((answer) =>
      answer.url().includes(`/api/v1/search?text=${text.split(' ')[0]}`),
    );
    await search(page, text);
    await answered;
    await page.getByText('No results').waitFor();
  }
  await search(page, 'usage');
  await page.getByRole('option', { name: 'Usage' }).waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)(
  'the palette loads when it is opened, has no accessibility faults, and closes with Escape',
  async () => {
    for (const isPhone of [false, true]) {
      await using visitor = await opened.visit('operator', { isPhone, isDark: isPhone });
      const { page } = visitor;
      const scripts: string[] = [];
      await visitor.goTo('/keys');
      page.on('request', (request) => request.url().endsWith('.js') && scripts.push(request.url()));
      await page.getByRole('button', { name: 'Search', exact: false }).first().click();
      await page.getByRole('combobox', { name: 'Search' }).waitFor();
      expect(scripts.length).toBeGreaterThan(0);
      await page.getByRole('option', { name: 'Overview' }).waitFor();
      expect(await findFaults(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.getByRole('combobox', { name: 'Search' }).waitFor({ state: 'hidden' });
      expect(visitor.problems).toEqual([]);
    }
  },
);
