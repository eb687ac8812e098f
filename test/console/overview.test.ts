// The overview in a real browser: its layout, one window for every part, and the choice of times in its charts.

import { expect, test } from 'bun:test';
import { rangeOf, rangeQuery } from '../../console/range.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { openConsole, type Visitor } from './open-console.ts';

const opened = openConsole(12);

const TILES = ['Requests', 'Error rate', 'Revenue', 'Margin', 'Tokens', 'First token (p50)'];

async function openWeek(): Promise<Visitor> {
  const visitor = await opened.visit('operator');
  await visitor.goTo('/?range=7d');
  return visitor;
}

test.skipIf(chromium === null)(
  'the six figures stand in one row, and lead to the requests that they count',
  async () => {
    await using visitor = await openWeek();
    const { page } = visitor;
    const main = page.getByRole('main');
    const tops = new Set<number>();
    for (const name of TILES) {
      const link = main.getByRole('link', { name, exact: true });
      tops.add((await link.boundingBox())?.y ?? Number.NaN);
      const url = new URL((await link.getAttribute('href')) ?? '', opened.turnpike.url);
      // Once the rejected requests of the set-up are counted, they are most of what did not succeed.
      const path = name === 'Error rate' ? /^\/console\/(?:usage|rejected)$/ : /^\/console\/usage$/;
      expect([name, url.pathname]).toEqual([name, expect.stringMatching(path)]);
      expect(url.searchParams.get('range')).toBe('7d');
    }
    expect(tops.size).toBe(1);
    await main.getByRole('link', { name: 'Requests', exact: true }).click();
    const totals = page.getByRole('region', { name: 'Totals of the filtered requests' });
    await totals.getByText('12', { exact: true }).first().waitFor();
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'the top lists and the recent requests are those of the period of the figures',
  async () => {
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    for (const range of ['1h', '24h', '30d']) {
      const asked: URL[] = [];
      page.on('request', (request) => asked.push(new URL(request.url())));
      await visitor.goTo(`/?range=${range}`);
      await page.getByRole('heading', { name: 'Top models' }).waitFor();
      const { since } = rangeQuery(rangeOf(range, Date.now()));
      const near = [since, rangeQuery(rangeOf(range, Date.now() - 60_000)).since];
      for (const path of ['/usage/timeline', '/usage/top', '/usage']) {
        const times = asked
          .filter((url) => url.pathname === `/api/v1${path}`)
          .map((url) => url.searchParams.get('since'));
        expect([range, path, times.some((time) => near.includes(time ?? ''))]).toEqual([range, path, true]);
      }
      page.removeAllListeners('request');
    }
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'a bar opens its requests by a click and by Enter, and a drag over bars becomes the range',
  async () => {
    await using visitor = await openWeek();
    const { page } = visitor;
    const chart = page.getByRole('img', { name: /^12 requests/ });
    const plot = chart.locator('.recharts-cartesian-grid').first();
    const dayAfter = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const rangeOfDays = (first: number, last: number) => `${dayAfter(first)}T00:00Z..${dayAfter(last + 1)}T00:00Z`;
    const shown = () => {
      const { pathname, searchParams } = new URL(page.url());
      return [pathname, searchParams.get('range')];
    };
    /** The middle of a bar of the seven days, the last of which is today. */
    const barAt = async (place: number) => {
      const { x, y, width, height } = (await plot.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      return [x + (width * (place + 0.5)) / 7, y + height / 2] as const;
    };
    await plot.scrollIntoViewIfNeeded();
    expect(await chart.locator('.recharts-yAxis-tick-labels text').allTextContents()).toEqual(['0', '5', '10', '15']);

    await chart.locator('.recharts-bar-rectangle').last().hover();
    await chart.locator('.recharts-tooltip-cursor').waitFor();
    await page.mouse.click(...(await barAt(6)));
    await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    expect(shown()).toEqual(['/console/usage', rangeOfDays(0, 0)]);
    await page.goBack();

    await chart.locator('svg[tabindex="0"]').focus();
    for (let at = 0; at < 6; at++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    expect(shown()).toEqual(['/console/usage', rangeOfDays(0, 0)]);
    await page.goBack();

    await plot.scrollIntoViewIfNeeded();
    await page.mouse.move(...(await barAt(6)));
    await page.mouse.down();
    await page.mouse.move(...(await barAt(5)));
    await page.mouse.move(...(await barAt(4)));
    await chart.locator('.recharts-reference-area').waitFor();
    await page.mouse.up();
    await page.getByRole('button', { name: 'Reset range' }).waitFor();
    expect(shown()).toEqual(['/console/', rangeOfDays(-2, 0)]);
    expect(visitor.problems).toEqual([]);
  },
);
