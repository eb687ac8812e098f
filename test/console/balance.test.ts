// The balance of an account in a real browser, as its holder sees it: what to do next, how long it lasts, usage by day.

import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { formatMoney, negated, sumOf } from '../../console/money.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { openConsole } from './open-console.ts';

const opened = openConsole(10, async (turnpike) => {
  const settings = {
    recharge_instructions: 'Send a bank transfer.\nName your account.',
    support_address: 'help@example.com',
  };
  await turnpike.admin('POST', '/apply', { document: { settings } });
});

const TILES = ['Available', 'Balance', 'Reserved'];

/** Reads the tiles while a hold grows and shrinks. */
async function watchHold(page: Page, account: string) {
  let held = '0';
  await page.route(`**/api/v1/accounts/${account}`, async (route) => {
    const response = await route.fetch();
    const json = (await response.json()) as { balance: string };
    await route.fulfill({ response, json: { ...json, held, available: sumOf([json.balance, negated(held)]) } });
  });
  const shown: { name: string; decimals: number; widthPx: number }[] = [];
  for (held of ['0.0123', '0.98765', '0.030000001']) {
    for (const name of TILES) {
      const tile = page.locator('.mantine-Card-root', { has: page.getByText(name, { exact: true }) });
      const figure = tile.locator('.stat-value .tabular');
      if (name === 'Reserved') await figure.getByText(formatMoney(held), { exact: true }).waitFor();
      const text = (await figure.textContent()) ?? '';
      const box = await figure.boundingBox();
      shown.push({ name, decimals: text.split('.')[1]?.length ?? 0, widthPx: Math.round(box?.width ?? 0) });
    }
  }
  return shown;
}

test.skipIf(chromium === null)(
  'a holder reads how to add credit while no payments are taken, how long it lasts, and figures that stand still',
  async () => {
    for (const isPhone of [false, true]) {
      await using visitor = await opened.visit('owner', { isPhone });
      const { page } = visitor;
      await visitor.goTo('/billing');
      const recharge = page.getByRole('region', { name: 'Recharge' });
      await recharge.getByText('Send a bank transfer.').waitFor();
      await recharge.getByRole('link', { name: 'help@example.com' }).waitFor();
      await page.getByText('More than a year at the present pace').waitFor();
      const shown = await watchHold(page, opened.filled.accounts.acme);
      const ofTile = (name: string, measure: 'decimals' | 'widthPx') =>
        new Set(shown.filter((tile) => tile.name === name).map((tile) => tile[measure]));
      for (const name of TILES)
        expect([name, ofTile(name, 'decimals').size, ofTile(name, 'widthPx').size]).toEqual([name, 1, 1]);
      expect(visitor.problems).toEqual([]);
    }
  },
);

test.skipIf(chromium === null)(
  'the transactions have credits, the usage of each day with a link to it, and the balance',
  async () => {
    const account = await opened.turnpike.admin('GET', `/accounts/${opened.filled.accounts.acme}`);
    for (const [role, path] of [
      ['owner', '/billing/transactions'],
      ['viewer', `/accounts/${opened.filled.accounts.acme}/transactions`],
    ] as const) {
      await using visitor = await opened.visit(role);
      const { page } = visitor;
      await visitor.goTo(path);
      const rows = page.getByRole('table', { name: 'Transactions by day' }).locator('tbody tr');
      await rows.first().waitFor();
      expect(await rows.count()).toBe(3); // the usage, and two credits
      const latest = (await rows.first().textContent()) ?? '';
      expect(latest).toEndWith(formatMoney(String(account['balance'])));
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

test.skipIf(chromium === null)(
  'an account whose plan paid a part sees by day what the balance paid, with the exact balance',
  async () => {
    const plans = { small: { title: 'Small', price: '1.00', windows: { month: '0.0005' } } };
    await opened.turnpike.admin('POST', '/apply', { document: { plans } });
    const { account, secret } = await opened.turnpike.makeKey({ name: 'umbrella', credit: '10.00' });
    await opened.turnpike.admin('PATCH', `/accounts/${account}/plan`, { plan: 'small', overflow: true });
    const messages = [{ role: 'user', content: 'What is the weather in Paris? '.repeat(9) }];
    const answer = await opened.turnpike.post(secret, { model: 'sandbox-lorem', max_tokens: 300, messages });
    await answer.text();
    const requestId = answer.headers.get('request-id') ?? '';
    const { plan_paid: planPaid, cost } = await opened.turnpike.admin('GET', `/usage/${requestId}`);
    expect([planPaid, Number(cost) > 0.0006]).toEqual(['0.0005', true]);
    await opened.turnpike.admin('POST', `/usage/${requestId}/refunds`, { amount: '0.000011' });
    const { balance } = await opened.turnpike.admin('GET', `/accounts/${account}`);
    await using visitor = await opened.visit('viewer');
    const { page } = visitor;
    await visitor.goTo(`/accounts/${account}/transactions`);
    const rows = page.getByRole('table', { name: 'Transactions by day' }).locator('tbody tr');
    await rows.first().waitFor();
    const texts = await rows.allInnerTexts();
    expect(texts).toHaveLength(3); // a row for the usage of the day, after the refund and the credit
    const paid = (Number(cost) - 0.0005).toFixed(9).replace(/0+$/, '');
    const exactOf = (at: number) =>
      rows
        .nth(at)
        .locator('[title^="$"], [title^="−$"]')
        .evaluateAll((amounts) => amounts.map((amount) => amount.getAttribute('title')).join());
    expect(texts[0]).toContain('Usage');
    for (const amount of [`$${paid}`, `$${balance}`]) expect(await exactOf(0)).toContain(amount);
    expect(texts[1]).toContain('Refund');
    expect(await exactOf(1)).toContain('$0.000011');
    await page.getByText('Usage paid by a plan is not included.').waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await rows.first().getByText('Balance: $10.00').waitFor(); // beneath the amount
    const fits = (label: string) => {
      const table = document.querySelector(`table[aria-label="${label}"]`);
      return table?.parentElement != null && table.scrollWidth <= table.parentElement.clientWidth;
    };
    await page.waitForFunction(fits, 'Transactions by day'); // once the layout has moved to its new width
    await page.setViewportSize({ width: 1360, height: 900 });
    await visitor.goTo(`/accounts/${account}/billing`);
    await page.getByRole('heading', { name: 'Daily balance' }).waitFor();
    expect(visitor.problems).toEqual([]);
  },
);
