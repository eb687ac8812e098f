// Makes and checks data other than messages: plans, payments, codes, people, and undelivered events. A build makes what its admin API
// offers; later builds must show all of it, credit the payments and deliver the events.

import { expect } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { acceptLink, Browser, invite } from '../../contract/sign-in/browser.ts';
import { ScriptedStripe, type StripeState } from '../../support/scripted-stripe.ts';
import { startReceiver } from '../../support/start-receiver.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

type Row = Record<string, unknown>;
type Admin = Turnpike['admin'];

export interface Features {
  madeAtMs: number;
  /** Rows of lists before the service was killed, by path, with members that nothing changes afterwards. */
  rows: Record<string, Row[]>;
  /** A person with a session. */
  email: string;
  cookies: [string, string][];
  /** null: the build has no plans, codes, payments and events. */
  sales: Sales | null;
}

interface Sales {
  account: string;
  ownerToken: string;
  plan: string;
  /** Codes that nobody redeemed. */
  codes: string[];
  receiver: string;
  /** Events that the receiver did not accept. */
  unsent: string[];
  stripe: { maps: Record<string, [string, unknown][]>; undelivered: ReturnType<ScriptedStripe['takeEvents']> };
  /** Paid at the provider, which did not report it yet. */
  unreportedPayment: string;
}

const LISTS = [
  '/accounts',
  '/keys',
  '/people',
  '/tokens',
  '/groups',
  '/models',
  '/payments',
  '/code-batches',
  '/destinations',
  '/events',
];
const LASTING = [
  'id',
  'name',
  'email',
  'role',
  'amount',
  'kind',
  'account',
  'type',
  'created_at',
  'made_by',
  'reference',
  'change',
  'seq',
];

/** The owner's token, a code, a payment and a plan are reported. */
const UNSENT = 4;
const PENDING_MS_MAX = 30_000;

/** Environment of a service that takes payments. */
export function stripeEnvironment(stripe: ScriptedStripe, url: string): Record<string, string> {
  return {
    TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
    TURNPIKE_STRIPE_SECRET_KEY: stripe.secretKey,
    TURNPIKE_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    TURNPIKE_STRIPE_API_URL: url,
  };
}

/** Members of the document that builds with sales know. */
export function salesDocument(stripe: ScriptedStripe): object {
  const plan = { title: 'Small', price: '20', windows: { month: '40' }, groups: ['default'], is_offered: true };
  return {
    plans: { given: { ...plan, is_offered: false }, small: { ...plan, stripe_price: stripe.addPrice(2_000).id } },
    settings: { webhook_private_network: 'everyone' },
  };
}

/** Makes all that the build can. `accounts` are of the messages, the second with limits. `stripe`: null if the build takes no payments. */
export async function makeFeatures(
  turnpike: Turnpike,
  accounts: readonly string[],
  stripe: ScriptedStripe | null,
): Promise<Features> {
  const { admin } = turnpike;
  const email = 'owner@example.com';
  const { secret } = await invite(turnpike, email, 'owner', accounts[0]);
  await acceptLink(turnpike, secret);
  await invite(turnpike, 'invited@example.com', 'member', accounts[0]);
  const browser = new Browser(turnpike.url);
  expect((await browser.signIn(email)).status).toBe(200);
  const sales = stripe === null ? null : await makeSales(turnpike, accounts, stripe);
  const rows: Features['rows'] = {};
  const lists = [...LISTS, ...accounts.map((account) => `/accounts/${account}/entries`)];
  for (const path of lists) rows[path] = (await readAll(admin, path).catch(() => [])).map(lastingOf);
  return { madeAtMs: Date.now(), rows, email, cookies: [...browser.cookies], sales };
}

