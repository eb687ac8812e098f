// The same question gives the same number: the pages of the console are asked for one time range in each of three time zones, and
// compared with the records. Links and the navigation carry the range from page to page.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { countOf, formatShort } from '../../console/figures.ts';
import { type Grouping, groupingLabels, groupingNoun, groupName } from '../../console/groupings.ts';
import { formatMoney } from '../../console/money.ts';
import { precedingRange, rangeOf, rangeQuery, rangeText, startOf } from '../../console/range.ts';
import { startOfDay } from '../../console/times.ts';
import { formatUsd, parseUsd } from '../../src/base/money.ts';
import { firstDocuments } from '../../src/catalog/catalog.ts';
import { databasePath } from '../../src/storage/sqlite/sqlite.ts';
import { readCsv } from '../contract/admin-api/exports/read-csv.ts';
import { type Installation, type Json, makeNode } from '../contract/admin-api/installation.ts';
import { openSqlite } from '../storage/open-sqlite.ts';
import { temporaryDirectory } from '../storage/temporary-directory.ts';
import {
  type EdgeRecords,
  type Figures,
  fillEdges,
  groupOf,
  isAsked,
  marginOf,
  sumOf,
  TAG,
  unitsIn,
  ZONES,
} from '../support/edge-records.ts';
import { manualClock } from '../support/manual-clock.ts';
import { noAuditContext } from '../support/no-audit-context.ts';
import { spawnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { visit } from './open-console.ts';

const DAY_MS = 86_400_000;
const marginGroups: readonly Grouping[] = ['model', 'key', 'account', 'provider', 'group', 'person', 'tag'];

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

const amountOf = (title: string) => BigInt(parseUsd(title.replaceAll(/[$,]/g, '').replace('−', '-')) ?? Number.NaN);

/** The exact amounts in the place, from what is shown on hover. */
async function amountsIn(place: Locator): Promise<bigint[]> {
  const titles = await place
    .locator('span[title*="$"]')
    .evaluateAll((shown) => shown.map((one) => one.getAttribute('title') ?? ''));
  return titles.map(amountOf);
}

type Figure = number | bigint | string;

/** The rows of a table by their names, without the cells that are not visible, with exact amounts; and its row of totals as "Total". */
async function rowsIn(table: Locator): Promise<Record<string, Figure[]>> {
  const rows = await table.locator('tbody tr, tfoot tr').evaluateAll((found) =>
    found.map((row) => {
      const [first, ...cells] = [...row.querySelectorAll<HTMLElement>('td, th')];
      const name = first && document.createTreeWalker(first, NodeFilter.SHOW_TEXT).nextNode()?.textContent; // notes follow
      const exact = (cell: HTMLElement) => cell.querySelector('span[title*="$"]')?.getAttribute('title');
      return [name ?? '', ...cells.map((cell) => exact(cell) ?? cell.textContent ?? '')];
    }),
  );
  const figureOf = (text: string) =>
    /^−?\$/.test(text) ? amountOf(text) : /^[\d,]+$/.test(text) ? Number(text.replaceAll(',', '')) : text;
  return Object.fromEntries(rows.map(([name = '', ...cells]) => [name, cells.map(figureOf)]));
}

const countIn = async (place: Locator) => Number(((await place.textContent()) ?? '').replaceAll(/\D/g, ''));
const sum = (amounts: readonly bigint[]) => amounts.reduce((all, one) => all + one, 0n);
const tokensOf = ({ input, output, cacheRead, cacheWrite }: Figures) => input + output + cacheRead + cacheWrite;

async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  await page.waitForLoadState('networkidle');
}

const READS_MAX = 100;
const READ_EVERY_MS = 50;

/** Waits until the page shows it. */
async function reach<Value>(page: Page, right: Value, read: () => Promise<Value>): Promise<void> {
  for (let reads = 0; reads < READS_MAX && !Bun.deepEquals(await read(), right); reads++)
    await page.waitForTimeout(READ_EVERY_MS);
  expect<unknown>(await read()).toEqual(right);
}

/** Tables whose rows have no units have no column of units. */
const cellsOf =
  (all: readonly Json[]) =>
  (own: readonly Json[]): Figure[] => {
    const sum = sumOf(own);
    const units = Object.keys(unitsIn(all)).length === 0 ? [] : [unitsTextOf(own)];
    return [sum.messages, sum.input, sum.cacheRead + sum.cacheWrite, sum.output, ...units, sum.cost];
  };

function unitsTextOf(own: readonly Json[], withCost?: 'cost'): string {
  const units = unitsIn(own);
  const nouns = { input_audio_tokens: 'audio input token', output_audio_tokens: 'audio output token', images: 'image' };
  const texts = Object.entries(nouns).map(([unit, noun]) => {
    const [quantity, cost] = units[unit] ?? [0, 0n];
    const text = withCost ? `${countOf(quantity, noun)} · ${formatMoney(formatUsd(cost))}` : countOf(quantity, noun);
    return quantity === 0 ? '' : text;
  });
  return texts.join('') || '–'; // a line for each
}

