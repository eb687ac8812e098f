// Times and days of the console in three time zones and in UTC, in a real browser: what a row shows is what its filter
// finds.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { rangeText } from '../../console/range.ts';
import { startOfDay } from '../../console/times.ts';
import { databasePath } from '../../src/storage/sqlite/sqlite.ts';
import { spawnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { type Visitor, visit } from './open-console.ts';

const DAY_MS = 86_400_000;

interface Place {
  zone: string;
  name: string;
  /** A time that is on another day there than in UTC, as a credit and its audit record have it. */
  at: string;
  /** The year is shown once it has passed. */
  shown: RegExp;
  localDay: string;
  utcDay: string;
}

const places: readonly Place[] = [
  {
    ...{ zone: 'America/New_York', name: 'New York time', at: '2026-11-23T04:26:00.000Z' },
    ...{ shown: /^Nov 22(, 2026)?, 11:26 PM$/, localDay: '2026-11-22', utcDay: '2026-11-23' },
  },
  {
    ...{ zone: 'Asia/Kathmandu', name: 'Kathmandu time', at: '2026-11-22T18:26:00.000Z' },
    ...{ shown: /^Nov 23(, 2026)?, 12:11 AM$/, localDay: '2026-11-23', utcDay: '2026-11-22' },
  },
  {
    ...{ zone: 'Pacific/Auckland', name: 'Auckland time', at: '2026-11-21T11:26:00.000Z' },
    ...{ shown: /^Nov 22(, 2026)?, 12:26 AM$/, localDay: '2026-11-22', utcDay: '2026-11-21' },
  },
];

const directory = mkdtempSync(join(tmpdir(), 'turnpike-zones-'));
let turnpike: Turnpike;
let account: string;
let young: string;
let token: string;
/** Two days before the test. */
const youngSinceMs = Date.now() - 2 * DAY_MS;
beforeAll(async () => {
  if (chromium === null) return;
  {
    await using first = await spawnTurnpike(directory);
    account = String((await first.admin('POST', '/accounts', { name: 'acme' }))['id']);
    for (const { zone } of places)
      await first.admin('POST', `/accounts/${account}/credits`, { amount: '1.00', reference: zone });
    young = String((await first.admin('POST', '/accounts', { name: 'young', credit: '7.00' }))['id']);
    token = String((await first.admin('POST', '/tokens', { role: 'operator' }))['token']);
  }
  moveCredits();
  turnpike = await spawnTurnpike(directory);
});
afterAll(async () => {
  await turnpike?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/**
 * Gives the credits and their audit records the times of the places, and the young account its age. The service never
 * changes them.
 */
function moveCredits(): void {
  const database = new Database(databasePath(directory), { readwrite: true });
  const triggers = database
    .query(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%never_updated'`)
    .all() as { name: string; sql: string }[];
  for (const { name } of triggers) database.run(`DROP TRIGGER ${name}`);
  for (const { zone, at } of places) {
    const atMs = Date.parse(at);
    database.run('UPDATE entries SET at_ms = ? WHERE reference = ?', [atMs, zone]);
    database.run(`UPDATE audit_records SET at_ms = ? WHERE action = 'credit.create' AND after LIKE ?`, [
      atMs,
      `%${zone}%`,
    ]);
  }
  for (const { sql } of triggers) database.run(sql);
  database.run(
    `UPDATE accounts SET created_at_ms = ?1, document = json_set(document, '$.createdAtMs', ?1)
     WHERE document ->> '$.name' = 'young'`,
    [youngSinceMs],
  );
  database.close();
}

async function chooseUtc(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'User menu' }).click();
  await page.getByRole('menuitemradio', { name: 'UTC', exact: true }).click();
  await page.keyboard.press('Escape');
}

/** The entries of a day of the zone. */
async function goToJournal(visitor: Visitor, day: string, zone: string): Promise<void> {
  await visitor.goTo(`/accounts/${account}/transactions?view=entries&range=${rangeOfDayIn(day, zone)}`);
}

function rangeOfDayIn(day: string, zone: string): string {
  const next = new Date(Date.parse(day) + DAY_MS).toISOString().slice(0, 10);
  return rangeText(startOfDay(day, zone) ?? 0, startOfDay(next, zone));
}

for (const { zone, name, shown, at, localDay, utcDay } of places)
  test.skipIf(chromium === null)(`a range has the day of ${name}, and the UTC day after a switch to UTC`, async () => {
    await using visitor = await visit({ url: turnpike.url, token, zone });
    const { page } = visitor;
    const row = page.getByRole('row').filter({ hasText: zone });
    await goToJournal(visitor, localDay, zone);
    await row.getByText(shown).first().waitFor();
    expect(await page.getByLabel(`From (${name})`).inputValue()).toBe(`${localDay}T00:00`);
    await goToJournal(visitor, utcDay, zone);
    await page.getByText('No transactions in this time range').waitFor();
    expect(await row.count()).toBe(0);

    await chooseUtc(page);
    await page.getByLabel('From (UTC)').waitFor();
    await goToJournal(visitor, utcDay, 'UTC');
    await row.waitFor();
    expect(await row.getByRole('time').first().textContent()).toContain(utcHour(at));
    expect(await page.getByLabel('From (UTC)').inputValue()).toBe(`${utcDay}T00:00`);

    const range = new URL(page.url()).searchParams.get('range') ?? '';
    await visitor.goTo(`/audit?object=${account}&range=${range}`);
    await page.getByLabel('From (UTC)').waitFor();
    await page.getByText('added credit').first().waitFor();
    await page.getByRole('link', { name: 'Payments', exact: true }).click();
    await page.getByText('No payments in this time range').waitFor();
    expect(new URL(page.url()).searchParams.get('range')).toBe(range);
    expect(visitor.problems).toEqual([]);
  });

/** "Nov 22, 2026" */
function utcDate(day: string): string {
  return new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(day));
}

/** "4:26 AM" as the browser shows it in UTC. */
function utcHour(at: string): string {
  return new Intl.DateTimeFormat('en-US', { hour: 'numeric', minute: '2-digit', timeZone: 'UTC' }).format(new Date(at));
}

test.skipIf(chromium === null)('the moments of the usage filter stay when the zone changes', async () => {
  await using visitor = await visit({ url: turnpike.url, token, zone: 'Asia/Kathmandu' });
  const { page } = visitor;
  await visitor.goTo('/usage?range=2026-11-22T18:26Z..');
  expect(await page.getByLabel('From (Kathmandu time)').inputValue()).toBe('2026-11-23T00:11');
  await chooseUtc(page);
  expect(await page.getByLabel('From (UTC)').inputValue()).toBe('2026-11-22T18:26');
  await page.getByLabel('From (UTC)').fill('2026-11-22T06:00');
  await page.getByLabel('From (UTC)').press('Enter');
  await page.waitForURL(/range=2026-11-22T06%3A00Z/);
  // The choice is kept on the device.
  await visitor.goTo('/audit?range=2026-11-22T18:26Z..');
  await page.getByLabel('From (UTC)').waitFor();
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('an expiration date is midnight of the zone that its field names', async () => {
  await using visitor = await visit({ url: turnpike.url, token, zone: 'America/New_York' });
  const { page } = visitor;
  await visitor.goTo('/codes');
  await page.getByRole('button', { name: 'Create codes' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('in New York');
  await dialog.getByLabel('Amount of each code (USD)').fill('5.00');
  await dialog.getByLabel('Number of codes').fill('1');
  await dialog.getByLabel('Expiration date (00:00, New York time)').fill('2027-07-04');
  await dialog.getByRole('button', { name: 'Create codes' }).click();
  await page.getByText('The codes are shown only once').waitFor();
  const { data } = (await turnpike.admin('GET', '/code-batches')) as { data: { expires_at: string }[] };
  expect(data.map(({ expires_at: at }) => at)).toEqual(['2027-07-04T04:00:00.000Z']);
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('a statement is in UTC in every zone, and says so', async () => {
  await using visitor = await visit({ url: turnpike.url, token, zone: 'Pacific/Auckland' });
  await visitor.goTo(`/accounts/${account}/statement?range=2026-11-01..2026-12-01`);
  await visitor.page.getByText('Period (UTC)').waitFor();
  await visitor.page.getByText('Nov 1, 2026 – Nov 30, 2026').waitFor();
  const entries = visitor.page.getByRole('table', { name: 'Credits, refunds and corrections' });
  for (const { zone, utcDay } of places)
    await entries.getByRole('row').filter({ hasText: zone }).getByText(utcDate(utcDay)).waitFor();
});

test.skipIf(chromium === null)(
  'the daily balance begins when the account was created, and changes in steps',
  async () => {
    await using visitor = await visit({ url: turnpike.url, token });
    const { page } = visitor;
    const today = new Date();
    await visitor.goTo(`/accounts/${young}/billing`);
    const monthMs = Date.UTC(today.getUTCFullYear(), today.getUTCMonth());
    const days = Math.floor(today.getTime() / DAY_MS) - Math.floor(Math.max(youngSinceMs, monthMs) / DAY_MS) + 1;
    // A month has one day on its first day, which is a dot.
    const span = days === 1 ? 'the first day' : `each of ${days} days`;
    const chart = page.getByRole('img', { name: `Balance at the end of ${span}` });
    if (days === 1) return await chart.locator('.recharts-area-dot').first().waitFor();
    const path = await chart.locator('.recharts-area-curve').getAttribute('d');
    const points = Array.from((path ?? '').matchAll(/([\d.]+),([\d.]+)/g), ([, x, y]) => ({ x, y }));
    expect(points.length).toBeGreaterThanOrEqual(days);
    for (const [at, { x, y }] of points.slice(1).entries())
      expect(x === points[at]?.x || y === points[at]?.y).toBe(true);
    expect(visitor.problems).toEqual([]);
  },
);
