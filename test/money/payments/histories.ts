// Random histories of payments: holders, banks and operators act at a scripted Stripe; its events arrive late, twice, in
// any order, at any node, or never; nodes end between any two steps; calls fail before or after they were carried out.
// At the end the journal must have what Stripe's books say was paid, less refunds and disputes, and nothing twice.

import { expect } from 'bun:test';
import { formatId } from '../../../src/base/ids.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import type { Bundle, LedgerGate } from '../../../src/ledger/ledger.ts';
import {
  type Billing,
  type BonusTier,
  bonusOf,
  Checkouts,
  EventReceiver,
  isPaid,
  type Payment,
  PaymentChecker,
  type PaymentDependencies,
  type PaymentStore,
  PaymentSync,
  readBonusTiers,
  sweepPayments,
} from '../../../src/payments/payments.ts';
import { auditRows } from '../../../src/storage/storage.ts';
import type { Stores } from '../../../src/storage/stores.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { makeRandom } from '../../support/random.ts';
import { type Card, ScriptedStripe, type StripeEvent, type StripeFault } from '../../support/scripted-stripe.ts';
import { ask, type Workbench } from '../ledger/workbench.ts';

const cards: Card[] = ['good', 'good', 'good', 'good', 'declined', 'bank', 'authenticate'];
const faults: StripeFault[] = ['unavailable', 'dropped', 'lost', 'broken'];
const CENT = 10_000_000;
const HISTORIES_PER_STRIPE = 25;
export const TIERS = readBonusTiers(['10: 3.33%', '25: 10%']);

/** The node ended before or after a step; whatever it had in memory is lost. */
export class Killed extends Error {
  override name = 'Killed';
}

export interface Node {
  sync: PaymentSync;
  checkouts: Checkouts;
  receiver: EventReceiver;
  stripe: ScriptedStripe;
  checker: PaymentChecker;
  dependencies: PaymentDependencies;
}

export interface HistoryWorld {
  stripe: ScriptedStripe;
  /** The stores of each node, over one database. */
  stores: readonly Pick<Stores, 'payments' | 'ledger' | 'gate'>[];
  bench: Workbench;
  /** Whether the next step of a node ends it. */
  kills: { isDue(): boolean };
  /** The number of events at Stripe when a state was last begun to be read. */
  reads: { last: number };
  random: () => number;
}

export function openNode(world: HistoryWorld, stores: HistoryWorld['stores'][number]): Node {
  const { stripe, kills, bench } = world;
  const kill = (when: string) => {
    if (kills.isDue()) throw new Killed(when);
  };
  const submit: LedgerGate['submit'] = async (bundle: Bundle) => {
    kill('before a commit');
    const answers = await stores.gate.submit(bundle);
    kill('after a commit');
    return answers;
  };
  const whole = stripe.directProvider();
  const provider = new Proxy(whole, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'listPayments') return value;
      return async (...given: unknown[]) => {
        kill(`before ${String(name)}`);
        await turns(world.random);
        if (name === 'readPayment') world.reads.last = stripe.state.events.length;
        const answer = await value(...given);
        await turns(world.random);
        kill(`after ${String(name)}`);
        return answer;
      };
    },
  });
  const dependencies: PaymentDependencies = {
    provider,
    store: stores.payments as PaymentStore,
    ledger: { ...stores.ledger, submit },
    auditRows,
    clock: bench.clock,
  };
  const sync = new PaymentSync(dependencies);
  const settings = () => ({ publicUrl: 'https://turnpike.example.com', isTaxAutomatic: false });
  return {
    dependencies,
    sync,
    checkouts: new Checkouts(dependencies, sync, settings),
    receiver: new EventReceiver(dependencies, sync, null),
    stripe,
    checker: new PaymentChecker(dependencies, sync),
  };
}

/** Lets others go on, so that nodes meet at every point. */
async function turns(random: () => number): Promise<void> {
  for (let left = Math.floor(random() * 6); left > 0; left--) await null;
}

