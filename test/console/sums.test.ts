// Sums on the pages of the console in a real browser: the exact amounts, which each rounded amount has on hover, add up.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { readDecimal } from '../../console/figures.ts';
import { type StripeService, startWithStripe } from '../contract/payments/payments-service.ts';
import type { Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { fillPayments } from './fill-payments.ts';
import { type Visitor, visit } from './open-console.ts';

const MESSAGES = 9;
/** Costs of nine fraction digits, most of them rounded up. */
const groups = { default: { models: ['*'], multiplier: '0.837131' }, reserve: { models: ['*'], multiplier: '2' } };

let service: StripeService;
let turnpike: Turnpike;
let token: string;
let account: string;
let key: string;
let requestId: string;
/** An account with payments, a tax, refunds and usage; and its owner's token. */
let payer: { account: string; secret: string; owner: string };
/** The upstream answers when the gate opens, once it has two requests. */
const gate = Promise.withResolvers<Response>();
const isFull = Promise.withResolvers<void>();
let waiting = 0;
const upstream = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch() {
    if (++waiting === 2) isFull.resolve();
    return (await gate.promise).clone();
  },
});
beforeAll(async () => {
  if (chromium === null) return;
  service = await startWithStripe({ groups });
  turnpike = service.turnpike;
  const made = await turnpike.makeKey(
    { name: 'acme', credit: '250.00', credit_line: '0.005', groups: ['default', 'reserve'] },
    { quota: '1.00' },
  );
  account = made.account;
  key = made.key;
  const other = await turnpike.makeKey({ name: 'globex', credit: '0.106634' });
  for (let at = 0; at < MESSAGES; at++) {
    const answer = await turnpike.post(at % 3 === 2 ? other.secret : made.secret, {
      model: at % 2 === 0 ? 'sandbox-lorem' : 'sandbox-echo',
      max_tokens: 30 + 17 * at,
      messages: [{ role: 'user', content: 'What is the weather in Paris? '.repeat(1 + at) }],
    });
    await answer.text();
    if (at === 0) requestId = answer.headers.get('request-id') ?? '';
  }
  await turnpike.admin('POST', `/usage/${requestId}/refunds`, { amount: '0.000001' });
  token = String((await turnpike.admin('POST', '/tokens', { role: 'operator' }))['token']);
  payer = await makePayer();
});
afterAll(async () => {
  gate.resolve(new Response(null, { status: 500 }));
  await service?.[Symbol.asyncDispose]();
  await upstream.stop(true);
});

async function makePayer(): Promise<typeof payer> {
  const { account: id, secret } = await turnpike.makeKey({ name: 'initech', credit: '0', credit_line: '0.005' });
  await fillPayments(service, id);
  const { stripe } = service;
  const provider = { kind: 'anthropic', base_url: upstream.url.origin, private_network: true, api_key: 'sk-gated' };
  const lorem = {
    price: { input: '1', output: '5' },
    routes: [{ provider: 'sandbox' }, { provider: 'gated', model: 'claude-haiku-4-5', priority: 1 }],
  };
  const gated = {
    price: { input: '1.37', output: '7.77' },
    routes: [{ provider: 'gated', model: 'claude-haiku-4-5' }],
  };
  await turnpike.admin('POST', '/apply', {
    document: {
      settings: { stripe_automatic_tax: true },
      providers: { gated: provider },
      models: { gated, 'sandbox-lorem': lorem },
    },
  });
  await turnpike.admin('POST', '/payments', { account: id, amount: '12.35' });
  stripe.payCheckout([...stripe.state.sessions.keys()].at(-1) ?? '');
  await stripe.deliver(stripe.takeEvents(), `${turnpike.url}/webhooks/stripe`);
  const answer = await turnpike.post(secret, messageTo('sandbox-lorem', 61));
  await answer.text();
  const refunded = answer.headers.get('request-id') ?? '';
  await turnpike.admin('POST', `/usage/${refunded}/refunds`, { amount: '0.000003' });
  const { token: owner } = await turnpike.admin('POST', '/tokens', { role: 'owner', account: id });
  return { account: id, secret, owner: String(owner) };
}

