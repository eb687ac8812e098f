// The overview and the pages of requests in a real browser: live updates, refunds, and the view of an owner.

import { expect, test } from 'bun:test';
import { chromium } from '../verify/clients/open-browser.ts';
import { openConsole } from './open-console.ts';
import { addFilter } from './page-actions.ts';

const opened = openConsole(0);

/** Sends a message and returns its request id. */
async function send(): Promise<string> {
  const messages = [{ role: 'user', content: 'Good morning!' }];
  const answer = await opened.turnpike.post(opened.filled.key.secret, {
    model: 'sandbox-lorem',
    max_tokens: 100,
    messages,
  });
  await answer.text();
  return answer.headers.get('request-id') ?? '';
}

test.skipIf(chromium === null)('the guide becomes the overview when the first request completes', async () => {
  await using visitor = await opened.visit('operator');
  await visitor.goTo('/');
  await visitor.page.getByRole('heading', { name: 'Send your first request' }).waitFor();
  expect(await visitor.page.getByText(`curl '${opened.turnpike.url}/v1/messages'`).count()).toBe(1);
  await send();
  await visitor.page.getByRole('heading', { name: 'Recent requests' }).waitFor();
  await visitor.page.getByRole('link', { name: 'acme' }).waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)(
  'a refund is limited to the cost, is issued once, and appears in the price and the ledger entries',
  async () => {
    const requestId = await send();
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    await visitor.goTo(`/usage/${requestId}`);
    await page.getByText('Verified: recalculated cost matches.').waitFor();
    const before = Number((await opened.turnpike.admin('GET', `/usage/${requestId}`))['cost']);
    await page.getByRole('button', { name: 'Refund…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount (USD)').fill('1');
    await dialog.getByRole('button', { name: 'Refund' }).click();
    await dialog.getByText('of this message that can still be refunded').waitFor();
    await dialog.getByLabel('Amount (USD)').fill('0.0001');
    await dialog.getByLabel('Note').fill('on <b>us</b>');
    await dialog.getByRole('button', { name: 'Refund' }).dblclick();
    await page.getByText('Refunded').waitFor();
    await page.getByText('on <b>us</b>').waitFor();
    expect(Number((await opened.turnpike.admin('GET', `/usage/${requestId}`))['cost'])).toBeCloseTo(before - 0.0001, 9);
    expect(await page.getByText('Contact an operator of this service').count()).toBe(0);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('an owner sees no other accounts, no margins and no refund button', async () => {
  const requestId = await send();
  await using visitor = await opened.visit('owner');
  const { page } = visitor;
  await visitor.goTo(`/usage/${requestId}`);
  await page.getByText('Verified: recalculated cost matches.').waitFor();
  for (const name of ['Refund…', 'Account', 'Margin'])
    expect({ name, count: await page.getByText(name, { exact: true }).count() }).toEqual({ name, count: 0 });
  await visitor.goTo('/');
  await page.getByRole('heading', { name: 'Recent requests' }).waitFor();
  for (const name of ['Margin', 'Providers'])
    expect({ name, count: await page.getByText(name, { exact: true }).count() }).toEqual({ name, count: 0 });
  // The menu leads to the accounts below their own.
  expect(await page.locator('main').getByText('Accounts', { exact: true }).count()).toBe(0);
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)(
  'a search with few results fetches up to ten more pages, and further pages on demand',
  async () => {
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    let askedCount = 0;
    // Simulates millions of other requests.
    await page.route('**/api/v1/usage?*', (route) => {
      askedCount++;
      return route.fulfill({ json: { data: [], next_cursor: `c${askedCount}` } });
    });
    await visitor.goTo('/usage?model=rare');
    await page.getByText('Select “Show more” to search further back').waitFor();
    expect(askedCount).toBe(11);
    await page.getByRole('button', { name: 'Show more' }).click();
    while (askedCount < 21) await page.waitForTimeout(20);
    await page.getByText('Select “Show more” to search further back').waitFor();
    expect(askedCount).toBe(21);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('the search opens a request by its id and rejects anything else', async () => {
  const requestId = await send();
  await using visitor = await opened.visit('owner');
  const { page } = visitor;
  await visitor.goTo('/usage?outcome=failed');
  await page.getByText('No matching requests').waitFor();
  await addFilter(page, 'Request ID');
  const search = page.getByRole('textbox', { name: 'Request ID' });
  await search.fill('../unit/accounts');
  await search.press('Enter');
  await page.getByText('A request ID is req_').waitFor();
  await search.fill(` ${requestId} `);
  await search.press('Enter');
  await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
  await visitor.goTo('/usage/req_0000000000000000000000000');
  await page.getByText('Request not found').waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('the totals above the list are those of the filtered requests', async () => {
  await send();
  await using visitor = await opened.visit('operator');
  const { page } = visitor;
  const totals = page.getByRole('region', { name: 'Totals of the filtered requests' });
  const { total } = (await opened.turnpike.admin('GET', '/usage/totals?limit=1')) as { total: { messages: number } };
  for (const period of ['', '?range=1h', '?range=30d', '?outcome=completed']) {
    await visitor.goTo(`/usage${period}`);
    await totals.getByText(String(total.messages), { exact: true }).waitFor();
  }
  await visitor.goTo('/usage?model=sandbox-slow');
  await totals.getByText('0', { exact: true }).first().waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('an owner sees what a session cost by model, and its requests', async () => {
  const session = 'a session of an <b>agent</b>';
  for (const model of ['sandbox-lorem', 'sandbox-echo', 'sandbox-lorem']) {
    const body = { model, max_tokens: 100, messages: [{ role: 'user', content: 'Good morning!' }] };
    const headers = { 'x-claude-code-session-id': session, 'x-turnpike-tags': 'team=search' };
    await (await opened.turnpike.post(opened.filled.key.secret, body, { headers })).text();
  }
  await using visitor = await opened.visit('owner');
  const { page } = visitor;
  await visitor.goTo('/usage?tag=team:search');
  await page.getByRole('table', { name: 'Requests' }).getByRole('link').first().click();
  await page.getByText('Tag team').waitFor();
  await page.getByRole('link', { name: session }).click();
  const models = page.getByRole('table', { name: 'Requests by model' });
  await models.getByRole('link', { name: 'sandbox-lorem' }).waitFor();
  expect(await models.getByRole('row').count()).toBe(4); // with names and total
  const requests = page.getByRole('table', { name: 'Requests', exact: true });
  await requests.getByRole('row').nth(3).waitFor();
  expect(await requests.getByRole('row').count()).toBe(4);
  expect(visitor.problems).toEqual([]);
});
