// Measures the first load of the console: bytes and time to first content, in a real Chromium on loopback.
// bun bench/console.ts [runs] prints one line per run.

import { fillConsole } from '../test/console/fill-console.ts';
import { startChromium, visitAnew } from '../test/console/open-console.ts';
import { startOwnTurnpike } from '../test/support/start-turnpike.ts';

const runs = Number(process.argv[2] ?? 5);

await using turnpike = await startOwnTurnpike('it measures a console with its own data');
const { tokens } = await fillConsole(turnpike, 30);
const browser = await startChromium();
for (const token of [undefined, tokens.operator]) {
  for (let run = 0; run < runs; run++) {
    await using visitor = await visitAnew(browser, { url: turnpike.url, ...(token !== undefined && { token }) });
    await visitor.goTo('/');
    const seen = await visitor.page.evaluate(() => {
      const loaded = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
      const scripts = loaded.filter(({ name }) => name.endsWith('.js'));
      const sum = (entries: PerformanceResourceTiming[]) =>
        entries.reduce((bytes, one) => bytes + one.encodedBodySize, 0);
      const painted = performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN;
      return { painted: Math.round(painted), scripts: sum(scripts), all: sum(loaded), requests: loaded.length };
    });
    const who = token === undefined ? 'sign-in ' : 'overview';
    console.log(
      `${who}: first paint ${seen.painted} ms, scripts ${seen.scripts} bytes, ${seen.requests} requests of ${seen.all} bytes`,
    );
  }
}
await browser.close();
