// The playground and what follows a new key, in a real browser against the real service.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { chromium } from '../clients/open-browser.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { type Filled, fillConsole } from './fill-console.ts';
import { startChromium, type Visitor, visit } from './open-console.ts';

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

async function ownerAtPlayground(model: string): Promise<Visitor> {
  const visitor = await visit(browser, { url: turnpike.url, token: filled.tokens.owner });
  await visitor.goTo(`/playground?model=${model}`);
  await visitor.page.getByRole('button', { name: 'Make the key' }).click();
  await visitor.page.getByText('In use:').waitFor();
  return visitor;
}

test.skipIf(chromium === null)('an answer streams with its thoughts, and its exact cost stands below it', async () => {
  await using visitor = await ownerAtPlayground('sandbox-thinking');
  const { page } = visitor;
  const write = page.getByLabel('Your message');
  await write.fill('Hello <b>you</b>');
  await write.press('Control+Enter');
  const answer = page.getByRole('article', { name: 'Answer' });
  await answer.getByText('Hello <b>you</b>').waitFor();
  await answer.getByText('Thoughts').waitFor();
  const link = answer.getByRole('link', { name: 'Show the record' });
  const requestId = (await link.getAttribute('href'))?.split('/').at(-1);
  const record = await turnpike.admin('GET', `/usage/${requestId}`);
  expect(await answer.getByTestId('cost').getAttribute('title')).toBe(`${record['cost']} USD`);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain('sk-tp-');
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('a tool is called, is given its result, and the model goes on', async () => {
  await using visitor = await ownerAtPlayground('sandbox-tool');
  const { page } = visitor;
  await page.getByRole('button', { name: 'Put in an example' }).click();
  await page.getByLabel('Your message').fill('How is the weather?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Call of get_weather').waitFor();
  await page.getByLabel('Result of get_weather').fill('Rain');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('article', { name: 'Answer' }).nth(1).getByText('Rain').waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('a stream is stopped midway, is billed, and what had come stays', async () => {
  await using visitor = await ownerAtPlayground('sandbox-lorem');
  const { page } = visitor;
  await page.getByLabel('Tokens at most').fill('4000');
  await page.getByLabel('Your message').fill('Go on');
  await page.getByRole('button', { name: 'Send' }).click();
  const answer = page.getByRole('article', { name: 'Answer' });
  await answer.getByText('lorem ipsum').waitFor();
  await page.getByLabel('Your message').fill('And then?'); // which stopping must not send
  await page.getByRole('button', { name: 'Stop' }).click();
  await answer.getByText('stopped by you').waitFor();
  expect(await page.getByRole('article', { name: 'Answer' }).count()).toBe(1);
  expect(await page.getByLabel('Your message').inputValue()).toBe('And then?');
  await answer.getByText('lorem ipsum').waitFor();
  const href = await answer.getByRole('link', { name: 'Show the record' }).getAttribute('href');
  expect(await turnpike.admin('GET', `/usage/${href?.split('/').at(-1)}`)).toMatchObject({ outcome: 'client_gone' });
});

test.skipIf(chromium === null)('a refusal is told by its code, and the message can be taken back', async () => {
  await using visitor = await ownerAtPlayground('sandbox-error-529');
  const { page } = visitor;
  await page.getByLabel('Your message').fill('Are you there?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('529 upstream_overloaded').waitFor();
  await page.getByRole('button', { name: 'Take it back' }).click();
  expect(await page.getByLabel('Your message').inputValue()).toBe('Are you there?');
});

test.skipIf(chromium === null)(
  'a new key is made once by two clicks, and its first request is seen to arrive',
  async () => {
    await using visitor = await visit(browser, { url: turnpike.url, token: filled.tokens.owner });
    const { page } = visitor;
    await visitor.goTo('/keys/new');
    await page.getByLabel('Name').fill('made by two clicks');
    await page.getByRole('button', { name: 'Make the key' }).dblclick();
    const secret = await page.getByTestId('secret').textContent();
    const keys = (await turnpike.admin('GET', `/keys?account=${filled.accounts.acme}`))['data'] as { name: string }[];
    expect(keys.filter(({ name }) => name === 'made by two clicks')).toHaveLength(1);
    const message = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };
    expect((await turnpike.post(secret ?? '', message)).status).toBe(200);
    await page.getByText('It has arrived.').waitFor();
    expect(visitor.problems).toEqual([]);
  },
);