/** The groups of records, as a table shows them. */
function groupsOf(own: readonly Json[], by: Grouping, cells: (own: readonly Json[]) => Figure[]) {
  const groups = Map.groupBy(own, (record) => groupName({ [by]: groupOf(record, by) }, by, filled.names));
  return Object.fromEntries([...groups].map(([name, members]) => [name, cells(members)]));
}

/** Every grouping that a page offers. */
async function expectGroups(page: Page, among: readonly Grouping[], read: (by: Grouping) => Promise<void>) {
  for (const by of among) {
    await page.getByRole('combobox', { name: 'Group by' }).click();
    await page.getByRole('option', { name: `By ${groupingNoun(by)}`, exact: true }).click();
    if (by === 'tag') {
      await page.getByLabel('Tag name').fill(TAG);
      await page.getByLabel('Tag name').press('Enter');
    }
    await read(by);
  }
}

async function expectGroupedUsage(page: Page, own: readonly Json[]): Promise<void> {
  await expectGroups(page, Object.keys(groupingLabels) as Grouping[], async (by) => {
    const table = page.getByRole('table', { name: `Requests by ${groupingNoun(by)}`, exact: true });
    const cells = cellsOf(own);
    await reach(page, { ...groupsOf(own, by, cells), Total: cells(own) }, () => rowsIn(table));
    if (by === 'day') await expectDayLinks(table, cells);
  });
  const totals = page.getByRole('region', { name: 'Totals of the filtered requests' });
  for (const [place, label] of ['Input', 'Cached', 'Output'].entries()) {
    const figure = totals.getByText(label, { exact: true }).locator('..');
    await reach(
      page,
      `${label}${formatShort(Number(cellsOf(own)(own)[place + 1]))}`,
      async () => (await figure.textContent()) ?? '',
    );
  }
  const images = totals.getByText('Images', { exact: true }).locator('..');
  const [quantity] = unitsIn(own)['images'] ?? [0];
  expect(quantity).toBeGreaterThan(0);
  await reach(page, `Images${formatShort(quantity)}`, async () => (await images.textContent()) ?? '');
}

/** A day at an end of the range leads to its part of it. */
async function expectDayLinks(table: Locator, cells: ReturnType<typeof cellsOf>): Promise<void> {
  const rows = await rowsIn(table);
  for (const link of await table.getByRole('link').all()) {
    const text = new URLSearchParams((await link.getAttribute('href'))?.split('?')[1]).get('range') ?? '';
    const linked = records.filter(isAsked(rangeOf(text, Date.now()), {}, Date.now()));
    expect(cells(linked)).toEqual(rows[(await link.textContent()) ?? ''] as number[]);
  }
}

async function expectMargin(page: Page, own: readonly Json[], text: string): Promise<void> {
  await choose(page, 'Margin');
  const { revenue, providerCost } = marginOf(own);
  const cards = page.getByRole('main').locator('.mantine-Card-root');
  const figureOf = (label: string) =>
    cards
      .filter({ has: page.getByText(label, { exact: true }) })
      .first()
      .locator('.stat-value');
  for (const [label, amount] of [
    ['Revenue', revenue],
    ['Provider cost', providerCost],
    ['Margin', revenue - providerCost],
  ] as const)
    await reach(page, [amount], () => amountsIn(figureOf(label)));
  await expectFormerMargin(page, text, (label) =>
    cards.filter({ has: page.getByText(label, { exact: true }) }).first(),
  );
  const cells = (members: readonly Json[]) => {
    const { messages, revenue: paid, providerCost: cost } = marginOf(members);
    const units = unitsIn(own);
    return [
      messages,
      ...(Object.keys(units).length === 0 ? [] : [unitsTextOf(members, 'cost')]),
      paid,
      cost,
      paid - cost,
    ];
  };
  await expectGroups(page, marginGroups, async (by) => {
    const table = page.getByRole('table', { name: 'Margins' });
    await reach(page, groupsOf(own, by, cells), async () =>
      Object.fromEntries(
        Object.entries(await rowsIn(table)).map(([name, row]) => [name, row.slice(0, cells(own).length)]),
      ),
    );
  });
  const saved = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export CSV' }).click();
  const lines = readCsv(readFileSync(await (await saved).path(), 'utf8'));
  const nano = (text = '') => BigInt(parseUsd(text) ?? Number.NaN);
  const [quantity, paid] = unitsIn(own)['images'] ?? [0, 0n];
  const groups = lines.slice(0, -1).filter(({ images }) => images !== '');
  for (const rows of [groups, lines.slice(-1)]) {
    expect(rows.reduce((all, { images }) => all + Number(images), 0)).toBe(quantity);
    expect(sum(rows.map(({ images_revenue: amount }) => nano(amount)))).toBe(paid);
  }
  expect(nano(lines.at(-1)?.['revenue'])).toBe(revenue);
}