const messageTo = (model: string, tokens: number) => ({
  model,
  max_tokens: tokens,
  messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
});

const UNIT_DIGITS = 24;

/** The amounts of a text, "+$1,234.50" or "−$0.10", in units of 10^-24 dollars. */
function amountsOf(text: string): bigint[] {
  const found = text.matchAll(/(−?)\$([\d,]+\.\d+)/g);
  return Array.from(found, ([, sign, figure = '']) => {
    const units = readDecimal(figure.replaceAll(',', ''), UNIT_DIGITS) ?? 0n;
    return sign === '' ? units : -units;
  });
}

const total = (amounts: bigint[]) => amounts.reduce((sum, one) => sum + one, 0n);

/** The text as it is laid out, without hidden columns and with space between cells, with exact amounts. */
async function exactText(place: Locator): Promise<string> {
  await place.first().waitFor();
  await place.evaluateAll((elements) => {
    const amounts = elements.flatMap((element) => [...element.querySelectorAll<HTMLElement>('[title*="$"]')]);
    for (const { lastChild: node, title } of amounts) if (node instanceof Text) node.data = title;
  });
  return (await place.allInnerTexts()).join('\n');
}

/** The texts of the last cells of the rows of a table, whose other columns may have no amounts. */
async function columnOf(table: Locator, place = -1): Promise<string[]> {
  await table.waitFor();
  const rows = await table.locator('tbody tr').all();
  return await Promise.all(rows.map((row) => exactText(row.locator('td').nth(place))));
}

/** Expects the rows of a column to add up to its row of totals. */
async function expectColumnToAddUp(table: Locator): Promise<void> {
  const rows = await columnOf(table);
  const [sum] = amountsOf(await exactText(table.locator('tfoot td').last()));
  expect({ rows, sum: total(rows.flatMap(amountsOf)) }).toEqual({ rows, sum: sum ?? -1n });
}

async function tileOf(page: Page, label: string): Promise<bigint> {
  const tile = page
    .locator('.mantine-Card-root')
    .filter({ has: page.getByText(label, { exact: true }), hasNot: page.getByRole('table') });
  return amountsOf(await exactText(tile.last()))[0] ?? -1n;
}

async function visitor(as = token): Promise<Visitor> {
  return await visit({ url: turnpike.url, token: as });
}

test.skipIf(chromium === null)('a statement adds up from the opening balance to the current one', async () => {
  await using shown = await visitor();
  const { page } = shown;
  await shown.goTo(`/accounts/${account}/statement`);
  const summary = await exactText(page.getByRole('region', { name: 'Summary' }));
  const amounts = amountsOf(summary);
  expect(amounts.length).toBeGreaterThanOrEqual(4);
  expect(total(amounts.slice(0, -1))).toBe(amounts.at(-1) ?? -1n);
  for (const name of ['Usage by model', 'Usage by API key', 'Usage by day'])
    await expectColumnToAddUp(page.getByRole('table', { name }));
});

test.skipIf(chromium === null)('the funds of an account and of a list of accounts add up', async () => {
  await using shown = await visitor();
  const { page } = shown;
  for (const path of [`/accounts/${account}/billing`, `/accounts/${account}`]) {
    await shown.goTo(path);
    const [available, balance, line] = [
      await tileOf(page, 'Available'),
      await tileOf(page, 'Balance'),
      await tileOf(page, 'Credit line'),
    ];
    expect({ path, available }).toEqual({ path, available: balance + line });
  }
  await shown.goTo('/accounts?name=globex');
  const row = page.getByRole('table', { name: 'Accounts' }).locator('tbody tr');
  const [available = -1n, balance = 0n, held = 0n] = amountsOf(await exactText(row));
  expect(available).toBe(balance - held);
});

