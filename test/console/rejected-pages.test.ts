// Rejected requests and the health of routes in a real browser.

import { expect, test } from 'bun:test';
import { chromium } from '../verify/clients/open-browser.ts';
import { openConsole } from './open-console.ts';
import { addFilter } from './page-actions.ts';

const opened = openConsole(0);

const post = (secret: string, model: string) =>
  opened.turnpike.post(secret, { model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] });

test.skipIf(chromium === null)(
  'rejected requests are found beside the usage, by key and code, with the last message',
  async () => {
    for (const model of ['no-such-model', 'no-such-model', 'nor-this']) await post(opened.filled.key.secret, model);
    await post('wrong', 'sandbox-echo');
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    await visitor.goTo('/usage');
    await page.getByRole('link', { name: 'Rejected' }).click();
    const table = page.getByRole('table', { name: 'Rejected requests', exact: true });
    await table.getByText('nor-this').waitFor();
    expect(await table.getByText('key_invalid').count()).toBe(1);
    const totals = page.getByRole('table', { name: 'Rejected requests by error code' });
    await totals.getByRole('row').nth(2).waitFor();
    expect(await totals.getByRole('row').count()).toBe(3);
    await addFilter(page, 'Error code');
    await page.getByRole('option', { name: 'key_invalid' }).click();
    await table.getByText('model_not_found').waitFor({ state: 'detached' });
    await table.getByText('key_invalid').waitFor();
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'an owner sees the rejected requests of the account, and none with an unknown key',
  async () => {
    // The figures of an account with accounts below it include theirs.
    await opened.turnpike.admin('POST', '/accounts', { name: 'research', parent: opened.filled.accounts.acme });
    await using visitor = await opened.visit('owner');
    const { page } = visitor;
    await visitor.goTo('/rejected');
    const table = page.getByRole('table', { name: 'Rejected requests', exact: true });
    await table.getByText('model_not_found').first().waitFor();
    expect(await table.getByText('key_invalid').count()).toBe(0);
    expect(await page.getByText('Account', { exact: true }).count()).toBe(0);
    await page.getByRole('navigation').getByRole('link', { name: 'Accounts' }).click();
    await page.getByRole('link', { name: 'acme', exact: true }).first().click();
    const chart = page.getByRole('img', { name: '0 requests · 3 rejected requests' });
    await chart.getByText('Rejected', { exact: true }).waitFor();
    await chart.locator('.recharts-bar-rectangle path').first().waitFor();
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'a route that failed 2 of 2 and one that was never called are not shown as healthy',
  async () => {
    for (let at = 0; at < 2; at++) await (await post(opened.filled.key.secret, 'sandbox-error-529')).text();
    await (await post(opened.filled.key.secret, 'sandbox-echo')).text();
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    const badges = async (model: string, state: string) => {
      await visitor.goTo(`/models/${model}`);
      const routes = page.getByRole('table', { name: 'Routes' });
      await routes.getByText(state, { exact: true }).waitFor();
      return await routes.textContent();
    };
    expect(await badges('sandbox-error-529', 'Degraded')).toContain('0% of 2');
    await badges('sandbox-thinking', 'Not used');
    await badges('sandbox-echo', 'Healthy');
    await visitor.goTo('/providers/sandbox');
    const health = page.getByRole('table', { name: 'Model health' });
    await health.getByText('2 overloaded').waitFor();
    expect(await health.getByText('Healthy', { exact: true }).count()).toBe(1);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'a failing model has a card with its reach and what its provider said, and the provider one health on every page',
  async () => {
    let answered = 0;
    using vendor = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        await request.text();
        const error = { type: 'api_error', message: 'out of order' };
        if (++answered % 4 !== 0) return Response.json({ type: 'error', error }, { status: 500 });
        const content = [{ type: 'text', text: 'Hi' }];
        const usage = { input_tokens: 9, output_tokens: 3 };
        const known = { id: 'msg_1', type: 'message', role: 'assistant', model: 'fable', stop_reason: 'end_turn' };
        return Response.json({ ...known, content, usage });
      },
    });
    const provider = { kind: 'anthropic', base_url: vendor.url.origin, api_key: 'sk-vendor', private_network: true };
    const model = { price: { input: '3', output: '15' }, routes: [{ provider: 'vendor' }] };
    const document = { providers: { vendor: provider }, models: { fable: model } };
    await opened.turnpike.admin('POST', '/apply', { document });
    for (let at = 0; at < 8; at++) await (await post(opened.filled.key.secret, 'fable')).text();
    for (;;) {
      const { data } = await opened.turnpike.admin('GET', '/incidents');
      if ((data as { model: string }[]).some((incident) => incident.model === 'fable')) break;
      await Bun.sleep(50);
    }
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    const main = page.getByRole('main');
    await visitor.goTo('/');
    const card = page.getByRole('article', { name: 'fable is failing' });
    await card.getByText('6 of 8 requests (75%)').waitFor();
    await card.getByText('500: out of order').waitFor();
    await main.getByText('Down', { exact: true }).waitFor();
    await card.getByRole('link', { name: 'Add a route' }).click();
    await page.waitForURL('**/models/fable/edit');
    for (const path of ['/providers', '/providers/vendor', '/models/fable']) {
      await visitor.goTo(path);
      await main.getByText('Down', { exact: true }).first().waitFor();
    }
    expect(visitor.problems).toEqual([]);
  },
);
