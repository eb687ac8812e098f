// Changing providers, models, groups, settings and accounts in a real browser against a real service.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { upstreamEvents } from '../support/scripted-upstream.ts';
import { startOwnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { type Visitor, visit } from './open-console.ts';

const seen = test.skipIf(chromium === null);
const KEY = 'sk-of-the-provider';

let turnpike: Turnpike;
let upstream: Bun.Server<undefined>;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startOwnTurnpike('its pages show the whole installation');
  // A provider with a list of models and one answer.
  upstream = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      if (request.headers.get('x-api-key') !== KEY)
        return Response.json(
          { type: 'error', error: { type: 'authentication_error', message: 'no' } },
          { status: 401 },
        );
      if (request.method === 'GET')
        return Response.json({ data: [{ id: 'claude-haiku-4-5' }, { id: 'claude-unheard-of' }], has_more: false });
      return new Response(upstreamEvents({ text: 'It works.' }).join(''), {
        headers: { 'content-type': 'text/event-stream' },
      });
    },
  });
});
afterAll(async () => {
  await upstream?.stop(true);
  await turnpike?.stop();
});

async function visitAs(role: string, account?: string): Promise<Visitor> {
  const { token } = await turnpike.admin('POST', '/tokens', { role, ...(account && { account }) });
  return await visit({ url: turnpike.url, token: String(token) });
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const modelNamed = async (name: string) => {
  const { data } = (await turnpike.admin('GET', '/models?limit=1000')) as { data: Record<string, unknown>[] };
  return data.find((model) => model['name'] === name);
};

seen('adding a provider tests its key, lets the operator correct it, and adds its models', async () => {
  const { id } = await turnpike.admin('POST', '/accounts', { name: 'tester', groups: ['default'] });
  await turnpike.admin('POST', `/accounts/${id}/credits`, { amount: '5.00', kind: 'adjustment' });
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  await visitor.goTo('/providers/new');
  await press(page, 'Next: Anthropic');
  await press(page, 'Use another address');
  await page.getByRole('textbox', { name: 'Address' }).fill(upstream.url.origin);
  await page.getByRole('textbox', { name: 'API key' }).fill('sk-wrong');
  await press(page, 'Save and test');
  await page.getByText('Select “Private network” to allow it').waitFor(); // the fault appears beside its field
  await page.getByRole('switch', { name: 'Private network' }).click();
  await press(page, 'Save and test');
  await page.getByText('Test failed').waitFor();
  await press(page, 'Edit connection');
  await page.getByRole('textbox', { name: 'API key' }).fill(KEY);
  await press(page, 'Save and test');
  await page.getByText('It lists 2 models.').waitFor();
  await press(page, 'Choose models');
  await page.getByRole('checkbox', { name: 'claude-haiku-4-5', exact: true }).click();
  await page.getByRole('checkbox', { name: 'claude-unheard-of', exact: true }).click();
  await page.getByRole('textbox', { name: 'Markup (%)' }).fill('20');
  const own = page.getByRole('region', { name: 'claude-unheard-of' });
  await own.getByRole('textbox', { name: 'Sold as' }).fill('ours');
  await press(page, 'Review changes');
  await page.getByText('no price of "claude-unheard-of" is known').waitFor(); // never sold without one
  await own.getByRole('textbox', { name: 'Input' }).fill('2');
  await own.getByRole('textbox', { name: 'Output' }).fill('4');
  await press(page, 'Review changes');
  const dialog = page.getByRole('dialog', { name: 'Review changes' });
  await dialog.getByText('Model claude-haiku-4-5').waitFor();
  await dialog.getByRole('row', { name: 'price.input 1.2', exact: true }).waitFor();
  expect(await modelNamed('claude-haiku-4-5')).toBeUndefined();
  await press(page, 'Save changes');
  await page.getByRole('combobox', { name: 'Account' }).click();
  await page.getByRole('option', { name: 'tester' }).click();
  await press(page, 'Send test message');
  await page.getByText('It works.').waitFor();
  await page.getByTestId('cost').waitFor();
  expect(await page.getByTestId('cost').textContent()).toBe('$0.000102'); // 25 in at 1.2, 12 out at 6
  await page.getByRole('link', { name: 'Done' }).click();
  await page.waitForURL('**/console/models?provider=anthropic');
  await page.getByRole('link', { name: 'claude-haiku-4-5' }).waitFor();
  await page.getByRole('link', { name: 'ours' }).waitFor();
  await visitor.goTo('/models');
  await page.getByRole('link', { name: 'claude-haiku-4-5' }).waitFor();
  expect(await page.getByRole('link', { name: 'sandbox-echo' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Sandbox models' }).click();
  await page.getByRole('link', { name: 'sandbox-echo' }).waitFor();
  expect(await modelNamed('claude-haiku-4-5')).toMatchObject({ routes: [{ provider: 'anthropic' }] });
  expect(await page.content()).not.toContain(KEY);
  expect(visitor.problems).toEqual([]);
});

seen(
  'editing a model shows faults beside their fields and saves only after review, and schedules a price with its effect',
  async () => {
    await using visitor = await visitAs('operator');
    const { page } = visitor;
    await visitor.goTo('/models/sandbox-echo/edit');
    const input = page.getByRole('textbox', { name: 'Input', exact: true });
    await input.fill('a lot');
    await press(page, 'Review changes');
    await page.getByText('must be a decimal in USD').waitFor();
    await input.fill('1.25');
    await press(page, 'Review changes');
    const dialog = page.getByRole('dialog', { name: 'Review changes' });
    await dialog.getByText('price.input').waitFor();
    expect(await dialog.getByRole('row').allInnerTexts()).toEqual(['Field\tCurrent\tNew', 'price.input\t1\t1.25']);
    await press(page, 'Save changes');
    await page.waitForURL('**/console/models/sandbox-echo');
    await page.getByText('$1.25').first().waitFor();
    expect(await modelNamed('sandbox-echo')).toMatchObject({ price: { input: '1.25' } });
    expect(visitor.problems).toEqual([]);

    // Its page, which is open now, schedules prices.
    await press(page, 'Schedule price');
    const form = page.getByRole('dialog', { name: 'Schedule price' });
    await form.getByLabel('Takes effect').fill('2099-01-01T00:00');
    await form.getByRole('textbox', { name: 'Input', exact: true }).fill('a lot');
    await press(page, 'Show effect on the last 7 days');
    await form.getByText('must be a decimal in USD').waitFor();
    await form.getByRole('textbox', { name: 'Input', exact: true }).fill('2.5');
    await press(page, 'Show effect on the last 7 days');
    await form.getByText('No requests in the last 7 days.').waitFor();
    expect(await modelNamed('sandbox-echo')).toMatchObject({ price_changes: [] });
    await form.getByRole('button', { name: 'Schedule price' }).click();
    await page.getByText('$2.50 input').waitFor();
    expect(await modelNamed('sandbox-echo')).toMatchObject({ price_changes: [{ input: '2.5' }] });
    await press(page, 'Cancel price');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel price' }).click();
    await page.getByText('No price is scheduled.').waitFor();
    expect(await modelNamed('sandbox-echo')).toMatchObject({ price_changes: [] });
    expect(visitor.problems).toEqual([]);
  },
);

seen('a concurrent change requires a new review before saving', async () => {
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  await visitor.goTo('/models/sandbox-lorem/edit');
  await page.getByRole('textbox', { name: 'Input', exact: true }).fill('7');
  await press(page, 'Review changes');
  await page.getByRole('dialog', { name: 'Review changes' }).waitFor();
  const routes = [{ provider: 'sandbox', weight: 3 }];
  await turnpike.admin('POST', '/apply', {
    document: { models: { 'sandbox-lorem': { price: { input: '1', output: '5' }, routes } } },
  });
  await press(page, 'Save changes');
  await page.getByText('The configuration changed in the meantime').waitFor();
  await page.getByText('routes.1.weight').waitFor();
  expect(await modelNamed('sandbox-lorem')).toMatchObject({ price: { input: '1' }, routes: [{ weight: 3 }] });
  expect(visitor.problems).toEqual([]);
});

seen('an operator creates a group, changes and resets a setting, and deletes a model', async () => {
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  await visitor.goTo('/groups');
  await press(page, 'Create group');
  await page.getByRole('textbox', { name: 'Name' }).fill('half');
  await page.getByRole('dialog').getByLabel('Models').fill('sandbox-t*');
  await page.keyboard.press('Enter');
  await page.getByText('Matches sandbox-thinking, sandbox-tool, sandbox-transcription.').waitFor();
  await page.getByRole('textbox', { name: 'Price multiplier' }).fill('0.5');
  await press(page, 'Review changes');
  await press(page, 'Save changes');
  await page.getByText('× 0.5').waitFor();

  await visitor.goTo('/settings?search=drain_seconds');
  await press(page, 'Edit Drain timeout');
  await page.getByRole('textbox', { name: 'New value' }).fill('-1');
  await press(page, 'Review changes');
  await page.getByText('must be at least 0').waitFor();
  await page.getByRole('textbox', { name: 'New value' }).fill('45');
  await press(page, 'Review changes');
  await press(page, 'Save changes');
  await page.getByText('45 seconds').waitFor();
  await press(page, 'Reset to default');
  await press(page, 'Save changes');
  await page.getByText('45 seconds').waitFor({ state: 'detached' });
  const settings = (await turnpike.admin('GET', '/settings'))['data'] as { name: string; value: unknown }[];
  expect(settings.find(({ name }) => name === 'drain_seconds')?.value).toBe(600);

  const listing = { kind: 'anthropic', base_url: upstream.url.origin, api_key: KEY, private_network: true };
  const entry = { price: { input: '1', output: '5' }, routes: [{ provider: 'listing', model: '*' }] };
  await turnpike.admin('POST', '/apply', { document: { providers: { listing }, models: { 'listed/*': entry } } });
  while ((await modelNamed('listed/claude-haiku-4-5')) === undefined) await Bun.sleep(1);
  await visitor.goTo('/models/sandbox-slow');
  await press(page, 'Delete');
  await page.getByRole('dialog', { name: 'Review changes' }).getByRole('button', { name: 'Delete' }).click();
  await page.waitForURL('**/console/models');
  expect(await modelNamed('sandbox-slow')).toBeUndefined();
  await page.getByRole('link', { name: 'listed/claude-haiku-4-5', exact: true }).click();
  await press(page, 'Delete listed/*'); // the whole entry, so the button has its name
  const dialog = page.getByRole('dialog', { name: 'Review changes' });
  await dialog.getByText('Model listed/*').waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Entry listed/* deleted, with all of its models.').waitFor();
  expect(await modelNamed('listed/claude-haiku-4-5')).toBeUndefined();
  expect(visitor.problems).toEqual([]);
});

seen('an operator creates an account with credit and an owner, finds it by name and disables it', async () => {
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  await visitor.goTo('/accounts/new');
  await page.getByRole('textbox', { name: 'Name' }).fill('Acme East');
  await page.getByRole('textbox', { name: 'Initial credit' }).fill('12,50');
  await page.getByText('= $12.50').waitFor();
  await page.getByRole('switch', { name: 'Invite owner' }).click();
  await page.getByRole('textbox', { name: 'Owner email' }).fill('ada@example.com');
  await press(page, 'Create account');
  await page.getByRole('heading', { name: 'Account Acme East created' }).waitFor();
  await press(page, 'Invite owner');
  expect(await page.getByTestId('link').textContent()).toContain('/console/invitation#tk-inv-');
  await visitor.goTo('/accounts?name=acme');
  await page.getByRole('link', { name: 'Acme East' }).click();
  await page.getByText('$12.50').first().waitFor();
  await page.getByText('ada@example.com').waitFor();
  await press(page, 'Disable');
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await page.getByText('This account is disabled.').waitFor();
  const { data } = (await turnpike.admin('GET', '/accounts?name=acme')) as { data: Record<string, unknown>[] };
  expect(data).toMatchObject([{ name: 'Acme East', status: 'disabled', balance: '12.50' }]);
  expect(visitor.problems).toEqual([]);
});

seen('an owner sees their own prices, and no providers, routes or edit buttons', async () => {
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
  for (const hidden of ['Price updates', 'Create model', 'Routes']) expect(text).not.toContain(hidden);
  for (const place of ['/providers', '/settings', '/models/new', '/models/sandbox-echo/edit']) {
    await visitor.goTo(place);
    await page.getByText('Your role does not have access to this page.').waitFor();
  }
  await visitor.goTo('/accounts');
  await page.getByRole('link', { name: 'holder' }).waitFor();
  expect(await page.locator('main').getByRole('link', { name: 'Acme' }).count()).toBe(0);
  await visitor.goTo(`/accounts/${id}`);
  await page.getByRole('heading', { name: 'holder' }).waitFor();
  expect(await page.getByRole('button', { name: 'Disable' }).count()).toBe(0);
  expect(visitor.problems).toEqual([]);
});

seen('a model with special characters in its name opens by address and by link', async () => {
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
    await page.getByText('No requests in this period.').waitFor();
  }
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByRole('heading', { name: `Edit ${name}` }).waitFor();
  await page.getByRole('textbox', { name: 'Display name' }).fill('Llama');
  await press(page, 'Review changes');
  await press(page, 'Save changes');
  await page.getByText('Llama', { exact: true }).waitFor();
  await isShown();
  expect(visitor.problems).toEqual([]);
});

seen('a model shows its context and capabilities, and nothing where the catalog knows nothing', async () => {
  const price = { input: '1', output: '2' };
  await turnpike.admin('POST', '/apply', {
    document: {
      providers: { vendor: { kind: 'anthropic', base_url: 'https://api.example.com', api_key: 'sk-x' } },
      models: {
        'claude-opus-5-5': {
          ...{ price: { ...price, cache_read: '0.1' }, max_input_tokens: 1_000_000, max_output_tokens: 128_000 },
          routes: [{ provider: 'vendor' }],
        },
        unknown: { price, routes: [{ provider: 'vendor' }, { provider: 'sandbox', model: 'sandbox-echo' }] },
        painter: {
          ...{ serves: 'images', price: { units: { per_image: { '*': '0.04', '1024x1024 high': '0.17' } } } },
          routes: [{ provider: 'sandbox', model: 'sandbox-image' }],
        },
      },
    },
  });
  await using visitor = await visitAs('operator');
  const { page } = visitor;
  await visitor.goTo('/models');
  const row = page.getByRole('row').filter({ hasText: 'claude-opus-5-5' });
  await row.getByText('1,000,000 in, 128,000 out').waitFor();
  for (const name of ['Images', 'PDF documents', 'Thinking', 'Prompt caching']) await row.getByText(name).waitFor();
  expect(await page.getByRole('row').filter({ hasText: 'unknown' }).getByText('Images').count()).toBe(0);
  const painter = page.getByRole('row').filter({ hasText: 'painter' });
  await painter.getByText('Image, 1024x1024 high: $0.17').waitFor();
  await painter.getByText('Image: $0.04').waitFor();
  expect(await painter.getByText('–', { exact: true }).count()).toBe(3); // tokens of text have no price
  await visitor.goTo('/models/claude-opus-5-5');
  await page.getByText('Capabilities', { exact: true }).waitFor();
  await page.getByText('PDF documents').waitFor();
  await visitor.goTo('/models/unknown');
  await page.getByText('Default max tokens').waitFor();
  expect(await page.getByText('Capabilities', { exact: true }).count()).toBe(0);
  expect(visitor.problems).toEqual([]);
});
