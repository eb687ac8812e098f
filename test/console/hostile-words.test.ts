// Words that somebody else wrote, with script and styles in them, wherever the console shows them: nothing of it runs,
// nothing is fetched from elsewhere, and nothing is refused by the Content-Security-Policy, because nothing is tried.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { chromium } from '../clients/open-browser.ts';
import { letIn } from '../sign-in/browser.ts';
import { eventText, scripts, startScriptedUpstream, upstreamMessage } from '../support/scripted-upstream.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { type Inhabited, inhabit, pagesOf, visitAs, walkerOf } from './every-page.ts';
import { startChromium, visit } from './open-console.ts';

setDefaultTimeout(180_000);

const HOSTILE = `"><img src=//evil.example/x onerror=window.ran=1><script>window.ran=1</script>'`;
/** Names of models have no spaces; script needs none. */
const HOSTILE_MODEL = '"><svg/onload=window.ran=1>';
const FORMULA = '=HYPERLINK("//evil.example")';

let turnpike: Turnpike;
let browser: Browser;
let inhabited: Inhabited;
let accountId: string;
let keySecret: string;
beforeAll(async () => {
  if (chromium === null) return;
  [turnpike, browser] = await Promise.all([startTurnpike(), startChromium()]);
  inhabited = await inhabit(turnpike, false);
  ({ accountId } = inhabited.places);
  await turnpike.admin('PATCH', `/accounts/${accountId}`, { name: HOSTILE });
  const money = { amount: '5.00', reference: HOSTILE, note: HOSTILE };
  await turnpike.admin('POST', `/accounts/${accountId}/credits`, money);
  const { key } = await turnpike.admin('POST', '/keys', { account: accountId, name: HOSTILE });
  keySecret = String(key);
  await turnpike.admin('POST', '/keys', { account: accountId, name: FORMULA });
  await turnpike.admin('POST', '/tokens', { role: 'viewer', name: HOSTILE });
  await turnpike.admin('POST', '/people', { email: 'mallory@example.com', name: HOSTILE, role: 'viewer' });
  for (let at = 0; at < 2; at++) await (await say(HOSTILE)).text();
});
afterAll(async () => {
  await browser?.close();
  await turnpike?.stop();
});

const say = (content: string) =>
  turnpike.post(keySecret, { model: 'sandbox-echo', max_tokens: 200, messages: [{ role: 'user', content }] });

/** The hosts that the page asks from now on, but for our own. */
function recordElsewhere(page: Page): string[] {
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== turnpike.url && protocol !== 'data:') elsewhere.push(request.url());
  });
  return elsewhere;
}

const hasRun = (page: Page) => page.evaluate(() => 'ran' in window || document.querySelector('main img') !== null);

test.skipIf(chromium === null)(
  'names, notes, references and contents that are script are shown as words on every page',
  async () => {
    await using visitor = await visitAs(browser, turnpike, inhabited.people.operator);
    const { page } = visitor;
    const elsewhere = recordElsewhere(page);
    const { walkTo } = walkerOf(page, turnpike.url);
    const { data } = (await turnpike.admin('GET', '/usage?limit=1')) as { data: { request_id: string; key: string }[] };
    const { request_id: requestId = '', key: keyId = '' } = data[0] ?? {};
    let shownCount = 0;
    for (const path of pagesOf('operator', { ...inhabited.places, requestId, keyId })) {
      await walkTo(path);
      expect([path, await hasRun(page)]).toEqual([path, false]);
      if ((await page.getByText('onerror=').count()) > 0) shownCount++;
    }
    expect(shownCount).toBeGreaterThan(6); // it did stand there
    expect(elsewhere).toEqual([]);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)(
  'addresses with script in ids, filters and errors run nothing and lead nowhere else',
  async () => {
    await using stranger = await visit(browser, { url: turnpike.url });
    await using visitor = await visitAs(browser, turnpike, inhabited.people.owner);
    const bad = encodeURIComponent(HOSTILE);
    for (const [{ page, problems }, paths] of [
      [
        stranger,
        [`/sign-in?error=${bad}`, `/sign-in?next=//evil.example&return=javascript:window.ran=1`, `/invitation#${bad}`],
      ],
      [
        visitor,
        [
          `/usage/${bad}`,
          `/keys/${bad}`,
          `/models/${bad}`,
          `/accounts/${bad}`,
          `/usage?model=${bad}&key=${bad}&outcome=${bad}&period=${bad}&from=${bad}`,
          `/keys?status=${bad}&name=${bad}`,
          `/playground?model=${bad}`,
          `/audit?object=${bad}&actor=${bad}`,
          `/people?person=${bad}`,
          `/?period=${bad}`,
          `/${bad}`,
        ],
      ],
    ] as const) {
      const elsewhere = recordElsewhere(page);
      const { walkTo } = walkerOf(page, turnpike.url);
      for (const path of paths) {
        await walkTo(path);
        expect([path, await hasRun(page), new URL(page.url()).origin]).toEqual([path, false, turnpike.url]);
      }
      expect(elsewhere).toEqual([]);
      expect(problems).toEqual([]);
    }
  },
);

test.skipIf(chromium === null)(
  'what a model answers in the playground, and a browser in the sessions, is shown as words',
  async () => {
    const grace = await letIn(turnpike, 'grace@example.com', 'owner', accountId);
    await using visitor = await visitAs(browser, turnpike, grace);
    const { page } = visitor;
    const elsewhere = recordElsewhere(page);
    const { walkTo } = walkerOf(page, turnpike.url);
    await fetch(`${turnpike.url}/console/auth/sign-in/email`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'sec-fetch-site': 'same-origin',
        'user-agent': `${HOSTILE} Chrome`,
      },
      body: JSON.stringify({ email: grace.email, password: 'correct horse battery staple' }),
    });
    await walkTo('/profile');
    expect(await page.getByRole('table', { name: 'Sessions' }).getByRole('row').count()).toBe(3);
    expect(await hasRun(page)).toBe(false);
    await walkTo('/playground?model=sandbox-echo');
    await page.getByRole('tab', { name: 'Paste one' }).click();
    await page.getByRole('textbox', { name: 'A key' }).fill(keySecret);
    await page.getByRole('button', { name: 'Use it' }).click();
    const message = page.getByRole('textbox', { name: 'Your message' });
    await message.fill(`${HOSTILE} [a](javascript:window.ran=1) <https://evil.example>`);
    await page.keyboard.press('Control+Enter');
    const answer = page.getByRole('article', { name: 'Answer' });
    await answer.getByTestId('cost').waitFor();
    await answer.getByText('onerror=window.ran=1').waitFor();
    expect(await page.getByRole('article').locator('a[href^="javascript:"], a[href*="evil"]').count()).toBe(0);
    expect(await hasRun(page)).toBe(false);
    expect(elsewhere).toEqual([]);
    expect(visitor.problems).toEqual([]);
  },
);

