// Sessions: an ended session leads to sign-in, and data of another user is discarded.

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
