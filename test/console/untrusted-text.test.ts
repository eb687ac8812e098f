// Text from other parties that contains script and styles: the console runs none of it, fetches nothing from other
// hosts, and triggers no violation of the Content-Security-Policy.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { signUp } from '../contract/sign-in/browser.ts';
import { startOwnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { SCRIPT, SCRIPT_MODEL, scriptCatalog, startScriptUpstream } from './fill-installation.ts';
import { type FilledService, fillService, visitAs, walkerFor } from './walk-pages.ts';

const FORMULA = '=HYPERLINK("//evil.example")';

let turnpike: Turnpike;
let filled: FilledService;
let accountId: string;
let keySecret: string;
beforeAll(async () => {
  if (chromium === null) return;
  turnpike = await startOwnTurnpike('its pages show the whole installation');
  filled = await fillService(turnpike, false);
  ({ accountId } = filled.places);
  await turnpike.admin('PATCH', `/accounts/${accountId}`, { name: SCRIPT });
  const money = { amount: '5.00', reference: SCRIPT, note: SCRIPT };
  await turnpike.admin('POST', `/accounts/${accountId}/credits`, money);
  const { key } = await turnpike.admin('POST', '/keys', { account: accountId, name: SCRIPT });
  keySecret = String(key);
  await turnpike.admin('POST', '/keys', { account: accountId, name: FORMULA });
  await turnpike.admin('POST', '/tokens', { role: 'viewer', name: SCRIPT });
  await turnpike.admin('POST', '/people', { email: 'mallory@example.com', name: SCRIPT, role: 'viewer' });
  for (let at = 0; at < 2; at++) await (await say(SCRIPT)).text();
});
afterAll(async () => {
  await turnpike?.stop();
});

const say = (content: string) =>
  turnpike.post(keySecret, { model: 'sandbox-echo', max_tokens: 200, messages: [{ role: 'user', content }] });

/** Records requests of the page to other hosts. */
function recordOtherHosts(page: Page): string[] {
  const otherHosts: string[] = [];
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== turnpike.url && protocol !== 'data:') otherHosts.push(request.url());
  });
  return otherHosts;
}

const hasRun = (page: Page) => page.evaluate(() => 'ran' in window || document.querySelector('main img') !== null);

/** Enters the existing key in the settings of the playground. */
async function useKey(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Settings', exact: true }).click();
  await page.getByRole('textbox', { name: 'Existing API key' }).fill(keySecret);
  await page.getByRole('button', { name: 'Use key' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
}

test.skipIf(chromium === null)('script in responses and user agents is shown as text', async () => {
  const grace = await signUp(turnpike, 'grace@example.com', 'owner', accountId);
  await using visitor = await visitAs(turnpike, grace);
  const { page } = visitor;
  const otherHosts = recordOtherHosts(page);
  const { walkTo } = walkerFor(page, turnpike.url);
  await fetch(`${turnpike.url}/console/auth/sign-in/email`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      'user-agent': `${SCRIPT} Chrome`,
    },
    body: JSON.stringify({ email: grace.email, password: 'correct horse battery staple' }),
  });
  await walkTo('/profile');
  expect(await page.getByRole('table', { name: 'Sessions' }).getByRole('row').count()).toBe(3);
  expect(await hasRun(page)).toBe(false);
  await walkTo('/playground?model=sandbox-echo');
  await useKey(page);
  const message = page.getByRole('textbox', { name: 'Your message' });
  await message.fill(`${SCRIPT} [a](javascript:window.ran=1) <https://evil.example>`);
  await page.keyboard.press('Control+Enter');
  const answer = page.getByRole('article', { name: 'Response' });
  await answer.getByTestId('cost').waitFor();
  await answer.locator('.markdown').getByText('onerror=window.ran=1').waitFor(); // the formatter loads later
  expect(await linksIn(answer)).toEqual([['https://evil.example/', '_blank', 'noopener noreferrer']]);
  expect(await hasRun(page)).toBe(false);
  expect(otherHosts).toEqual([]);
  expect(visitor.problems).toEqual([]);
});

/** The addresses of links, apart from that to the page of the request, with how they open. */
async function linksIn(place: Locator): Promise<(string | null)[][]> {
  const links = await place.locator('a').all();
  const found = await Promise.all(
    links.map((link) => link.evaluate((a) => ['href', 'target', 'rel'].map((name) => a.getAttribute(name)))),
  );
  return found.filter(([href]) => !href?.startsWith('/console/usage/'));
}