/** A call of a tool, streamed, whose name and input are script. */
const hostileCall = [
  { type: 'message_start', message: { ...upstreamMessage(), content: [], stop_reason: null } },
  {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 'toolu_1', name: HOSTILE_MODEL, input: {} },
  },
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: JSON.stringify({ [HOSTILE]: HOSTILE }) },
  },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 12 } },
  { type: 'message_stop' },
];

test.skipIf(chromium === null)(
  'names of models, what a provider calls its tools and what it says went wrong are shown as words',
  async () => {
    await using upstream = await startScriptedUpstream(
      scripts.rawStream(hostileCall.map((event) => eventText(event)).join('')),
      (answer) =>
        answer.send(
          400,
          { 'content-type': 'application/json' },
          JSON.stringify({ error: { type: HOSTILE, message: HOSTILE } }),
        ),
    );
    const provider = { kind: 'anthropic', base_url: upstream.url, api_key: 'sk-x', private_network: true };
    const price = { input: '1', output: '5' };
    const routes = [{ provider: 'evil', model: HOSTILE_MODEL }];
    await turnpike.admin('POST', '/apply', {
      document: {
        providers: { evil: provider },
        models: { [HOSTILE_MODEL]: { display_name: HOSTILE, price, routes } },
        groups: { evil: { models: [HOSTILE_MODEL, '*'] } },
      },
    });
    await using visitor = await visitAs(browser, turnpike, inhabited.people.operator);
    const { page } = visitor;
    const elsewhere = recordElsewhere(page);
    const { walkTo } = walkerOf(page, turnpike.url);

    await walkTo(`/playground?model=${encodeURIComponent(HOSTILE_MODEL)}`);
    await page.getByRole('tab', { name: 'Paste one' }).click();
    await page.getByRole('textbox', { name: 'A key' }).fill(keySecret);
    await page.getByRole('button', { name: 'Use it' }).click();
    const message = page.getByRole('textbox', { name: 'Your message' });
    await message.fill('Hello');
    await page.keyboard.press('Control+Enter');
    await page.getByText(`Call of ${HOSTILE_MODEL}`).waitFor();
    await page.getByLabel(`Result of ${HOSTILE_MODEL}`).fill(HOSTILE);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('400 ', { exact: false }).first().waitFor();
    expect(await hasRun(page)).toBe(false);

    const { data } = (await turnpike.admin('GET', '/usage?limit=2')) as {
      data: { request_id: string; model: string }[];
    };
    expect(data.map(({ model }) => model)).toContain(HOSTILE_MODEL);
    const places = { ...inhabited.places, modelName: HOSTILE_MODEL, providerName: 'evil' };
    const isOfTheCatalogue = (path: string) =>
      /^\/(?:$|usage|models|new-model|groups|providers|settings|audit)/.test(path);
    const paths = data.map(({ request_id: requestId }) =>
      pagesOf('operator', { ...places, requestId }).filter(isOfTheCatalogue),
    );
    for (const path of new Set(paths.flat())) {
      await walkTo(path);
      expect([path, await hasRun(page)]).toEqual([path, false]);
    }
    expect(elsewhere).toEqual([]);
    expect(visitor.problems).toEqual([]);
  },
);

test.skipIf(chromium === null)('a list is saved as CSV, whole, and no name in it is a formula', async () => {
  await using visitor = await visitAs(browser, turnpike, inhabited.people.operator);
  const { page } = visitor;
  const { walkTo } = walkerOf(page, turnpike.url);
  await turnpike.admin('POST', `/accounts/${accountId}/credits`, { amount: '0.01', note: FORMULA });
  for (const [path, list, fileName] of [
    ['/usage', '/usage', /^usage-.*\.csv$/],
    [`/accounts/${accountId}/balance`, `/accounts/${accountId}/entries`, /^journal-.*\.csv$/],
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
