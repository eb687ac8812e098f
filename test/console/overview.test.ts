// The overview in a real browser: its layout, and one window for every part.

import { expect, test } from 'bun:test';
import { rangeOf, rangeQuery } from '../../console/range.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { openConsole } from './open-console.ts';

const opened = openConsole(12);

const TILES = ['Requests', 'Error rate', 'Revenue', 'Margin', 'Tokens', 'First token (p50)'];

test.skipIf(chromium === null)(
  'the six figures stand in one row, and lead to the requests that they count',
  async () => {
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    await visitor.goTo('/?range=7d');
    const main = page.getByRole('main');
    const tops = new Set<number>();
    for (const name of TILES) {
      const link = main.getByRole('link', { name, exact: true });
      tops.add((await link.boundingBox())?.y ?? Number.NaN);
      const url = new URL((await link.getAttribute('href')) ?? '', opened.turnpike.url);
      expect([name, url.pathname, url.searchParams.get('range')]).toEqual([name, '/console/usage', '7d']);
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
