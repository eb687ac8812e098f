// The owner of an account pays, lets the saved method be charged, and buys a plan, using the page alone: the whole service over a
// scripted Stripe, whose own pages are opened in the same Chromium.

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { signUp } from '../contract/sign-in/browser.ts';
import { freePort } from '../support/free-port.ts';
import { ScriptedStripe } from '../support/scripted-stripe.ts';
import { spawnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { chromium } from '../verify/clients/open-browser.ts';
import { actionsOn } from './page-actions.ts';
import { visitAs } from './walk-pages.ts';

setDefaultTimeout(300_000);

const PAID = 6.5;
const RECHARGE = 5;
const STREAM_TOKENS = 1_500;
const STREAM_COST = 7.5;
const document = {
  models: {
    novel: { price: { input: '0', output: '5000' }, routes: [{ provider: 'sandbox', model: 'sandbox-lorem' }] },
  },
  settings: { output_tranche_tokens: 100, output_floor_tokens: 16 },
};

const stripe = new ScriptedStripe();
const plan = { title: 'Pro', price: '20.00', windows: { '5h': '2.00', month: '40.00' }, is_offered: true };
let api: Awaited<ReturnType<ScriptedStripe['listen']>>;
let turnpike: Turnpike;
beforeAll(async () => {
  if (chromium === null) return;
  const port = freePort();
  api = await stripe.listen();
  const environment = {
    TURNPIKE_PUBLIC_URL: `http://127.0.0.1:${port}`, // Stripe's pages lead back to it
    TURNPIKE_STRIPE_SECRET_KEY: stripe.secretKey,
    TURNPIKE_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    TURNPIKE_STRIPE_API_URL: api.url,
  };
  const flags = ['--listen', `127.0.0.1:${port}`];
  turnpike = await spawnTurnpike(undefined, environment, flags);
  const plans = { pro: { ...plan, stripe_price: stripe.addPrice(2_000).id } };
  await turnpike.admin('POST', '/apply', { document: { ...document, plans } });
});
afterAll(async () => {
  await turnpike?.stop();
  await api?.stop();
});

const deliver = async () =>
  expect(await stripe.deliver(stripe.takeEvents(), `${turnpike.url}/webhooks/stripe`)).toEqual([]);

const regionOf = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

test.skipIf(chromium === null)(
  'an owner recharges on the page of Stripe, turns on automatic recharges, and a stream that costs more than the balance goes on',
  async () => {
    const { account, secret } = await turnpike.makeKey({ name: 'Acme', credit: '0' });
    const owner = await signUp(turnpike, 'grace@example.com', 'owner', account);
    const balance = async () => Number((await turnpike.admin('GET', `/accounts/${account}`))['balance']);
    await using visitor = await visitAs(turnpike, owner);
    const { page } = visitor;
    const recharge = actionsOn(page, () => regionOf(page, 'Recharge'));
    const automatic = actionsOn(page, () => regionOf(page, 'Automatic recharge'));

    await visitor.goTo('/billing');
    await page.getByText('No funds available.').waitFor();
    await page.getByText('Other amount').click();
    await recharge.fill('Amount (USD)', String(PAID));
    await recharge.press('button', 'Continue to payment');
    await recharge.see('Checkout');
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByText('Payment canceled').waitFor();
    await page.getByRole('link', { name: 'Continue this payment' }).click();
    await page.getByRole('button', { name: 'Pay $6.50' }).click();
    await page.getByText('Payment is being processed').waitFor();
    expect(await balance()).toBe(0); // the browser's return credits nothing
    await deliver();
    await page.getByText('$6.50 was added to the balance.').waitFor();
    expect(await balance()).toBe(PAID);

    await automatic.fill('Threshold (USD)', '1.00');
    await automatic.fill('Amount (USD)', String(RECHARGE));
    await automatic.press('button', 'Turn on');
    await regionOf(page, 'Automatic recharge').getByText('On', { exact: true }).waitFor();

    const messages = [{ role: 'user', content: 'Write a novel.' }];
    const message = { model: 'novel', max_tokens: STREAM_TOKENS, stream: true, messages };
    const events = await (await turnpike.post(secret, message)).text();
    expect(events).toContain('"type":"message_stop"');
    expect(events).toContain(`"output_tokens":${STREAM_TOKENS}`);
    await deliver();
    expect(await balance()).toBe(PAID + RECHARGE - STREAM_COST);

    await page.getByRole('navigation', { name: 'Billing' }).getByRole('link', { name: 'Payments' }).click();
    await automatic.see('Payments');
    const rows = page.getByRole('table', { name: 'Payments' }).locator('tbody tr');
    await rows.nth(1).waitFor();
    expect(await rows.count()).toBe(2);
    const [latest = '', first = ''] = await rows.allInnerTexts();
    for (const text of ['Automatic recharge', 'Paid', '$5.00', 'Receipt']) expect(latest).toContain(text);
    for (const text of ['Recharge', 'Paid', '$6.50', 'Receipt']) expect(first).toContain(text);
    expect(visitor.problems).toEqual([]);
    expect(await turnpike.admin('POST', '/payments/check', {})).toMatchObject({ ok: true, compared: 2 });
    expect((await turnpike.check()).ok).toBe(true);
  },
);

test.skipIf(chromium === null)('an owner buys a plan on the page of Stripe, cancels it and resumes it', async () => {
  const { account } = await turnpike.makeKey({ name: 'Globex', credit: '0' });
  const owner = await signUp(turnpike, 'ada@example.com', 'owner', account);
  await using visitor = await visitAs(turnpike, owner);
  const { page } = visitor;
  const actions = actionsOn(page);
  await visitor.goTo('/billing/plan');
  await actions.see('No plan');
  await actions.press('button', 'Buy Pro');
  await actions.see('Checkout');
  await page.getByRole('button', { name: 'Pay $20.00' }).click();
  await page.getByText('Purchase is being processed').waitFor();
  await deliver();
  await page.getByText('The plan of the account is Pro.').waitFor();

  await page.getByRole('navigation', { name: 'Billing' }).getByRole('link', { name: 'Plan' }).click();
  await regionOf(page, 'Pro').getByText('Subscribed').waitFor();
  await actions.press('button', 'Cancel subscription');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel subscription' }).click();
  await page.getByText('The subscription is canceled.').waitFor();
  await actions.press('button', 'Resume subscription');
  await regionOf(page, 'Pro').getByText('Subscribed').waitFor();
  await deliver();
  expect(await turnpike.admin('GET', `/accounts/${account}/plan`)).toMatchObject({
    plan: 'pro',
    subscription: { cancels_at: null },
  });
  expect(visitor.problems).toEqual([]);
});