async function makeSales(turnpike: Turnpike, accounts: readonly string[], stripe: ScriptedStripe): Promise<Sales> {
  const { admin } = turnpike;
  const [account = '', limited = ''] = accounts;
  using receiver = startReceiver();
  receiver.status = 500;
  await admin('POST', '/destinations', { kind: 'webhook', address: receiver.url, types: ['*'], account });
  const ownerToken = String((await admin('POST', '/tokens', { role: 'owner', account }))['token']);
  const limitedToken = String((await admin('POST', '/tokens', { role: 'owner', account: limited }))['token']);
  const ask = asOwner(turnpike, ownerToken);
  await admin('PATCH', `/accounts/${account}/plan`, { plan: 'given' });
  const batch = await admin('POST', '/code-batches', { name: 'spring', amount: '5.00', count: 2, kind: 'promotion' });
  const [code = '', ...codes] = batch['codes'] as string[];
  await ask('POST', `/accounts/${account}/redemptions`, { code });
  const begin = async () => {
    const payment = await ask('POST', '/payments', { amount: '10.00' });
    const isOf = (one: { metadata: Record<string, string> }) => one.metadata['turnpike_payment'] === payment['id'];
    return { id: String(payment['id']), session: [...stripe.state.sessions.values()].find(isOf)?.id ?? '' };
  };
  const reported = await begin();
  stripe.payCheckout(reported.session);
  const { url } = await asOwner(turnpike, limitedToken)('POST', `/accounts/${limited}/subscription`, { plan: 'small' });
  stripe.payCheckout([...stripe.state.sessions.values()].find((one) => one.url === url)?.id ?? '');
  expect(await stripe.deliver(stripe.takeEvents(), `${turnpike.url}/webhooks/stripe`)).toEqual([]);
  const unreported = await begin();
  stripe.payCheckout(unreported.session);
  await begin(); // is never paid
  const pending = () => readAll(admin, '/deliveries?status=pending');
  for (const endMs = Date.now() + PENDING_MS_MAX; (await pending()).length < UNSENT; await Bun.sleep(50))
    if (Date.now() > endMs) throw new Error('events were not spread in time');
  const maps = Object.fromEntries(
    Object.entries(stripe.state).flatMap(([name, value]) => (value instanceof Map ? [[name, [...value]]] : [])),
  );
  const undelivered = stripe.takeEvents();
  return {
    account,
    ownerToken,
    plan: 'given',
    codes,
    receiver: receiver.url,
    unsent: (await pending()).map(({ event }) => String((event as Row)['id'])),
    stripe: { maps, undelivered },
    unreportedPayment: unreported.id,
  };
}

function asOwner({ url }: Turnpike, token: string): (method: string, path: string, body?: object) => Promise<Row> {
  return async (method, path, body) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Row;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
}

/** The payment provider of a state, with all that it knew. */
export function restoreStripe({ stripe: { maps } }: Sales): ScriptedStripe {
  const stripe = new ScriptedStripe();
  for (const [name, entries] of Object.entries(maps)) {
    const map = stripe.state[name as keyof StripeState] as unknown as Map<string, unknown>;
    for (const [key, value] of entries) map.set(key, value);
  }
  return stripe;
}

/** Everything is there, and what was under way is completed. `received`: what the state's destination got since the start. */
export async function expectFeatures(
  turnpike: Turnpike,
  features: Features,
  stripe: ScriptedStripe | null,
  receiver: ReturnType<typeof startReceiver>,
): Promise<void> {
  const { admin } = turnpike;
  for (const [path, before] of Object.entries(features.rows)) expectKept(path, before, await readAll(admin, path));
  const browser = new Browser(turnpike.url);
  if (Date.now() - features.madeAtMs < bounds.sessionMs / 2) {
    for (const [name, value] of features.cookies) browser.cookies.set(name, value);
    expect(await browser.me()).toMatchObject({ email: features.email });
  }
  expect((await browser.signIn(features.email)).status).toBe(200);
  if (features.sales !== null && stripe !== null)
    await expectSales(turnpike, features, features.sales, stripe, receiver);
}

async function expectSales(
  turnpike: Turnpike,
  { rows }: Features,
  sales: Sales,
  stripe: ScriptedStripe,
  receiver: ReturnType<typeof startReceiver>,
): Promise<void> {
  const { admin } = turnpike;
  const { account, codes, unreportedPayment, unsent } = sales;
  expect(unsent.length).toBeGreaterThanOrEqual(UNSENT);
  await receiver.until((received) => unsent.every((id) => received.some((one) => one.id === id)));
  expect(await admin('GET', `/accounts/${account}/plan`)).toMatchObject({ plan: sales.plan });
  expect(await stripe.deliver(sales.stripe.undelivered, `${turnpike.url}/webhooks/stripe`)).toEqual([]);
  expect(await admin('GET', `/payments/${unreportedPayment}`)).toMatchObject({ status: 'paid', credited: '10.00' });
  const ask = asOwner(turnpike, sales.ownerToken);
  for (const code of codes) await ask('POST', `/accounts/${account}/redemptions`, { code });
  const added =
    (await readAll(admin, `/accounts/${account}/entries`)).length - (rows[`/accounts/${account}/entries`] ?? []).length;
  expect(added).toBeGreaterThanOrEqual(1 + codes.length);
}

function expectKept(path: string, before: readonly Row[], after: readonly Row[]): void {
  const isKept = (row: Row) =>
    after.some((one) => Object.entries(row).every(([name, value]) => Bun.deepEquals(one[name], value)));
  expect([path, before.filter((row) => !isKept(row))]).toEqual([path, []]);
}

function lastingOf(row: Row): Row {
  return Object.fromEntries(LASTING.filter((name) => name in row).map((name) => [name, row[name]]));
}

export async function readAll(admin: Admin, path: string, limit = 100): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor = '';
  do {
    const page = await admin('GET', `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${cursor}`);
    rows.push(...(page['data'] as Row[]));
    cursor = typeof page['next_cursor'] === 'string' ? `&cursor=${page['next_cursor']}` : '';
  } while (cursor !== '');
  return rows;
}
