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
    await using visitor = await opened.visit('owner');
    const { page } = visitor;
    await visitor.goTo('/rejected');
    const table = page.getByRole('table', { name: 'Rejected requests', exact: true });
    await table.getByText('model_not_found').first().waitFor();
    expect(await table.getByText('key_invalid').count()).toBe(0);
    expect(await page.getByText('Account', { exact: true }).count()).toBe(0);
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
  'a provider with a paused route is degraded, in its list and in the overview',
  async () => {
    for (let at = 0; at < 6; at++) await (await post(opened.filled.key.secret, 'sandbox-error-529')).text();
    await (await post(opened.filled.key.secret, 'sandbox-echo')).text();
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    await visitor.goTo('/providers');
    const providers = page.getByRole('table', { name: 'Providers' });
    await providers.getByText('1 route paused').waitFor();
    expect(await providers.getByText('Degraded', { exact: true }).count()).toBe(1);
    await visitor.goTo('/');
    await page.getByText('Some routes of sandbox are failing.').waitFor();
    await page.getByRole('main').getByText('Degraded', { exact: true }).waitFor();
    expect(await page.getByRole('main').getByText('Healthy', { exact: true }).count()).toBe(0);
    expect(visitor.problems).toEqual([]);
  },
);
