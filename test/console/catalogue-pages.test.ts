// What is sold, changed in a real browser against a real service: a provider in its four steps, a model, a group, a
// setting, an account with its owner. What is seen before it is saved is what is done.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { chromium } from '../clients/open-browser.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { startChromium, type Visitor, visit } from './open-console.ts';

const seen = test.skipIf(chromium === null);
const KEY = 'sk-of-the-provider';
setDefaultTimeout(60_000);

let turnpike: Turnpike;
let browser: Browser;
let upstream: Bun.Server<undefined>;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startTurnpike();
  browser = await startChromium();
  // As much of a provider as its test asks for: its models, to who has the key.
  upstream = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) =>
      request.headers.get('x-api-key') === KEY
        ? Response.json({ data: [{ id: 'claude-haiku-4-5' }], has_more: false })
        : Response.json({ type: 'error', error: { type: 'authentication_error', message: 'no' } }, { status: 401 }),
  });
});
afterAll(async () => {
  await browser?.close();
  await upstream?.stop(true);
  await turnpike?.stop();
});

async function visitAs(role: string, account?: string): Promise<Visitor> {
  const { token } = await turnpike.admin('POST', '/tokens', { role, ...(account && { account }) });
  return await visit(browser, { url: turnpike.url, token: String(token) });
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const modelNamed = async (name: string) => {
  const { data } = (await turnpike.admin('GET', '/models?limit=1000')) as { data: Record<string, unknown>[] };
  return data.find((model) => model['name'] === name);
};

seen('a provider is added in four steps: a wrong key is seen and mended, and its models are sold', async () => {
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  await visitor.goTo('/new-provider');
  await press(page, 'Next: Anthropic');
  await page.getByRole('textbox', { name: 'Address' }).fill(upstream.url.origin);
  await page.getByRole('textbox', { name: 'Key' }).fill('sk-wrong');
  await press(page, 'Save and test');
  await page.getByText('private_network: true').waitFor(); // the fault stands beside its field
  await page.getByRole('switch', { name: 'It is in a private network' }).click();
  await press(page, 'Save and test');
  await page.getByText('It does not work').waitFor();
  await press(page, 'Mend the connection');
  await page.getByRole('textbox', { name: 'Key' }).fill(KEY);
  await press(page, 'Save and test');
  await page.getByText('It lists 1 models.').waitFor();
  await press(page, 'Choose models');
  await page.getByRole('checkbox', { name: 'claude-haiku-4-5', exact: true }).click();
  await press(page, 'Sell 1 model');
  const dialogue = page.getByRole('dialog', { name: 'What will change' });
  await dialogue.getByText('Model claude-haiku-4-5').waitFor();
  expect(await modelNamed('claude-haiku-4-5')).toBeUndefined();
  await press(page, 'Make this change');
  await page.waitForURL('**/console/models?provider=anthropic');
  await page.getByRole('link', { name: 'claude-haiku-4-5' }).waitFor();
  expect(await modelNamed('claude-haiku-4-5')).toMatchObject({ routes: [{ provider: 'anthropic' }] });
  expect(await page.content()).not.toContain(KEY);
  expect(visitor.problems).toEqual([]);
});

seen('a model is changed: a fault stands beside its field, what will change is shown, and then it is so', async () => {
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  await visitor.goTo('/models/sandbox-echo/edit');
  const input = page.getByRole('textbox', { name: 'Input', exact: true });
  await input.fill('a lot');
  await press(page, 'Show what will change');
  await page.getByText('must be a decimal in USD').waitFor();
  await input.fill('1.25');
  await press(page, 'Show what will change');
  const dialogue = page.getByRole('dialog', { name: 'What will change' });
  await dialogue.getByText('price.input').waitFor();
  expect(await dialogue.getByRole('row').allInnerTexts()).toEqual(['Member\tNow\tAfterwards', 'price.input\t1\t1.25']);
  await press(page, 'Make this change');
  await page.waitForURL('**/console/models/sandbox-echo');
  await page.getByText('$1.25').first().waitFor();
  expect(await modelNamed('sandbox-echo')).toMatchObject({ price: { input: '1.25' } });
  expect(visitor.problems).toEqual([]);
});

seen('what somebody else changed meanwhile is shown before anything is saved over it', async () => {
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  await visitor.goTo('/models/sandbox-lorem/edit');
  await page.getByRole('textbox', { name: 'Input', exact: true }).fill('7');
  await press(page, 'Show what will change');
  await page.getByRole('dialog', { name: 'What will change' }).waitFor();
  const routes = [{ provider: 'sandbox', weight: 3 }];
  await turnpike.admin('POST', '/apply', {
    document: { models: { 'sandbox-lorem': { price: { input: '1', output: '5' }, routes } } },
  });
  await press(page, 'Make this change');
  await page.getByText('Something else was changed meanwhile').waitFor();
  await page.getByText('routes.1.weight').waitFor();
  expect(await modelNamed('sandbox-lorem')).toMatchObject({ price: { input: '1' }, routes: [{ weight: 3 }] });
  expect(visitor.problems).toEqual([]);
});

seen('a group is made, a setting changed and put back, a model removed', async () => {
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  await visitor.goTo('/groups');
  await press(page, 'Add a group');
  await page.getByRole('textbox', { name: 'Name' }).fill('half');
  await page.getByRole('dialog').getByLabel('Models').fill('sandbox-t*');
  await page.keyboard.press('Enter');
  await page.getByText('Sells sandbox-thinking, sandbox-tool.').waitFor();
  await page.getByRole('textbox', { name: 'Factor on prices' }).fill('0.5');
  await press(page, 'Show what will change');
  await press(page, 'Make this change');
  await page.getByText('× 0.5').waitFor();

  await visitor.goTo('/settings');
  await press(page, 'Change drain_seconds');
  await page.getByRole('textbox', { name: 'New value' }).fill('-1');
  await press(page, 'Show what will change');
  await page.getByText('must be at least 0').waitFor();
  await page.getByRole('textbox', { name: 'New value' }).fill('45');
  await press(page, 'Show what will change');
  await press(page, 'Make this change');
  await page.getByText('45 seconds').waitFor();
  await press(page, 'Back to the default');
  await press(page, 'Make this change');
  await page.getByText('45 seconds').waitFor({ state: 'detached' });
  const settings = (await turnpike.admin('GET', '/settings'))['data'] as { name: string; value: unknown }[];
  expect(settings.find(({ name }) => name === 'drain_seconds')?.value).toBe(600);

  await visitor.goTo('/models/sandbox-slow');
  await press(page, 'Remove');
  await page.getByRole('dialog', { name: 'What will change' }).getByRole('button', { name: 'Remove' }).click();
  await page.waitForURL('**/console/models');
  expect(await modelNamed('sandbox-slow')).toBeUndefined();
  expect(visitor.problems).toEqual([]);
});

seen(
  'an account is added with its credit and its owner, whose link is shown; disabled and found by its name',
  async () => {
    await using visitor = await visitAs('operator');
    const { page } = visitor;
    await visitor.goTo('/new-account');
    await page.getByRole('textbox', { name: 'Name' }).fill('Acme East');
    await page.getByRole('textbox', { name: 'First credit' }).fill('12.50');
    await page.getByRole('switch', { name: 'Invite its owner' }).click();
    await page.getByRole('textbox', { name: 'E-mail of the owner' }).fill('ada@example.com');
    await press(page, 'Add the account');
    await page.getByRole('heading', { name: 'Acme East was added' }).waitFor();
    await press(page, 'Invite its owner');
    expect(await page.getByTestId('link').textContent()).toContain('/console/invitation#tk-inv-');
    await visitor.goTo('/accounts?name=acme');
    await page.getByRole('link', { name: 'Acme East' }).click();
    await page.getByText('$12.50').first().waitFor();
    await page.getByText('ada@example.com').waitFor();
    await press(page, 'Disable');
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await page.getByText('This account is disabled').waitFor();
    const { data } = (await turnpike.admin('GET', '/accounts?name=acme')) as { data: Record<string, unknown>[] };
    expect(data).toMatchObject([{ name: 'Acme East', status: 'disabled', balance: '12.50' }]);
    expect(visitor.problems).toEqual([]);
  },
);

seen('an owner sees what they pay, and nothing of providers, routes or changes', async () => {
  await turnpike.admin('POST', '/apply', {
    document: { groups: { dear: { models: ['sandbox-echo'], multiplier: '4' } } },
  });
  const { id } = await turnpike.admin('POST', '/accounts', { name: 'holder', groups: ['dear'] });
  await using visitor = await visitAs('owner', String(id));
  const { page } = visitor;
  await visitor.goTo('/models');
  await page.getByRole('link', { name: 'sandbox-echo' }).waitFor();
  expect(await page.getByRole('row').nth(1).textContent()).toContain('$5.00'); // 1.25 × 4
  const text = await page.locator('main').textContent();
  for (const hidden of ['Price list', 'Add a model', 'Routes']) expect(text).not.toContain(hidden);
  for (const place of ['/providers', '/settings', '/accounts', '/new-model', '/models/sandbox-echo/edit']) {
    await visitor.goTo(place);
    await page.getByText('Your role may not see this page.').waitFor();
  }
  await visitor.goTo(`/accounts/${id}`);
  await page.getByRole('heading', { name: 'holder' }).waitFor();
  expect(await page.getByRole('button', { name: 'Disable' }).count()).toBe(0);
  expect(visitor.problems).toEqual([]);
});

seen('a model is found by its address and its links, whatever characters its name has', async () => {
  const name = 'meta/llama 3?#%2F'.replace(' ', '-');
  const routes = [{ provider: 'sandbox' }];
  await turnpike.admin('POST', '/apply', {
    document: { models: { [name]: { price: { input: '1', output: '2' }, routes } } },
  });
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  const isShown = () => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  for (const place of [`/models/${encodeURIComponent(name)}`, '/models', '/providers/sandbox']) {
    await visitor.goTo(place);
    if (!place.startsWith('/models/')) await page.getByRole('link', { name, exact: true }).click();
    await isShown();
    await page.getByText('No message in this time.').waitFor();
  }
  await page.getByRole('link', { name: 'Change' }).click();
  await page.getByRole('heading', { name: `Change ${name}` }).waitFor();
  await page.getByRole('textbox', { name: 'Name for people' }).fill('Llama');
  await press(page, 'Show what will change');
  await press(page, 'Make this change');
  await page.getByText('Llama', { exact: true }).waitFor();
  await isShown();
  expect(visitor.problems).toEqual([]);
});
