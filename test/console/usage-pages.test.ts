// The overview and the pages of usage in a real browser: what comes by itself, what is given back, what holders are
// not shown.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { chromium } from '../clients/open-browser.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { type Filled, fillConsole } from './fill-console.ts';
import { startChromium, visit } from './open-console.ts';

setDefaultTimeout(60_000);

let turnpike: Turnpike;
let filled: Filled;
let browser: Browser;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startTurnpike();
  filled = await fillConsole(turnpike, 0);
  browser = await startChromium();
});
afterAll(async () => {
  await browser?.close();
  await turnpike?.stop();
});

/** Sends a message; its request id. */
async function send(): Promise<string> {
  const messages = [{ role: 'user', content: 'Good morning!' }];
  const answer = await turnpike.post(filled.key.secret, { model: 'sandbox-lorem', max_tokens: 100, messages });
  await answer.text();
  return answer.headers.get('request-id') ?? '';
}

test.skipIf(chromium === null)('the first steps become the overview when the first request has ended', async () => {
  await using visitor = await visit(browser, { url: turnpike.url, token: filled.tokens.operator });
  await visitor.goTo('/');
  await visitor.page.getByRole('heading', { name: 'Three steps to the first request' }).waitFor();
  expect(await visitor.page.getByText(`curl '${turnpike.url}/v1/messages'`).count()).toBe(1);
  await send();
  await visitor.page.getByRole('heading', { name: 'Last requests' }).waitFor();
  await visitor.page.getByRole('link', { name: 'acme' }).waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('what is given back is bounded, comes once, and is in price and journal', async () => {
  const requestId = await send();
  await using visitor = await visit(browser, { url: turnpike.url, token: filled.tokens.operator });
  const { page } = visitor;
  await visitor.goTo(`/usage/${requestId}`);
  await page.getByText('it is exactly the cost that was recorded').waitFor();
  const before = Number((await turnpike.admin('GET', `/usage/${requestId}`))['cost']);
  await page.getByRole('button', { name: 'Refund …' }).click();
  const dialogue = page.getByRole('dialog');
  await dialogue.getByLabel('Amount in USD').fill('1');
  await dialogue.getByRole('button', { name: 'Refund' }).click();
  await dialogue.getByText('that is left to refund of this message').waitFor();
  await dialogue.getByLabel('Amount in USD').fill('0.0001');
  await dialogue.getByLabel('Note').fill('on <b>us</b>');
  await dialogue.getByRole('button', { name: 'Refund' }).dblclick();
  await page.getByText('Given back since').waitFor();
  await page.getByText('on <b>us</b>').waitFor();
  expect(Number((await turnpike.admin('GET', `/usage/${requestId}`))['cost'])).toBeCloseTo(before - 0.0001, 9);
  expect(await page.getByText('Please tell whoever operates').count()).toBe(0);
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('a holder is shown neither accounts, nor margins, nor a way to refund', async () => {
  const requestId = await send();
  await using visitor = await visit(browser, { url: turnpike.url, token: filled.tokens.owner });
  const { page } = visitor;
  await visitor.goTo(`/usage/${requestId}`);
  await page.getByText('it is exactly the cost that was recorded').waitFor();
  for (const name of ['Refund …', 'Account', 'What is left of it'])
    expect({ name, count: await page.getByText(name, { exact: true }).count() }).toEqual({ name, count: 0 });
  await visitor.goTo('/');
  await page.getByRole('heading', { name: 'Last requests' }).waitFor();
  for (const name of ['Margin', 'Providers', 'Accounts'])
    expect({ name, count: await page.getByText(name, { exact: true }).count() }).toEqual({ name, count: 0 });
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)(
  'a search that finds little looks further back by itself, so many times, and then when it is asked',
  async () => {
    await using visitor = await visit(browser, { url: turnpike.url, token: filled.tokens.operator });
    const { page } = visitor;
    let askedCount = 0;
    // As of millions of other requests, which no test can send.
    await page.route('**/api/v1/usage?*', (route) => {
      askedCount++;
      return route.fulfill({ json: { data: [], next_cursor: `c${askedCount}` } });
    });
    await visitor.goTo('/usage?model=rare');
    await page.getByText('“Show more” looks further back').waitFor();
    expect(askedCount).toBe(11);
    await page.getByRole('button', { name: 'Show more' }).click();
    while (askedCount < 21) await page.waitForTimeout(20);
    await page.getByText('“Show more” looks further back').waitFor();
    expect(askedCount).toBe(21);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('a request is gone to by its id, and nothing that is none', async () => {
  const requestId = await send();
  await using visitor = await visit(browser, { url: turnpike.url, token: filled.tokens.owner });
  const { page } = visitor;
  await visitor.goTo('/usage?outcome=failed');
  await page.getByText('No request matches').waitFor();
  const search = page.getByLabel('Request id');
  await search.fill('../accounts');
  await search.press('Enter');
  await page.getByText('A request id is req_').waitFor();
  await search.fill(` ${requestId} `);
  await search.press('Enter');
  await page.getByRole('heading', { name: 'Request', exact: true }).waitFor();
  await visitor.goTo('/usage/req_0000000000000000000000000');
  await page.getByText('There is no record of this request').waitFor();
  expect(visitor.problems).toEqual([]);
});
