// A console that stays open while its service is stopped and started again: what it says meanwhile, and that it goes on by itself.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { chromium } from '../clients/open-browser.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../support/start-turnpike.ts';
import { startChromium, visit } from './open-console.ts';

setDefaultTimeout(120_000);

let directory: string;
let turnpike: TurnpikeProcess;
let token: string;
let browser: Browser;
beforeAll(async () => {
  if (chromium === null) return;
  directory = mkdtempSync(join(tmpdir(), 'turnpike-away-'));
  [turnpike, browser] = await Promise.all([spawnTurnpike(directory), startChromium()]);
  token = String((await turnpike.admin('POST', '/tokens', { role: 'operator', name: 'console' }))['token']);
});
afterAll(async () => {
  await browser?.close();
  await turnpike?.stop();
  rmSync(directory, { recursive: true, force: true });
});

test.skipIf(chromium === null)('a page says that the service is away, and goes on when it is back', async () => {
  await using visitor = await visit(browser, { url: turnpike.url, token });
  const { page } = visitor;
  await visitor.goTo('/accounts');
  await page.getByRole('link', { name: 'demo', exact: true }).first().click();
  await page.getByRole('heading', { name: 'demo', level: 1 }).waitFor();
  const notice = page.getByText('What is shown here may be old');
  expect(await notice.count()).toBe(0);

  await turnpike.stop();
  await notice.waitFor();
  expect(await page.getByRole('heading', { name: 'demo', level: 1 }).count()).toBe(1);

  // A page that this browser has no script of yet.
  await page.getByRole('link', { name: 'Playground' }).click();
  await page.getByRole('heading', { name: 'This page failed', level: 1 }).waitFor();
  await page.getByText('The service does not answer. Check that it runs').waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'This page failed', level: 1 }).waitFor();

  turnpike = await spawnTurnpike(directory, {}, ['--listen', new URL(turnpike.url).host]);
  await notice.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
  // What could not be fetched meanwhile is told on the page, and React writes it down as well.
  const isFetch = (problem: string) => problem.includes('Failed to fetch dynamically imported module');
  expect(visitor.problems.filter((problem) => !isFetch(problem))).toEqual([]);
});

test.skipIf(chromium === null)('a page of an object that is none is a page with a heading and a way on', async () => {
  await using visitor = await visit(browser, { url: turnpike.url, token });
  for (const path of [
    '/keys/key_00000000',
    '/accounts/acct_00000000',
    '/accounts/acct_00000000/balance',
    '/providers/nobody',
  ]) {
    await visitor.goTo(path);
    await visitor.page.getByRole('heading', { name: 'There is no such page', level: 1 }).waitFor();
    await visitor.page.getByRole('main').getByRole('link', { name: 'To the overview' }).waitFor();
  }
  expect(visitor.problems).toEqual([]);
});