export interface Sequence {
  payment: Payment;
  /** The account's credit by this payment, in the journal. */
  credited: number;
}

/** Plays one history of one payment of a new or given account. Throws if the books differ. */
export async function playHistory(world: HistoryWorld, accountId: number): Promise<Sequence> {
  const { stripe, bench } = world;
  const random = () => world.random();
  const below = (count: number) => Math.floor(random() * count);
  const pick = <Value>(all: readonly Value[]): Value => all[below(all.length)] as Value;
  const nodes = world.stores.map((stores) => openNode(world, stores));
  world.kills.isDue = () => false;
  stripe.faultOf = () => null;
  const payment = await begin(world, nodes[0] as Node, accountId, 50 + below(5_000), TIERS);
  const { state } = stripe;
  const firstEvent = state.events.length;
  const setFaults = (isOn: boolean) => {
    world.kills.isDue = () => isOn && random() < 0.04;
    stripe.faultOf = () => (isOn && random() < 0.04 ? pick(faults) : null);
  };
  setFaults(true);
  const node = () => pick(nodes);
  const events = () => state.events.slice(firstEvent);
  const own = () => ownOf(stripe, payment);
  const steps = 4 + below(14);
  for (let step = 0; step < steps; step++) {
    const { session } = own();
    await survive(async () => {
      switch (below(15)) {
        case 0:
        case 1:
          await node().checkouts.open((await readPayment(node(), payment.id)) ?? payment);
          break;
        case 2:
        case 3:
          if (session !== undefined) stripe.payCheckout(session.id, pick(cards));
          break;
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
          actAsBank(stripe, own(), random);
          break;
        case 9:
          await spend(bench, accountId, random());
          break;
        case 10:
          await later(world, node(), below(4) * 3_600_000 + 61_000);
          break;
        case 11:
          if (session === undefined) break;
          setFaults(false);
          await meet(world, nodes, payment, session.id);
          setFaults(true);
          break;
        case 12:
          if (below(8) === 0 && session !== undefined) stripe.expireCheckout(session.id);
          break;
        default:
          await deliver(node, events(), random);
      }
    });
  }
  setFaults(false);
  await settleAll(world, nodes, payment, events(), random);
  return compare(world, nodes[0] as Node, payment);
}

/** A debit is settled, or money is taken back or given back. */
function actAsBank(
  stripe: ScriptedStripe,
  { intent, refunds, disputes }: ReturnType<typeof ownOf>,
  random: () => number,
): void {
  const below = (count: number) => Math.floor(random() * count);
  const pick = <Value>(all: readonly Value[]): Value => all[below(all.length)] as Value;
  const turn = below(5);
  if (turn === 3 && refunds.length > 0)
    stripe.endRefund(pick(refunds).id, pick(['succeeded', 'failed', 'canceled'] as const));
  else if (turn === 4 && disputes.length > 0) stripe.closeDispute(pick(disputes).id, pick(['won', 'lost'] as const));
  else if (intent === undefined) return;
  else if (turn === 0) stripe.settleBankDebit(intent.id, below(3) > 0);
  else if (turn === 1) stripe.refund(intent.id, 1 + below(2_500), pick(['succeeded', 'succeeded', 'pending'] as const));
  else if (turn === 2) stripe.openDispute(intent.id, { isInquiry: below(3) === 0, amount: 1 + below(5_000) });
}

/** All nodes look at the payment while the bank acts. What the last of them read must be in the journal. */
async function meet(world: HistoryWorld, nodes: readonly Node[], payment: Payment, source: string): Promise<void> {
  const { stripe, random } = world;
  const { intent } = ownOf(stripe, payment);
  const act = async () => {
    await turns(random);
    await turns(random);
    if (random() < 0.5 || intent === undefined) stripe.payCheckout(source);
    else stripe.refund(intent.id, 1 + Math.floor(random() * 500));
  };
  const looks = nodes.map(({ sync }) => turns(random).then(() => sync.sync(source, formatId('pay', payment.id))));
  await Promise.all([survive(act), ...looks]);
  if (world.reads.last !== stripe.state.events.length) return; // the bank acted after they had read
  const stored = await (nodes[0] as Node).dependencies.store.getPayment(payment.id);
  expect(stored?.credited).toBe(creditAtStripe(stripe, payment));
}

