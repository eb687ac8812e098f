// The balance of an account in a real browser, as its holder sees it: what to do next, how long it lasts, usage by day.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { formatMoney } from '../../console/money.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { type Filled, fillConsole } from './fill-console.ts';
import { startChromium, visit } from './open-console.ts';

setDefaultTimeout(60_000);

let turnpike: Turnpike;
let filled: Filled;
let browser: Browser;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startTurnpike();
  filled = await fillConsole(turnpike, 10);
  const settings = {
    recharge_instructions: 'Send a bank transfer.\nName your account.',
    support_address: 'help@example.com',
  };
  await turnpike.admin('POST', '/apply', { document: { settings } });
  browser = await startChromium();
});
afterAll(async () => {
  await browser?.close();
  await turnpike?.stop();
});

test.skipIf(chromium === null)(
  'a holder reads how to add credit while no payments are taken, and how long it lasts',
  async () => {
    await using visitor = await visit(browser, { url: turnpike.url, token: filled.tokens.owner });
    const { page } = visitor;
    await visitor.goTo('/billing');
    const recharge = page.getByRole('region', { name: 'Recharge' });
    await recharge.getByText('Send a bank transfer.').waitFor();
    await recharge.getByRole('link', { name: 'help@example.com' }).waitFor();
    await page.getByText('Too little use so far to say how long it lasts').waitFor();
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'the transactions have credits, the usage of each day with a link to it, and the balance',
  async () => {
    const account = await turnpike.admin('GET', `/accounts/${filled.accounts.acme}`);
    for (const [token, path] of [
      [filled.tokens.owner, '/billing/transactions'],
      [filled.tokens.viewer, `/accounts/${filled.accounts.acme}/transactions`],
    ] as const) {
      await using visitor = await visit(browser, { url: turnpike.url, token });
      const { page } = visitor;
      await visitor.goTo(path);
      const rows = page.getByRole('table', { name: 'Transactions by day' }).locator('tbody tr');
      await rows.first().waitFor();
      expect(await rows.count()).toBe(3); // the usage, and two credits
      expect(await rows.first().textContent()).toContain(formatMoney(String(account['balance'])));
      expect(await rows.last().textContent()).toContain('$250.00');
      await rows.first().getByRole('link', { name: 'Usage' }).click();
      const totals = page.getByRole('region', { name: 'Totals of the filtered requests' });
      await totals.getByText('6', { exact: true }).first().waitFor();
      await visitor.goTo(path);
      await page.getByText('All entries', { exact: true }).click();
      await page.getByRole('table', { name: 'Transactions', exact: true }).locator('tbody tr').nth(3).waitFor();
      expect(visitor.problems).toEqual([]);
    }
  },
);
