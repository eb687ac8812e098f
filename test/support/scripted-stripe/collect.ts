// Attempts to pay at the scripted Stripe, and what takes money back: refunds, disputes.

import {
  ApiError,
  type Behaviour,
  type Charge,
  type Dispute,
  type Intent,
  invalid,
  need,
  type Outcome,
  type PaymentMethod,
  type Refund,
  type StripeState,
} from './state.ts';

/** Numbers of Stripe's test cards, and what happens with them. */
export const cards = {
  good: '4242424242424242',
  declined: '4000000000000002',
  /** Succeeds while the holder is present, and is declined later. */
  declinedLater: '4000000000000341',
  /** Wants the holder to confirm every payment. */
  authenticate: '4000002760003184',
  /** A bank account, whose payments take days. */
  bank: '000123456789',
} as const;
export type Card = keyof typeof cards;

const behaviours: Record<Card, Behaviour> = {
  good: { onSession: 'succeed', offSession: 'succeed' },
  declined: { onSession: 'decline', offSession: 'decline' },
  declinedLater: { onSession: 'succeed', offSession: 'decline' },
  authenticate: { onSession: 'authenticate', offSession: 'authenticate' },
  bank: { onSession: 'delay', offSession: 'delay' },
};

export function addMethod(state: StripeState, card: Card, customer: string | null): PaymentMethod {
  const number = cards[card];
  const last4 = number.slice(-4);
  const isBank = card === 'bank';
  const method: PaymentMethod = {
    ...state.common('pm', 'payment_method'),
    type: isBank ? 'us_bank_account' : 'card',
    customer: null,
    ...(isBank
      ? { us_bank_account: { bank_name: 'Test Bank', last4 } }
      : { card: { brand: 'visa', last4, exp_year: 2035, exp_month: 12 } }),
  };
  state.methods.set(method.id, method);
  state.behaviours.set(method.id, behaviours[card]);
  if (customer !== null) attachMethod(state, method, customer);
  return method;
}

export function attachMethod(state: StripeState, method: PaymentMethod, customer: string): void {
  if (method.customer === customer) return;
  method.customer = customer;
  state.emit('payment_method.attached', method);
}

export function addIntent(
  state: StripeState,
  wanted: Pick<Intent, 'amount' | 'currency' | 'customer' | 'metadata'>,
): Intent {
  const intent: Intent = {
    ...state.common('pi', 'payment_intent'),
    ...wanted,
    amount_received: 0,
    status: 'requires_payment_method',
    latest_charge: null,
    last_payment_error: null,
    payment_method: null,
  };
  state.intents.set(intent.id, intent);
  state.emit('payment_intent.created', intent);
  return intent;
}

/** One attempt. Changes the intent, and returns what happened. `confirmed`: the holder has confirmed it at the bank. */
export function attempt(
  state: StripeState,
  intent: Intent,
  method: PaymentMethod,
  { isOffSession, isConfirmed = false }: { isOffSession: boolean; isConfirmed?: boolean },
): Outcome {
  const behaviour = need(state.behaviours, method.id);
  const wanted = isOffSession ? behaviour.offSession : behaviour.onSession;
  const outcome = wanted === 'authenticate' && isConfirmed ? 'succeed' : wanted;
  intent.payment_method = method.id;
  if (outcome === 'succeed') succeed(state, intent);
  else if (outcome === 'delay') {
    intent.status = 'processing';
    intent.last_payment_error = null;
    intent.latest_charge = addCharge(state, intent, 'pending').id;
    state.emit('payment_intent.processing', intent);
  } else if (outcome === 'authenticate') {
    intent.status = 'requires_action';
    state.emit('payment_intent.requires_action', intent);
  } else fail(state, intent, 'card_declined', 'insufficient_funds');
  return outcome;
}

export function succeed(state: StripeState, intent: Intent): void {
  const pending = intent.latest_charge === null ? undefined : state.charges.get(intent.latest_charge);
  const charge = pending?.status === 'pending' ? pending : addCharge(state, intent, 'pending');
  charge.status = 'succeeded';
  charge.paid = true;
  charge.receipt_url = `${state.origin}/receipts/${charge.id}`;
  intent.status = 'succeeded';
  intent.amount_received = intent.amount;
  intent.latest_charge = charge.id;
  intent.last_payment_error = null;
  if (state.hasFeesAtOnce) setFee(state, charge);
  state.emit('charge.succeeded', charge);
  state.emit('payment_intent.succeeded', intent);
}

export function fail(state: StripeState, intent: Intent, code: string, declineCode: string): void {
  const before = intent.latest_charge === null ? undefined : state.charges.get(intent.latest_charge);
  const charge = before?.status === 'pending' ? before : addCharge(state, intent, 'failed');
  charge.status = 'failed';
  charge.failure_code = code;
  intent.status = 'requires_payment_method';
  intent.amount_received = 0;
  intent.latest_charge = charge.id;
  const message = 'Your card has insufficient funds.';
  intent.last_payment_error = { type: 'card_error', code, decline_code: declineCode, message };
  state.emit('charge.failed', charge);
  state.emit('payment_intent.payment_failed', intent);
}

/** A payment that had succeeded is returned by the bank, as some bank debits are. What it paid for stays as it is. */
export function failLate(state: StripeState, intentId: string): void {
  const intent = need(state.intents, intentId);
  if (intent.status !== 'succeeded') throw invalid('This payment has not succeeded.');
  const charge = need(state.charges, intent.latest_charge);
  charge.paid = false;
  charge.status = 'pending';
  fail(state, intent, 'payment_method_provider_decline', 'insufficient_funds');
}