export async function begin(
  world: HistoryWorld,
  node: Node,
  accountId: number,
  cents: number,
  tiers: readonly BonusTier[] = [],
): Promise<Payment> {
  const account = await world.bench.stores.accounts.getAccount(accountId);
  if (account === null) throw new Error('the account is missing');
  const billing: Billing = await node.checkouts.customerOf(account, null, () => noAuditContext);
  const payment = node.checkouts.plan(billing, cents * CENT, bonusOf(cents * CENT, tiers));
  await node.dependencies.ledger.submit({ operations: [], coCommitted: [{ table: 'payments', payment }] });
  return payment;
}

async function readPayment({ dependencies }: Node, id: number): Promise<Payment | null> {
  return dependencies.store.getPayment(id);
}

/** Some of the events so far, in any order, some twice, some at the same time. */
async function deliver(node: () => Node, events: readonly StripeEvent[], random: () => number): Promise<void> {
  const some = shuffled(
    events.flatMap((event) => (random() < 0.4 ? [event, ...(random() < 0.3 ? [event] : [])] : [])),
    random,
  ).slice(0, 6);
  if (random() < 0.5) await Promise.all(some.map((event) => survive(() => receive(node(), event))));
  else for (const event of some) await survive(() => receive(node(), event));
}

export function receive({ receiver, stripe }: Node, event: StripeEvent): Promise<void> {
  const { body, headers } = stripe.sign(event);
  const request = { body: new TextEncoder().encode(body), headers: new Headers(headers) };
  return receiver.receive({ ...request, address: '192.0.2.1', requestId: '' });
}

async function later({ bench, stripe }: HistoryWorld, { dependencies, sync }: Node, ms: number): Promise<void> {
  bench.clock.advance(ms);
  stripe.state.shift(0);
  const report = () => {};
  await sweepPayments({ dependencies, sync, resumeRecharge: null, report }, new AbortController().signal);
}

/** Messages cost a part of what is available, or all of it. */
async function spend({ stores, clock }: Workbench, account: number, drawn: number): Promise<void> {
  const meters = await stores.ledger.accountMeters(account, clock.nowMs());
  const amount = Math.floor((meters?.available ?? 0) * Math.min(1, drawn * 2));
  if (amount === 0) return;
  await ask(stores.gate, {
    kind: 'credit',
    account,
    amount: -amount,
    source: 'adjustment',
    reference: null,
    note: null,
  });
}

/** Stripe sends what was not accepted again, until it is. */
export async function settleAll(
  world: HistoryWorld,
  nodes: readonly Node[],
  payment: Payment,
  events: readonly StripeEvent[],
  random: () => number,
): Promise<void> {
  world.bench.clock.advance(25 * 3_600_000); // an internal error is repeated for a day
  const all = shuffled([...events, ...events.slice(0, 3)], random);
  for (const event of all) await receive(nodes[Math.floor(random() * nodes.length)] as Node, event);
  const { session } = ownOf(world.stripe, payment);
  const name = formatId('pay', payment.id);
  if (session !== undefined) await Promise.all(nodes.map(({ sync }) => sync.sync(session.id, name)));
}

/** The books at Stripe, without the adapter. */
export function ownOf({ state }: ScriptedStripe, payment: Payment) {
  const name = formatId('pay', payment.id);
  const session = [...state.sessions.values()].findLast(({ metadata }) => metadata['turnpike_payment'] === name);
  const intent = session?.payment_intent == null ? undefined : state.intents.get(session.payment_intent);
  const ofIntent = <Row extends { payment_intent: string }>(rows: Map<string, Row>) =>
    [...rows.values()].filter((row) => row.payment_intent === intent?.id);
  return { session, intent, refunds: ofIntent(state.refunds), disputes: ofIntent(state.disputes) };
}