test.skipIf(chromium === null)(
  'the cost of a request adds up, and so does its effect on balance and quota',
  async () => {
    await using shown = await visitor();
    const { page } = shown;
    await shown.goTo(`/usage/${requestId}`);
    const table = page.getByRole('table', { name: 'Cost breakdown' });
    await table.waitFor();
    const rows = await columnOf(table);
    const labels = await columnOf(table, 0);
    const amountOf = (label: string) =>
      amountsOf(rows[labels.findIndex((one) => one.startsWith(label))] ?? '')[0] ?? -1n;
    const lines = rows.slice(0, labels.indexOf('Subtotal')).flatMap(amountsOf);
    expect(amountOf('Subtotal')).toBeGreaterThan(0n);
    expect(total(lines)).toBe(amountOf('Subtotal'));
    const charged = amountOf('Before refunds');
    expect(charged + amountOf('Refunded')).toBe(amountOf('Cost'));
    await expectColumnToAddUp(page.getByRole('table', { name: 'Ledger entries' }));
    const impact = amountsOf(await exactText(page.getByRole('region', { name: 'Balance impact' })));
    const [change = 0n, before = 0n, after = 0n, used = 0n, usedBefore = 0n, usedAfter = 0n] = impact;
    expect([change, after - before, used, usedAfter - usedBefore]).toEqual([-charged, -charged, charged, charged]);
    const [revenue = 0n, ...parts] = amountsOf(await exactText(page.getByRole('region', { name: 'Margin' })));
    if (parts.length > 0) expect(total(parts)).toBe(revenue);
  },
);

test.skipIf(chromium === null)('the costs of listed requests add up to their total', async () => {
  await using shown = await visitor();
  const { page } = shown;
  await shown.goTo('/usage');
  const table = page.getByRole('table', { name: 'Requests' });
  await table.waitFor();
  const rows = await Promise.all((await table.locator('tbody tr').all()).map(exactText));
  expect(rows).toHaveLength(MESSAGES + 1); // with the payer's
  const totals = page.getByRole('region', { name: 'Totals of the filtered requests' });
  expect(total(rows.flatMap(amountsOf))).toBe(amountsOf(await exactText(totals))[0] ?? -1n);
});

test.skipIf(chromium === null)('used and left of a quota add up to it', async () => {
  await using shown = await visitor();
  await shown.goTo(`/keys/${key}`);
  const tile = shown.page.locator('.mantine-Card-root').filter({ hasText: 'Quota' }).first();
  const [left = 0n, used = 0n, quota = 0n] = amountsOf(await exactText(tile));
  expect(quota).toBe(10n ** BigInt(UNIT_DIGITS));
  expect(left + used).toBe(quota);
});

test.skipIf(chromium === null)(
  'the costs of the top accounts, of providers and of groups add up to the revenue',
  async () => {
    await using shown = await visitor();
    const { page } = shown;
    await shown.goTo('/');
    const revenue = await tileOf(page, 'Revenue');
    for (const name of ['Top models', 'Top API keys', 'Top accounts']) {
      const list = page.getByRole('region', { name });
      await list.getByText('$').first().waitFor(); // it has a request of its own
      const sum = total(amountsOf(await exactText(list)));
      expect({ name, sum }).toEqual({ name, sum: revenue });
    }
    const totals = (await turnpike.admin('GET', '/usage/totals')) as { total: { cost: string } };
    for (const [path, name] of [
      ['/providers', 'Providers'],
      ['/groups', 'Groups'],
    ] as const) {
      await shown.goTo(`${path}?range=90d`);
      const heading = page.getByRole('columnheader', { name: /^cost/i });
      await heading.waitFor();
      const labels = await page.getByRole('columnheader').allInnerTexts();
      const place = labels.findIndex((label) => /cost/i.test(label));
      const rows = await columnOf(page.getByRole('table', { name }), place);
      const sum = readDecimal(totals.total.cost, UNIT_DIGITS); // all of it is of one provider and one group
      expect({ name, sum: total(rows.flatMap(amountsOf)) }).toEqual({ name, sum: sum ?? -1n });
    }
  },
);

/** The amounts of the facts of a payment, by their names. */
async function factsOf(place: Locator): Promise<Record<string, bigint>> {
  await place.getByText('Credited', { exact: true }).waitFor();
  const [names, values] = [await place.locator('dt').allInnerTexts(), await place.locator('dd').allInnerTexts()];
  return Object.fromEntries(names.flatMap((name, at) => amountsOf(values[at] ?? '').map((units) => [name, units])));
}

