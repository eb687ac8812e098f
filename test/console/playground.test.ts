// The playground and the page after creating a key, in a real browser against a real service.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import type { KeyShape } from '../../src/admin-api/shapes.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
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
  return visitor;
}

test.skipIf(chromium === null)(
  'a response streams with its thinking, and its exact cost appears below it',
  async () => {
    await using visitor = await ownerAtPlayground('sandbox-thinking');
    const { page } = visitor;
    const write = page.getByLabel('Your message');
    await write.fill('Hello <b>you</b>');
    await write.press('Control+Enter');
    const answer = page.getByRole('article', { name: 'Response' });
    await answer.getByText('Hello <b>you</b>').waitFor();
    await answer.getByText('Thinking', { exact: true }).waitFor();
    const link = answer.getByRole('link', { name: 'View request' });
    const requestId = (await link.getAttribute('href'))?.split('/').at(-1);
    const record = await turnpike.admin('GET', `/usage/${requestId}`);
    expect(await answer.getByTestId('cost').getAttribute('title')).toBe(`${record['cost']} USD`);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain('sk-tp-');
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('the model continues after the user enters a tool result', async () => {
  await using visitor = await ownerAtPlayground('sandbox-tool');
  const { page } = visitor;
  await page.getByRole('button', { name: 'Insert example' }).click();
  await page.getByLabel('Your message').fill('How is the weather?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Tool call: get_weather').waitFor();
  await page.getByLabel('Result of get_weather').fill('Rain');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('article', { name: 'Response' }).nth(1).getByText('Rain').waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('a stopped stream is billed and keeps the text received so far', async () => {
  await using visitor = await ownerAtPlayground('sandbox-lorem');
  const { page } = visitor;
  await page.getByLabel('Max tokens').fill('4000');
  await page.getByLabel('Your message').fill('Go on');
  await page.getByRole('button', { name: 'Send' }).click();
  const answer = page.getByRole('article', { name: 'Response' });
  await answer.getByText('lorem ipsum').waitFor();
  await page.getByLabel('Your message').fill('And then?'); // stopping must not send this
  await page.getByRole('button', { name: 'Stop' }).click();
  await answer.getByText('stopped').waitFor();
  expect(await page.getByRole('article', { name: 'Response' }).count()).toBe(1);
  expect(await page.getByLabel('Your message').inputValue()).toBe('And then?');
  await answer.getByText('lorem ipsum').waitFor();
  const href = await answer.getByRole('link', { name: 'View request' }).getAttribute('href');
  expect(await turnpike.admin('GET', `/usage/${href?.split('/').at(-1)}`)).toMatchObject({ outcome: 'client_gone' });
});

test.skipIf(chromium === null)('a rejected message shows the error code and can be edited', async () => {
  await using visitor = await ownerAtPlayground('sandbox-error-529');
  const { page } = visitor;
  await page.getByLabel('Your message').fill('Are you there?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('529 upstream_overloaded').waitFor();
  await page.getByRole('button', { name: 'Edit message' }).click();
  expect(await page.getByLabel('Your message').inputValue()).toBe('Are you there?');
});

test.skipIf(chromium === null)('a double click creates one key, and the page shows its first request', async () => {
  await using visitor = await visit(browser, { url: turnpike.url, token: filled.tokens.owner });
  const { page } = visitor;
  await visitor.goTo('/keys/new');
  await page.getByLabel('Name').fill('made by two clicks');
  await page.getByRole('button', { name: 'Create key' }).dblclick();
  const secret = await page.getByTestId('secret').textContent();
  const keys = (await turnpike.admin('GET', `/keys?account=${filled.accounts.acme}`))['data'] as { name: string }[];
  expect(keys.filter(({ name }) => name === 'made by two clicks')).toHaveLength(1);
  const message = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };
  expect((await turnpike.post(secret ?? '', message)).status).toBe(200);
  await page.getByText('Request received').waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)(
  'the first message creates one key within the spend limit, two models respond, and a previous prompt is reusable',
  async () => {
    await using visitor = await ownerAtPlayground('sandbox-echo&compare=sandbox-thinking');
    const { page } = visitor;
    const keysBefore = await playgroundKeys();
    await page.getByLabel('Your message').fill('Compare this');
    await page.getByRole('button', { name: 'Send' }).click();
    const answers = page.getByRole('article', { name: 'Response' });
    await answers.nth(0).getByTestId('cost').waitFor();
    await answers.nth(1).getByTestId('cost').waitFor();
    expect(await answers.allInnerTexts()).toEqual([
      expect.stringContaining('sandbox-echo'),
      expect.stringContaining('sandbox-thinking'),
    ]);
    const [key, ...others] = (await playgroundKeys()).filter(({ id }) => !keysBefore.some((one) => one.id === id));
    expect(others).toEqual([]);
    expect(key).toMatchObject({ quota: '1.00', account: filled.accounts.acme });
    expect(Date.parse(key?.expires_at ?? '')).toBeLessThan(Date.now() + 13 * 3_600_000);
    await page.getByRole('button', { name: 'Previous prompts' }).click();
    await page.getByRole('menuitem', { name: 'Compare this' }).click();
    expect(await page.getByLabel('Your message').inputValue()).toBe('Compare this');
    expect(visitor.problems).toEqual([]);
  },
);

async function playgroundKeys() {
  const { data } = await turnpike.admin('GET', `/keys?account=${filled.accounts.acme}&limit=1000`);
  return (data as KeyShape[]).filter(({ name }) => name === 'playground');
}