/** The API's answer to a declined attempt. */
export function declined(intent: Intent): ApiError {
  const { code = 'card_declined', decline_code, message = '' } = intent.last_payment_error ?? {};
  const rest = decline_code === undefined ? {} : { decline_code };
  return new ApiError(402, { type: 'card_error', code, ...rest, message });
}

function addCharge(state: StripeState, intent: Intent, status: Charge['status']): Charge {
  const charge: Charge = {
    ...state.common('ch', 'charge'),
    amount: intent.amount,
    amount_refunded: 0,
    currency: intent.currency,
    customer: intent.customer,
    status,
    paid: false,
    refunded: false,
    disputed: false,
    payment_intent: intent.id,
    payment_method: intent.payment_method,
    receipt_url: null,
    balance_transaction: null,
    failure_code: null,
    metadata: { ...intent.metadata },
  };
  state.charges.set(charge.id, charge);
  return charge;
}

function setFee(state: StripeState, charge: Charge): void {
  const fee = Math.round(charge.amount * 0.029) + 30;
  charge.balance_transaction = addTransaction(state, charge.amount, fee).id;
}

function addTransaction(state: StripeState, amount: number, fee: number) {
  const id = state.newId('txn');
  const transaction = { id, object: 'balance_transaction' as const, amount, fee, currency: 'usd' };
  state.transactions.set(id, transaction);
  return transaction;
}

/** Gives fees to the charges that have none yet. */
export function settleFees(state: StripeState): void {
  for (const charge of state.charges.values())
    if (charge.status === 'succeeded' && charge.balance_transaction === null) {
      setFee(state, charge);
      state.emit('charge.updated', charge);
    }
}

export function addRefund(
  state: StripeState,
  intentId: string,
  amount: number | null = null,
  status: 'succeeded' | 'pending' = 'succeeded',
): Refund {
  const charge = chargeOf(state, intentId);
  const left = charge.amount - charge.amount_refunded;
  const wanted = amount ?? left;
  if (charge.status !== 'succeeded') throw invalid('This charge has not succeeded.', 'charge_not_refundable');
  if (left === 0) throw invalid('This charge has already been refunded.', 'charge_already_refunded');
  if (wanted <= 0 || wanted > left) throw invalid('The amount is greater than what is left.', 'amount_too_large');
  if (disputesOf(state, charge).some(({ status }) => status === 'needs_response' || status === 'lost'))
    throw invalid('This charge is disputed.', 'charge_disputed');
  const refund: Refund = {
    ...state.common('re', 'refund'),
    amount: wanted,
    currency: charge.currency,
    charge: charge.id,
    payment_intent: intentId,
    status,
  };
  state.refunds.set(refund.id, refund);
  charge.amount_refunded += wanted;
  charge.refunded = charge.amount_refunded === charge.amount;
  state.emit('refund.created', refund);
  state.emit('charge.refunded', charge);
  return refund;
}

/** Ends a refund that was pending; the money of a failed one stays with the merchant. */
export function endRefund(state: StripeState, refundId: string, status: 'succeeded' | 'failed' | 'canceled'): Refund {
  const refund = need(state.refunds, refundId);
  if (refund.status !== 'pending') throw invalid('This refund has ended.');
  refund.status = status;
  if (status !== 'succeeded') {
    const charge = need(state.charges, refund.charge);
    charge.amount_refunded -= refund.amount;
    charge.refunded = false;
  }
  state.emit(status === 'failed' ? 'refund.failed' : 'refund.updated', refund);
  return refund;
}

export function addDispute(
  state: StripeState,
  intentId: string,
  { amount = null, isInquiry = false }: { amount?: number | null; isInquiry?: boolean } = {},
): Dispute {
  const charge = chargeOf(state, intentId);
  if (charge.status !== 'succeeded') throw invalid('This charge has not succeeded.');
  const dispute: Dispute = {
    ...state.common('dp', 'dispute'),
    amount: amount ?? charge.amount,
    currency: charge.currency,
    charge: charge.id,
    payment_intent: intentId,
    reason: 'fraudulent',
    status: isInquiry ? 'warning_needs_response' : 'needs_response',
    balance_transactions: [],
  };
  state.disputes.set(dispute.id, dispute);
  charge.disputed = true;
  state.emit('charge.dispute.created', dispute);
  if (!isInquiry) withdraw(state, dispute);
  return dispute;
}

function withdraw(state: StripeState, dispute: Dispute): void {
  dispute.balance_transactions.push(addTransaction(state, -dispute.amount, 1500));
  state.emit('charge.dispute.funds_withdrawn', dispute);
}

/** An inquiry becomes a dispute, which takes the money. */
export function escalateDispute(state: StripeState, disputeId: string): void {
  const dispute = need(state.disputes, disputeId);
  if (dispute.status !== 'warning_needs_response') throw invalid('This dispute is no inquiry.');
  dispute.status = 'needs_response';
  state.emit('charge.dispute.updated', dispute);
  withdraw(state, dispute);
}

export function closeDispute(state: StripeState, disputeId: string, result: 'won' | 'lost'): void {
  const dispute = need(state.disputes, disputeId);
  if (dispute.status === 'warning_needs_response') dispute.status = 'warning_closed';
  else if (dispute.status === 'needs_response') dispute.status = result;
  else throw invalid('This dispute is closed.');
  if (dispute.status === 'won') {
    dispute.balance_transactions.push(addTransaction(state, dispute.amount, 0));
    state.emit('charge.dispute.funds_reinstated', dispute);
  }
  state.emit('charge.dispute.closed', dispute);
}

export function disputesOf(state: StripeState, charge: Charge): Dispute[] {
  return [...state.disputes.values()].filter((dispute) => dispute.charge === charge.id);
}

function chargeOf(state: StripeState, intentId: string): Charge {
  return need(state.charges, need(state.intents, intentId).latest_charge);
}