test.skipIf(chromium === null)('what was credited of a payment is its amount less what was paid back', async () => {
  for (const [path, as] of [
    ['/payments', token],
    ['/billing/payments', payer.owner],
  ] as const) {
    await using shown = await visitor(as);
    const { page } = shown;
    await shown.goTo(path);
    const table = page.getByRole('table', { name: 'Payments' });
    await table.waitFor();
    const rows = await table.locator('tbody tr').all();
    const texts = await Promise.all(rows.map((row) => exactText(row)));
    expect(texts).toHaveLength(6);
    const paid = texts.filter((text) => !/Failed|Pending/.test(text)).map((text) => amountsOf(text));
    expect(paid).toHaveLength(4);
    for (const [amount = 0n, _tax, ...others] of paid) expect(others.at(-1)).toBe(amount - total(others.slice(0, -1)));
    for (const text of ['refunded', 'disputed', 'Paid']) {
      const row = rows[texts.findIndex((one) => one.includes(text))];
      await row?.getByRole('link').first().click();
      const {
        Amount = -1n,
        Tax = 0n,
        Paid,
        Refunded = 0n,
        Disputed = 0n,
        Credited,
      } = await factsOf(page.getByRole('dialog', { name: 'Payment' }));
      expect({ path, text, Paid, Credited }).toEqual({
        path,
        text,
        Paid: Amount + Tax,
        Credited: Amount - Refunded - Disputed,
      });
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
  }
});

test.skipIf(chromium === null)('the payments and credits of a statement add up', async () => {
  await using shown = await visitor(payer.owner);
  const { page } = shown;
  await shown.goTo(`/accounts/${payer.account}/statement`);
  const payments = page.getByRole('table', { name: 'Payments' });
  await payments.waitFor();
  const sums = await payments.locator('tfoot td').allInnerTexts();
  expect(sums.length).toBeGreaterThanOrEqual(6); // with tax, refunds and disputes
  for (const [place, sum] of sums.entries()) {
    const rows = await columnOf(payments, place);
    if (place > 0)
      expect({ rows, sum: total(rows.flatMap(amountsOf)) }).toEqual({ rows, sum: amountsOf(sum)[0] ?? -1n });
  }
  const entries = await columnOf(page.getByRole('table', { name: 'Credits, refunds and corrections' }));
  const summary = page.getByRole('region', { name: 'Summary' });
  const [, credits = 0n, usage = 0n, refunds = 0n] = amountsOf(await exactText(summary));
  expect(usage).toBeLessThan(0n);
  expect(total(entries.flatMap(amountsOf))).toBe(credits + refunds);
});

test.skipIf(chromium === null)('what an owner has available is the balance less the holds, which add up', async () => {
  const running = [397, 1_123].map((tokens) => turnpike.post(payer.secret, messageTo('gated', tokens)));
  await isFull.promise;
  await using shown = await visitor(payer.owner);
  const { page } = shown;
  await shown.goTo('/billing');
  const held = await columnOf(page.getByRole('table', { name: 'Holds' }));
  const reserved = await tileOf(page, 'Reserved'); // on the digits of the holds, once they are listed
  expect(held).toHaveLength(2);
  expect(total(held.flatMap(amountsOf))).toBe(reserved);
  const [available, balance, line] = [
    await tileOf(page, 'Available'),
    await tileOf(page, 'Balance'),
    await tileOf(page, 'Credit line'),
  ];
  expect(available).toBe(balance - reserved + line);
  gate.resolve(new Response(null, { status: 500 }));
  await Promise.all(running);
});

test.skipIf(chromium === null)('each balance of the transactions is the one before it plus the change', async () => {
  await using shown = await visitor(payer.owner);
  const { page } = shown;
  await shown.goTo('/billing/transactions');
  const table = page.getByRole('table', { name: 'Transactions by day' });
  const changes = await columnOf(table, -2);
  const balances = await columnOf(table);
  let [balance = -1n] = amountsOf(await exactText(page.getByText(/^Opening balance/)));
  for (const [at, change] of changes.toReversed().entries()) {
    balance += total(amountsOf(change));
    expect({ change, balance }).toEqual({ change, balance: amountsOf(balances.at(-1 - at) ?? '')[0] ?? -1n });
  }
});