const hostileMarkdown = [
  '# root',
  '## content',
  '<script>window.ran=1</script> <img src=//evil.example/a onerror=window.ran=1> <svg/onload=window.ran=1>',
  '<iframe src="https://evil.example"></iframe><style>*{display:none}</style><base href="//evil.example">',
  '<div style="position:fixed;inset:0" id="root">\n\n**over everything**\n\n</div>',
  '<a href="javascript:window.ran=1">x</a> <form action="//evil.example"><button>x</button></form>',
  '<Component onClick={window.ran=1} dangerouslySetInnerHTML={{__html: "<img src=x>"}} />',
  '[a](javascript:window.ran=1) [b](JaVaScRiPt&#58;window.ran=1) [c](\u0001javascript:window.ran=1) [d][bad]',
  '[e](data:text/html,<script>window.ran=1</script>) [f](vbscript:x) [g](file:///etc/passwd) [h](blob:https://evil.example/1)',
  '[i](//evil.example) [j](/console/keys) [k](#content) [l](java\nscript:window.ran=1)',
  '![image](https://evil.example/pixel.png) ![inline](data:image/svg+xml;base64,PHN2Zy8+) ![r][bad] [![n](https://evil.example/2.png)](javascript:window.ran=1)',
  '[good](https://good.example/path "title") [mail](mailto:ada@example.com)',
  'note[^1]',
  '[^1]: https://footnote.example',
  '[bad]: javascript:window.ran=1',
  '- [x] done',
  '```html\n<img src=//evil.example/b onerror=window.ran=1>\n```',
  '>'.repeat(2_000),
  `${' '.repeat(300)}- deep`,
].join('\n\n');

test.skipIf(chromium === null)(
  'hostile Markdown runs nothing, loads nothing, and links only to the web and to mail',
  async () => {
    await using visitor = await visitAs(turnpike, filled.people.operator);
    const { page } = visitor;
    const otherHosts = recordOtherHosts(page);
    await walkerFor(page, turnpike.url).walkTo('/playground?model=sandbox-echo');
    await page.getByRole('textbox', { name: 'Your message' }).waitFor();
    await useKey(page);
    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    await page.getByLabel('Max tokens').fill('4000');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    const shallow = hostileMarkdown.split('\n\n').slice(0, -2).join('\n\n');
    for (const [at, text] of [shallow, hostileMarkdown].entries()) {
      await page.getByRole('textbox', { name: 'Your message' }).fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
      const answer = page.getByRole('article', { name: 'Response' }).nth(at);
      await answer.getByTestId('cost').waitFor();
      await answer.getByText('over everything').waitFor();
      // The deeply nested text is shown as it is; the formatter of the other one loads later.
      const isPlain = at === 1;
      if (!isPlain) await answer.locator('.markdown').waitFor();
      expect(
        await answer.locator('img, script, iframe, style, base, form, input, object, embed, link, [id]').count(),
      ).toBe(0);
      expect(await answer.locator('.markdown').count()).toBe(isPlain ? 0 : 1);
      const hrefs = (await linksIn(answer)).map(([href, ...others]) => {
        expect(others).toEqual(['_blank', 'noopener noreferrer']);
        return href;
      });
      const expected = [
        'https://evil.example/pixel.png',
        'https://good.example/path',
        'mailto:ada@example.com',
        'https://footnote.example/',
        'https://evil.example/2.png',
        'https://evil.example"/', // an address within HTML, which is text
      ];
      expect(hrefs.filter((href) => !expected.includes(href ?? ''))).toEqual([]);
      expect(hrefs.includes('https://good.example/path')).toBe(!isPlain);
      expect(await hasRun(page)).toBe(false);
    }
    expect(await page.locator('#content').count()).toBe(1);
    expect(otherHosts).toEqual([]);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('script in model names, tool names and provider errors is shown as text', async () => {
  await using upstream = await startScriptUpstream();
  await turnpike.admin('POST', '/apply', { document: scriptCatalog(upstream.url) });
  await using visitor = await visitAs(turnpike, filled.people.operator);
  const { page } = visitor;
  const otherHosts = recordOtherHosts(page);
  const { walkTo } = walkerFor(page, turnpike.url);

  await walkTo(`/playground?model=${encodeURIComponent(SCRIPT_MODEL)}`);
  await useKey(page);
  const message = page.getByRole('textbox', { name: 'Your message' });
  await message.fill('Hello');
  await page.keyboard.press('Control+Enter');
  await page.getByText(`Tool call: ${SCRIPT_MODEL}`).waitFor();
  await page.getByLabel(`Result of ${SCRIPT_MODEL}`).fill(SCRIPT);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('400 ', { exact: false }).first().waitFor();
  expect(await hasRun(page)).toBe(false);
  expect(otherHosts).toEqual([]);
  expect(visitor.problems).toEqual([]);
});

test.skipIf(chromium === null)('a CSV export contains every row and no formula', async () => {
  await using visitor = await visitAs(turnpike, filled.people.operator);
  const { page } = visitor;
  const { walkTo } = walkerFor(page, turnpike.url);
  await turnpike.admin('POST', `/accounts/${accountId}/credits`, { amount: '0.01', note: FORMULA });
  for (const [path, list, fileName] of [
    ['/usage', '/usage', /^usage-.*\.csv$/],
    [`/accounts/${accountId}/transactions?view=entries`, `/accounts/${accountId}/entries`, /^transactions-.*\.csv$/],
    ['/audit', '/audit', /\.csv$/],
  ] as const) {
    await walkTo(path);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export CSV' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(fileName);
    const text = await Bun.file(await download.path()).text();
    const { data } = (await turnpike.admin('GET', `${list}?limit=1000`)) as { data: object[] };
    expect([path, text.trimEnd().split('\r\n').length]).toEqual([path, data.length + 1]);
    expect([path, /(?:^|,)"?=/m.test(text)]).toEqual([path, false]);
    if (list.endsWith('/entries')) expect(text).toContain(`"'${FORMULA.replaceAll('"', '""')}"`);
  }
  expect(visitor.problems).toEqual([]);
});