/** The credit that Stripe's books are worth. */
function creditAtStripe(stripe: ScriptedStripe, payment: Payment): number {
  const { intent, refunds, disputes } = ownOf(stripe, payment);
  const sum = (rows: readonly { amount: number; status: string }[], ...counted: string[]) =>
    rows.reduce((total, { amount, status }) => (counted.includes(status) ? total + amount : total), 0);
  const paid = intent?.status === 'succeeded' ? intent.amount_received : 0;
  const takenBack = sum(refunds, 'succeeded', 'pending') + sum(disputes, 'needs_response', 'lost');
  return Math.max(0, paid - takenBack) * CENT;
}

export async function compare(world: HistoryWorld, { dependencies, checker }: Node, begun: Payment): Promise<Sequence> {
  const { store } = dependencies;
  const { session, intent } = ownOf(world.stripe, begun);
  const payment = await store.getPayment(begun.id);
  if (payment === null) throw new Error('the payment is missing');
  const expected = creditAtStripe(world.stripe, begun);
  const sumOf = (prefix: string) => store.sumCredits(payment.accountId, `${prefix}:${formatId('pay', payment.id)}:`);
  const journal = await sumOf('stripe');
  // In exact integers, so that nothing of a bonus is left when all of its payment went back.
  const bonus = (BigInt(payment.bonus ?? 0) * BigInt(expected)) / BigInt(payment.amount);
  expect(BigInt(await sumOf('bonus'))).toBe(bonus);
  expect({ credited: payment.credited, journal, mismatch: payment.mismatch, isPaid: isPaid(payment.status) }).toEqual({
    credited: expected,
    journal: expected,
    mismatch: null,
    isPaid: intent?.status === 'succeeded' && intent.amount_received > 0,
  });
  if (session !== undefined) {
    const range = { sinceMs: session.created * 1000 - 1, untilMs: session.created * 1000 + 1, isRepairing: false };
    expect((await checker.check(range)).differences).toEqual([]);
  }
  return { payment, credited: journal };
}

function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  return values
    .map((value) => ({ value, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ value }) => value);
}

/** Runs a step that may be refused, may find the provider unavailable, or may end its node. */
async function survive(step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (failure) {
    const isRefused = failure instanceof Error && failure.constructor.name === 'ApiError';
    if (isRefused || failure instanceof Killed || failure instanceof TurnpikeError) return;
    throw failure;
  }
}

/** Histories of payments of a few accounts, one after another, each from its seed. Returns how many were played. */
export async function playMany(
  bench: Workbench,
  nodes: HistoryWorld['stores'],
  firstSeed: number,
  count: number,
): Promise<number> {
  let accounts: number[] = [];
  let stripe = new ScriptedStripe({ nowMs: bench.clock.nowMs });
  const kills = { isDue: () => false };
  let credited = 0;
  for (let history = 0; history < count; history++) {
    // The scripted Stripe looks through all that it has.
    if (history % HISTORIES_PER_STRIPE === 0) {
      stripe = new ScriptedStripe({ nowMs: bench.clock.nowMs });
      accounts = [await bench.addAccount(0), await bench.addAccount(0), await bench.addAccount(50_000_000_000)];
    }
    const seed = firstSeed + history;
    const reads = { last: 0 };
    const world: HistoryWorld = { stripe, stores: nodes, bench, kills, reads, random: makeRandom(seed) };
    try {
      const played = await playHistory(world, accounts[history % accounts.length] as number);
      if (played.credited > 0) credited++;
    } catch (failure) {
      throw new Error(`PAYMENT_SEED=${seed}: ${failure instanceof Error ? failure.message : failure}`, {
        cause: failure,
      });
    }
  }
  if (count > 50) expect(credited).toBeGreaterThan(count / 10);
  return count;
}
