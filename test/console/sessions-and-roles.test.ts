// Sessions: an ended session leads to sign-in, and data of another user is discarded. Roles: who edits what of an account.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { PASSWORD } from '../contract/sign-in/browser.ts';
import { startOwnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { type FilledService, fillService, visitAs, walkerFor } from './walk-pages.ts';

setDefaultTimeout(300_000);

let turnpike: Turnpike;
let filled: FilledService;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startOwnTurnpike('its pages show the whole installation');
  filled = await fillService(turnpike, true);
});
afterAll(async () => {
  await turnpike?.stop();
});

test.skipIf(chromium === null)(
  'a session that ended elsewhere leads to the sign-in page and back to the requested page',
  async () => {
    await using visitor = await visitAs(turnpike, filled.people.owner);
    const { page } = visitor;
    const { walkTo } = walkerFor(page, turnpike.url);
    await walkTo('/usage?outcome=completed');
    await visitor.context.clearCookies();
    await page.getByRole('link', { name: 'API keys', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.getByLabel('Email').fill(filled.people.owner.email);
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    expect(page.url()).toEndWith('/console/keys');
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('a user sees nothing of the user who signed out before', async () => {
  await using visitor = await visitAs(turnpike, filled.people.operator);
  const { page } = visitor;
  const { walkTo, settle } = walkerFor(page, turnpike.url);
  await walkTo('/accounts');
  await page.getByText('globex').first().waitFor();
  await page.getByRole('button', { name: 'User menu' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  expect(await page.content()).not.toContain('globex');
  await page.getByLabel('Email').fill(filled.people.member.email);
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await settle();
  await page.goBack();
  await settle();
  expect(await page.content()).not.toContain('globex');
  expect(visitor.problems).toEqual([]);
});

async function accountOf(): Promise<Record<string, unknown>> {
  return await turnpike.admin('GET', `/accounts/${filled.places.accountId}`);
}

test.skipIf(chromium === null)(
  'an operator edits tags and the budget per user, and sees faults beside fields',
  async () => {
    await using visitor = await visitAs(turnpike, filled.people.operator);
    const { page } = visitor;
    await walkerFor(page, turnpike.url).walkTo(`/accounts/${filled.places.accountId}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Day (UTC)').fill('7.50');
    await dialog.getByLabel('Month (UTC)').fill('much');
    const tags = dialog.getByLabel('Tags', { exact: true }).first();
    for (const tag of ['cost_centre=4712', 'env=prod']) {
      await tags.fill(tag);
      await page.keyboard.press('Enter');
    }
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Limit must be an amount in USD').waitFor();
    expect(await dialog.getByLabel('Month (UTC)').getAttribute('aria-invalid')).toBe('true');
    await dialog.getByLabel('Month (UTC)').fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { person_budget: budget, tags: saved, name } = await accountOf();
    expect(budget).toEqual({
      limits: [
        { window: '5h', limit: '0.25' },
        { window: 'day', limit: '7.50' },
      ],
      stops: true,
    });
    expect([name, saved]).toEqual(['acme', expect.objectContaining({ cost_centre: '4712', env: 'prod' })]);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'an owner edits budgets and warnings of their account only, and gives the default back to a user',
  async () => {
    await using visitor = await visitAs(turnpike, filled.people.owner);
    const { page } = visitor;
    const { walkTo, settle } = walkerFor(page, turnpike.url);
    await walkTo(`/accounts/${filled.places.accountId}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel(/^(Name|Tags|Allowance|Credit line)/).count()).toBe(0);
    await dialog.getByLabel('Warn at (%)').first().fill('65');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await accountOf())['warns_at']).toEqual([50, 65, 80, 100]);
    await walkTo(`/people?person=${filled.people.member.id}`);
    await page.getByText('acme: set for this user, warns only').waitFor();
    await page.getByRole('button', { name: 'Use the default' }).click();
    await page.getByText('acme: default of the account').waitFor();
    await settle();
    const { budgets } = await turnpike.admin('GET', `/people/${filled.people.member.id}/budget`);
    expect(budgets).toMatchObject([{ is_default: true }]);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('a member sees what is left of their budget, and sets no tags', async () => {
  await using visitor = await visitAs(turnpike, filled.people.member);
  const { page } = visitor;
  const { walkTo } = walkerFor(page, turnpike.url);
  await walkTo('/profile');
  await page.getByText(/^5 hours: \$0\.2[45] left$/).waitFor();
  await walkTo(`/keys/${filled.company?.memberKeyId}`);
  await page.getByRole('heading', { name: /^Budget of/ }).waitFor();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('button', { name: 'Show fewer limits' }).waitFor(); // the key has tags
  expect(await page.getByLabel('Tags', { exact: true }).count()).toBe(0);
  expect(visitor.problems).toEqual([]);
});
