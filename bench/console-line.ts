// Measures the console's first loads over a slow line, 50 KB/s with a latency of 100 ms, in a real Chromium with an empty cache:
// bytes and times until the first paint, the title of the page, its first content, and all of it. BENCH_ONLY is a pattern of paths.

import { fillConsole } from '../test/console/fill-console.ts';
import { startChromium, visitAnew } from '../test/console/open-console.ts';
import { pagesOf } from '../test/console/walk-pages.ts';
import { startOwnTurnpike } from '../test/support/start-turnpike.ts';

const LATENCY_MS = 100;
const BYTES_PER_SECOND = 50_000;
const only = new RegExp(process.env['BENCH_ONLY'] ?? '');

await using turnpike = await startOwnTurnpike('it measures a console with its own data');
const { accounts, key, requestId, tokens } = await fillConsole(turnpike, 30);
const missing = {
  batchId: 'none',
  clientBatchId: 'msgbatch_000000000',
  billId: 'none',
  destinationId: 'none',
  deliveryId: 'none',
  exportId: 'none',
};
const names = { modelName: 'sandbox-echo', providerName: 'sandbox', ...missing };
const pages = pagesOf('operator', { accountId: accounts.acme, keyId: key.id, requestId, ...names });
const browser = await startChromium();
// The bundle is made by the first request.
await (await fetch(`${turnpike.url}/console/`)).text();
console.log(`${'page'.padEnd(42)} compressed bytes   first paint         title   first content   all content`);
await measurePage('/sign-in', undefined);
for (const path of pages.filter((one) => !one.includes('/none') && one !== '/session'))
  await measurePage(path, tokens.operator);
await browser.close();

async function measurePage(path: string, token: string | undefined): Promise<void> {
  if (!only.test(path)) return;
  await using visitor = await visitAnew(browser, { url: turnpike.url, ...(token !== undefined && { token }) });
  const { context, page, url } = visitor;
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: BYTES_PER_SECOND,
    uploadThroughput: BYTES_PER_SECOND,
  });
  await page.addInitScript(watchContent);
  await page.goto(`${url}/console${path}`, { waitUntil: 'commit' });
  await page.waitForFunction(() => (globalThis as unknown as Watched).allMs !== undefined);
  const { bytes, paintMs, titleMs, firstMs, allMs } = await page.evaluate(() => {
    const { titleMs, firstMs, allMs } = globalThis as unknown as Watched;
    const loaded = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
    const before = loaded.filter(({ responseEnd }) => responseEnd <= firstMs);
    const bytes = before.reduce((sum, one) => sum + one.encodedBodySize, 0);
    return {
      bytes,
      titleMs: Math.min(titleMs ?? firstMs, firstMs),
      firstMs,
      allMs,
      paintMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime,
    };
  });
  const figures = [String(bytes).padStart(16), ...[paintMs, titleMs, firstMs, allMs].map(words)];
  console.log(`${path.padEnd(42)} ${figures.join('')}`);
}

interface Watched {
  /** null: the first content has come before, or with it. */
  titleMs?: number;
  firstMs: number;
  allMs: number;
}

/** Runs in the page: the first frame with a value, a row or a field of its content, and the first without placeholders. */
function watchContent(): void {
  const watched = globalThis as unknown as Partial<Watched>;
  const look = () => {
    const early =
      document.querySelector('.early-page :is(p, td, dd, label)') ?? document.querySelector('.early-page h1');
    if (early !== null) {
      if (early.matches('h1')) watched.titleMs ??= performance.now();
      else watched.firstMs ??= performance.now();
    }
    const values = [
      ...document.querySelectorAll('main :is(td, dd, input, textarea, pre, .stat-value, .mantine-Card-root p)'),
    ];
    const isShown = values.some((value) => value.closest('[aria-busy="true"]') === null);
    if (isShown) watched.firstMs ??= performance.now();
    const isBusy = document.querySelector('[aria-busy="true"], .mantine-Skeleton-root') !== null;
    if (isShown && !isBusy) watched.allMs ??= performance.now();
    if (watched.allMs === undefined) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

function words(ms: number | undefined): string {
  return `${((ms ?? Number.NaN) / 1000).toFixed(1).padStart(11)} s`;
}
