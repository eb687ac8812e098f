// A console that stays open while its service restarts, and pages of unknown objects.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnTurnpike, type TurnpikeProcess } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { startChromium, visit, visitAnew } from './open-console.ts';

let directory: string;
let turnpike: TurnpikeProcess;
let token: string;
beforeAll(async () => {
  if (chromium === null) return;
  directory = mkdtempSync(join(tmpdir(), 'turnpike-away-'));
  turnpike = await spawnTurnpike(directory);
  token = String((await turnpike.admin('POST', '/tokens', { role: 'operator', name: 'console' }))['token']);
});
afterAll(async () => {
  await turnpike?.stop();
  rmSync(directory, { recursive: true, force: true });
});

test.skipIf(chromium === null)(
  'a page reports that the service is unreachable, and recovers when the service does',
  async () => {
    await using browser = await startChromium();
    await using visitor = await visitAnew(browser, { url: turnpike.url, token });
    const { page } = visitor;
    await visitor.goTo('/accounts');
    await page.getByRole('link', { name: 'demo', exact: true }).first().click();
    await page.getByRole('heading', { name: 'demo', level: 1 }).waitFor();
    const notice = page.getByText('The data on this page may be outdated');
    expect(await notice.count()).toBe(0);

    await turnpike.stop();
    await notice.waitFor();
    expect(await page.getByRole('heading', { name: 'demo', level: 1 }).count()).toBe(1);

    // This profile has not loaded the script of this page yet.
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.getByRole('heading', { name: 'This page failed to load', level: 1 }).waitFor();
    await page.getByText('The service is unreachable. Check that it is running').waitFor();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('heading', { name: 'This page failed to load', level: 1 }).waitFor();

    turnpike = await spawnTurnpike(directory, {}, ['--listen', new URL(turnpike.url).host]);
    await notice.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
    // React logs failed script loads, which the page reports itself.
    const isFetch = (problem: string) => problem.includes('Failed to fetch dynamically imported module');
    expect(visitor.problems.filter((problem) => !isFetch(problem))).toEqual([]);
  },
);

test.skipIf(chromium === null)('an unknown object shows a page with a heading and a link to the overview', async () => {
  await using visitor = await visit({ url: turnpike.url, token });
  for (const path of [
    '/keys/key_00000000',
    '/accounts/acct_00000000',
    '/accounts/acct_00000000/billing',
    '/providers/nobody',
  ]) {
    await visitor.goTo(path);
    await visitor.page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor();
    await visitor.page.getByRole('main').getByRole('link', { name: 'Go to overview' }).waitFor();
  }
  expect(visitor.problems).toEqual([]);
});