/** The period before is complete: the page, the API and the records have the same amounts of it. */
async function expectFormerMargin(page: Page, text: string, cardOf: (label: string) => Locator): Promise<void> {
  const nowMs = startOf(Date.now(), 'minute');
  const range = rangeOf(text, nowMs);
  const { sinceMs, untilMs } = precedingRange(range, nowMs);
  const { revenue, providerCost, messages } = marginOf(
    records.filter(({ at }) => Date.parse(String(at)) >= sinceMs && Date.parse(String(at)) < untilMs),
  );
  if (range.untilMs !== null) expect(messages).toBeGreaterThan(0); // of the longest range, nobody sent before
  const { since: previousSince, until: previousUntil = '' } = rangeQuery({ sinceMs, untilMs });
  const before = { previous_since: previousSince, previous_until: previousUntil };
  const query = new URLSearchParams({ ...rangeQuery(range), ...before, group_by: 'model' });
  const { previous, is_previous_complete: isComplete } = await turnpike.admin('GET', `/usage/margin?${query}`);
  expect(isComplete).toBe(true);
  for (const [label, member, amount] of [
    ['Revenue', 'revenue', revenue],
    ['Provider cost', 'provider_cost', providerCost],
    ['Margin', 'margin', revenue - providerCost],
  ] as const) {
    expect(amountOf(String((previous as Json)[member]))).toBe(amount);
    await reach(page, [amount], () => amountsIn(cardOf(label).getByText('Previous period:')));
  }
}

/** A month, UTC. */
async function expectStatement(page: Page, own: readonly Json[]): Promise<void> {
  await page.getByRole('link', { name: 'Monthly statement' }).click();
  const tag = page.getByRole('combobox', { name: 'Tag', exact: true });
  await tag.fill(TAG);
  await tag.press('Enter');
  const months = [...Map.groupBy(own, ({ at }) => String(at).slice(0, 7))].toSorted().slice(-2);
  for (const [month, members] of months) {
    await page.getByLabel('Month', { exact: true }).selectOption(month);
    for (const [by, title, none] of [
      ['model', 'Usage by model', ''],
      ['key', 'Usage by API key', ''],
      ['day', 'Usage by day', ''],
      ['tag', `Usage by tag ${TAG}`, 'No tag'],
    ] as const) {
      const cells = cellsOf(members);
      const { None: noTag, ...named } = groupsOf(members, by, cells);
      const right = { ...named, ...(noTag !== undefined && { [none]: noTag }), Total: cells(members) };
      await reach(page, right, () => rowsIn(page.getByRole('table', { name: title, exact: true })));
    }
  }
}

/** The tile of the overview or of an account with this label. */
function tile(page: Page, label: string): Locator {
  const link = page.getByRole('main').getByRole('link', { name: label, exact: true });
  return link.locator('xpath=ancestor::*[contains(@class, "mantine-Card-root")][1]');
}

for (const zone of ZONES)
  test.skipIf(chromium === null)(`every page gives the number of the records of a time range in ${zone}`, async () => {
    const text = textIn(zone);
    const own = records.filter(isAsked(rangeOf(text, Date.now()), {}, Date.now()));
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
    const images = own.map(({ units }) => (units as Record<string, number>)['images'] ?? 0);
    expect(rows.map((row) => Number(row['images'])).toSorted()).toEqual(images.toSorted());

    await expectGroupedUsage(page, own);
    await expectMargin(page, own, text);

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

    await choose(page, 'Models');
    const ofModel = figuresFor({ model: 'sandbox-echo' });
    await hasAmount(rowOf('sandbox-echo').first(), ofModel.cost);
    await open('sandbox-echo');
    const requests = main.getByText(`${countOf(ofModel.messages, 'request')}, `);
    await reach(page, [ofModel.cost], () => amountsIn(requests));

    await choose(page, 'Groups');
    await hasAmount(rowOf('default').first(), sumOf(own.filter(({ group }) => group === 'default')).cost);
    await choose(page, 'Providers');
    await hasAmount(rowOf('sandbox').first(), figuresFor({ provider: 'sandbox' }).cost);
    expect(new URL(page.url()).searchParams.get('range')).toBe(text);

    await choose(page, 'Accounts');
    await open('north');
    const ofAccount = records.filter(({ account }) => account === filled.accounts.north);
    await expectStatement(page, ofAccount);
    expect(visitor.problems).toEqual([]);
  });
