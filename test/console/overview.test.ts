// The overview in a real browser: its layout, and one window for every part.

import { expect, test } from 'bun:test';
import { chromium } from '../verify/clients/open-browser.ts';
import { openConsole } from './open-console.ts';

const opened = openConsole(12);

const TILES = ['Requests', 'Error rate', 'Revenue', 'Margin', 'Tokens', 'First token (p50)'];

test.skipIf(chromium === null)(
  'the six figures stand in one row, and lead to the requests that they count',
  async () => {
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    await visitor.goTo('/?period=week');
    const main = page.getByRole('main');
    const tops = new Set<number>();
    for (const name of TILES) {
      const link = main.getByRole('link', { name, exact: true });
      tops.add((await link.boundingBox())?.y ?? Number.NaN);
      const url = new URL((await link.getAttribute('href')) ?? '', opened.turnpike.url);
      expect([name, url.pathname, url.searchParams.get('since')]).toEqual([name, '/console/usage', startOfWeek()]);
    }
    expect(tops.size).toBe(1);
    await main.getByRole('link', { name: 'Requests', exact: true }).click();
    const totals = page.getByRole('region', { name: 'Totals of the filtered requests' });
    await totals.getByText('12', { exact: true }).first().waitFor();
    expect(visitor.problems).toEqual([]);
  },
);

/** The start of the first of seven days in UTC. */
function startOfWeek(): string {
  const dayMs = 86_400_000;
  return new Date((Math.floor(Date.now() / dayMs) - 6) * dayMs).toISOString();
}

test.skipIf(chromium === null)(
  'the top lists and the recent requests are those of the period of the figures',
  async () => {
    await using visitor = await opened.visit('operator');
    const { page } = visitor;
    const buckets = { hour: [60, 60_000], day: [24, 3_600_000], month: [30, 86_400_000] } as const;
    for (const [period, [count, stepMs]] of Object.entries(buckets)) {
      const asked: URL[] = [];
      page.on('request', (request) => asked.push(new URL(request.url())));
      await visitor.goTo(`/?period=${period}`);
      await page.getByRole('heading', { name: 'Top models' }).waitFor();
      const sinceOf = (path: string) => asked.findLast((url) => url.pathname === `/api/v1${path}`)?.searchParams;
      const timeline = sinceOf('/usage/timeline')?.get('since') ?? '';
      // The timeline also covers the period before, which has the same number of buckets.
      const since = new Date(Date.parse(timeline) + count * stepMs).toISOString();
      const top = sinceOf('/usage/top');
      expect([period, top?.get('since')]).toEqual([period, since]);
      expect([
        period,
        asked.some((url) => url.pathname === '/api/v1/usage' && url.searchParams.get('since') === since),
      ]).toEqual([period, true]);
      page.removeAllListeners('request');
    }
    expect(visitor.problems).toEqual([]);
  },
);
