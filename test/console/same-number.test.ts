// The same question gives the same number: the pages of the console are asked for one time range in each of three time zones, and
// compared with the records. Links and the navigation carry the range from page to page.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { rangeOf, rangeText } from '../../console/range.ts';
import { startOfDay } from '../../console/times.ts';
import { parseUsd } from '../../src/base/money.ts';
import { firstDocuments } from '../../src/catalog/catalog.ts';
import { databasePath } from '../../src/storage/sqlite/sqlite.ts';
import { readCsv } from '../contract/admin-api/exports/read-csv.ts';
import { type Installation, type Json, makeNode } from '../contract/admin-api/installation.ts';
import { openSqlite } from '../storage/open-sqlite.ts';
import { temporaryDirectory } from '../storage/temporary-directory.ts';
import { type EdgeRecords, type Figures, fillEdges, isAsked, sumOf, ZONES } from '../support/edge-records.ts';
import { manualClock } from '../support/manual-clock.ts';
import { noAuditContext } from '../support/no-audit-context.ts';
import { spawnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { visit } from './open-console.ts';

const DAY_MS = 86_400_000;

let turnpike: Turnpike;
let filled: EdgeRecords;
let token: string;
let records: Json[];
const directory = temporaryDirectory();
beforeAll(async () => {
  if (chromium === null) return;
  const clock = manualClock(0);
  const opened = openSqlite(clock);
  await opened.stores.catalog.saveCatalog(firstDocuments(['sandbox-echo'], {}), [], noAuditContext);
  filled = await fillEdges((await makeNode(clock, opened.stores)) as unknown as Installation, Date.now());
  opened.database.run('VACUUM INTO ?', [databasePath(directory.path)]);
  opened.close();
  turnpike = await spawnTurnpike(directory.path, { TURNPIKE_SECRET: randomBytes(32).toString('base64') });
  token = String((await turnpike.admin('POST', '/tokens', { role: 'operator' }))['token']);
  records = (await turnpike.admin('GET', '/usage?limit=1000'))['data'] as Json[];
});
afterAll(async () => {
  await turnpike?.stop();
  directory[Symbol.dispose]();
});

/** A week of days of the zone, up to its last midnight; in the first zone, with the current hour and a change of its clocks. */
function textIn(zone: string): string {
  const midnight = (daysAgo: number) =>
    startOfDay(new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10), zone) as number;
  return zone === ZONES[0] ? rangeText(midnight(100), null) : rangeText(midnight(29), midnight(1));
}

/** The exact amounts in the place, from what is shown on hover. */
async function amountsIn(place: Locator): Promise<bigint[]> {
  const titles = await place
    .locator('span[title^="$"]')
    .evaluateAll((shown) => shown.map((one) => one.getAttribute('title') ?? ''));
  return titles.map((title) => BigInt(parseUsd(title.replaceAll(/[$,]/g, '')) ?? Number.NaN));
}

const countIn = async (place: Locator) => Number(((await place.textContent()) ?? '').replaceAll(/\D/g, ''));
const sum = (amounts: readonly bigint[]) => amounts.reduce((all, one) => all + one, 0n);
const tokensOf = ({ input, output, cacheRead, cacheWrite }: Figures) => input + output + cacheRead + cacheWrite;

async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  await page.waitForLoadState('networkidle');
}

const READS_MAX = 400;
const READ_EVERY_MS = 50;

/** Waits until the page shows it. */
async function reach<Value>(page: Page, right: Value, read: () => Promise<Value>): Promise<void> {
  for (let reads = 0; reads < READS_MAX && !Bun.deepEquals(await read(), right); reads++)
    await page.waitForTimeout(READ_EVERY_MS);
  expect<unknown>(await read()).toEqual(right);
}

/** The tile of the overview or of an account with this label. */
function tile(page: Page, label: string): Locator {
  const link = page.getByRole('main').getByRole('link', { name: label, exact: true });
  return link.locator('xpath=ancestor::*[contains(@class, "mantine-Card-root")][1]');
}

for (const zone of ZONES)
  test.skipIf(chromium === null)(`every page gives the number of the records of a time range in ${zone}`, async () => {
    const text = textIn(zone);
    const figuresFor = (scope: object) => sumOf(records.filter(isAsked(rangeOf(text, Date.now()), scope, Date.now())));
    const [all, ofNorth, ofKey] = [{}, { account: filled.accounts.north }, { key: filled.key }].map(figuresFor) as [
      Figures,
      Figures,
      Figures,
    ];
    expect(ofKey.messages).toBeGreaterThan(0);
    await using visitor = await visit({ url: turnpike.url, token, zone });
    const { page } = visitor;
    const main = page.getByRole('main');
    await visitor.goTo(`/?range=${text}`);
    await reach(page, all.messages, () => countIn(tile(page, 'Requests').locator('.stat-value')));
    await reach(page, [all.cost], () => amountsIn(tile(page, 'Revenue').locator('.stat-value')));
    await reach(page, tokensOf(all), () => countIn(tile(page, 'Tokens').locator('.stat-value')));

    await choose(page, 'Usage');
    const totals = page.getByRole('region', { name: 'Totals of the filtered requests' });
    await reach(page, [all.cost], () => amountsIn(totals.getByText('Cost', { exact: true }).locator('..')));
    await reach(page, all.messages, () => countIn(totals.getByText('Requests', { exact: true }).locator('..')));
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const rows = readCsv(readFileSync(await (await saved).path(), 'utf8'));
    expect(rows.length).toBe(all.messages);
    expect(sum(rows.map((row) => BigInt(parseUsd(row['cost'] ?? '') ?? Number.NaN)))).toBe(all.cost);

    const hasAmount = (row: Locator, amount: bigint) =>
      reach(page, true, async () => (await amountsIn(row)).includes(amount));
    const rowOf = (name: string) => main.getByRole('row').filter({ hasText: name });
    const open = (name: string) => main.getByRole('link', { name, exact: true }).first().click();
    await choose(page, 'API keys');
    await hasAmount(rowOf('one').first(), ofKey.cost);
    await open('one');
    const figureOf = (name: string) => main.getByRole('heading', { name, exact: true }).locator('..');
    await reach(page, [ofKey.cost], () => amountsIn(figureOf('Cost')));
    await reach(page, ofKey.messages, () => countIn(figureOf('Requests')));

    await choose(page, 'Accounts');
    await hasAmount(rowOf('north').first(), ofNorth.cost);
    await open('north');
    const cost = tile(page, 'Cost (custom range)');
    await reach(page, [ofNorth.cost], () => amountsIn(cost.locator('.stat-value')));
    await reach(page, ofNorth.messages, () => countIn(cost.getByText(/requests?$/)));

    await choose(page, 'Groups');
    await hasAmount(rowOf('default').first(), all.cost);
    await choose(page, 'Providers');
    await hasAmount(rowOf('sandbox').first(), figuresFor({ provider: 'sandbox' }).cost);
    expect(new URL(page.url()).searchParams.get('range')).toBe(text);
    expect(visitor.problems).toEqual([]);
  });
