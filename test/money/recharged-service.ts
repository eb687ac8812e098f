// A service whose account recharges automatically through a scripted Stripe, for the tests of recharges: real streams,
// the real ledger, the real adapter.

import { formatId } from '../../src/base/ids.ts';
import type { NewEvent } from '../../src/events/events.ts';
import type { Bundle, EventRow, NodeLedger } from '../../src/ledger/ledger.ts';
import { AutoRecharges, type Payment, PaymentSync } from '../../src/payments/payments.ts';
import { openStripe } from '../../src/payments/stripe/stripe.ts';
import { Secret } from '../../src/secrets/secrets.ts';
import type { Stores } from '../../src/storage/storage.ts';
import { makeEvent, type StreamEvent } from '../../src/wire/wire.ts';
import {
  type ControlledService,
  EVENTS,
  type Parts,
  startControlled,
  streamOf,
} from '../contract/post-messages/controlled-service.ts';
import { ScriptedStripe } from '../support/scripted-stripe.ts';
import { storeKey } from '../support/serve-gateway.ts';

export const CENT = 10_000_000;
/** Output tokens; at 15 USD per million, 6 cents. */
const TOKENS = 4_000;
const PIECE_TOKENS = 500;
export const LONG_COST = 25 * 3_000 + TOKENS * 15_000;
export const PIECES = TOKENS / PIECE_TOKENS;

const delta = {
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: 'abc '.repeat(PIECE_TOKENS) },
};
/** A stream of 4,000 tokens in eight pieces. */
export const LONG: readonly StreamEvent[] = [
  ...EVENTS.slice(0, 2),
  ...Array.from({ length: PIECES }, () => makeEvent(delta)),
  makeEvent({ type: 'content_block_stop', index: 0 }),
  makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: TOKENS } }),
  makeEvent({ type: 'message_stop' }),
];

export const TERMS = {
  minimum: 100 * CENT,
  maximum: 10_000 * CENT,
  perDayMax: 10,
  isTaxAutomatic: false,
  bonusTiers: [],
};
export const RECHARGE = { threshold: 5 * CENT, amount: 1_000 * CENT, perDayMax: 3, sinceMs: 0 };

export interface RechargedNode {
  service: ControlledService;
  stores: Stores;
  ledger: NodeLedger;
  recharges: AutoRecharges;
  sync: PaymentSync;
}

/** The state that several nodes share. */
export interface Till {
  stripe: ScriptedStripe;
  /** How nodes reach it. */
  send: ScriptedStripe['send'];
  events: NewEvent[];
  failures: unknown[];
}

export function openTill(): Till {
  const stripe = new ScriptedStripe();
  return { stripe, send: stripe.send, events: [], failures: [] };
}

/** `storeFor` wraps the store from which recharges read. */
export async function startRecharged(
  till: Till,
  parts: Parts = {},
  terms = TERMS,
  storeFor = (store: Stores['payments']) => store,
): Promise<RechargedNode> {
  const { stripe, send, events, failures } = till;
  const made: Omit<RechargedNode, 'service'>[] = [];
  const settings = { secretKey: new Secret(stripe.secretKey), webhookSecret: new Secret(stripe.webhookSecret) };
  const provider = await openStripe({ ...settings, apiUrl: null }, { send, retriesMax: 0 });
  const service = await startControlled({
    answer: async (_, signal) => streamOf(LONG, {}, signal),
    ...parts,
    recharges: ({ ledger, stores, clock }) => {
      const submit = async (bundle: Bundle) => {
        const answers = await ledger.submit(bundle);
        events.push(...(bundle.coCommitted ?? []).flatMap((row) => (isEventRow(row) ? [row.event] : [])));
        return answers;
      };
      const meters = (account: number, nowMs: number) => stores.ledger.accountMeters(account, nowMs);
      const gate = { submit, accountMeters: meters, flush: () => ledger.flush() };
      const shared = { provider, store: stores.payments, ledger: gate, clock };
      const sync = new PaymentSync({ ...shared, auditRows: () => [] });
      const report = (failure: unknown) => failures.push(failure);
      const store = storeFor(stores.payments);
      const recharges = new AutoRecharges({
        ...shared,
        store,
        accounts: stores.accounts,
        sync,
        terms: () => terms,
        report,
      });
      made.push({ stores, ledger, recharges, sync });
      return recharges;
    },
  });
  return { service, ...(made[0] as Omit<RechargedNode, 'service'>) };
}

export interface Holder {
  account: number;
  secret: string;
  customer: string;
}

/** An account with a saved card and automatic recharges. */
export async function addHolder(
  { service, stores, ledger }: RechargedNode,
  { stripe }: Till,
  creditNano: number,
  { card = 'good' as Parameters<ScriptedStripe['saveMethod']>[1], setting = RECHARGE } = {},
): Promise<Holder> {
  const nowMs = service.gateway.clock.nowMs();
  const { account, secret } = await storeKey(stores.accounts, nowMs, creditNano, {}, setting);
  const settings = { secretKey: new Secret(stripe.secretKey), webhookSecret: new Secret(stripe.webhookSecret) };
  const provider = await openStripe({ ...settings, apiUrl: null }, { send: stripe.send });
  const customer = await provider.createCustomer({ account: formatId('acct', account), name: 'Holder', email: null });
  stripe.saveMethod(customer, card);
  const facts = { method: null, rechargeFailure: null, subscription: null };
  const billing = { accountId: account, version: 1, customer, ...facts };
  await ledger.submit({ operations: [], coCommitted: [{ table: 'billing', billing }] });
  return { account, secret, customer };
}

function isEventRow(row: unknown): row is EventRow {
  return (row as EventRow).table === 'events';
}

export function rechargesOf({ stores }: RechargedNode, accountId: number): Promise<Payment[]> {
  return stores.payments.listPayments({
    accountId,
    kind: 'auto_recharge',
    status: null,
    sinceMs: null,
    untilMs: null,
    after: null,
    limit: 100,
  });
}

/** Charges that the bank accepted. */
export function paidCharges({ stripe }: Till): number {
  return [...stripe.state.charges.values()].filter(({ status }) => status === 'succeeded').length;
}

export function postStream(node: RechargedNode, holder: Holder, signal?: AbortSignal): Promise<Response> {
  return node.service.post(holder.secret, { stream: true, max_tokens: 8_000 }, signal);
}
