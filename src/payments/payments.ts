// The door of payments: money that comes in through payment providers, and redemption codes.

export { AutoRecharges } from './auto-recharge.ts';
export { type BonusTier, bonusOf, groupOf, readBonusTiers } from './bonus.ts';
export { differenceKinds, PaymentChecker, type PaymentDifference } from './check-payments.ts';
export { Checkouts } from './checkout.ts';
export { CodeGuesses } from './code-guesses.ts';
export {
  type CodeBatch,
  type CodeStore,
  codeName,
  codeReference,
  codesOf,
  hashCode,
  makeCodeSeed,
  type Redemption,
  readCode,
  type StoredCode,
} from './codes.ts';
export { isSuspended, latestRecharges, type RechargeTerms } from './decide-recharge.ts';
export {
  type Billing,
  type HandledEvent,
  isGroupDue,
  type Payment,
  type PaymentPage,
  type PaymentRow,
  type PaymentStore,
  paymentKinds,
  paymentStatuses,
} from './payment.ts';
export { PlanSales } from './plan-sales.ts';
export { endedEvent, planEvent, planTerms, updatePlans } from './plans.ts';
export type { SavedMethod } from './provider.ts';
export { EventReceiver, type SubscriptionSync } from './receive-event.ts';
export { isPaid, isWholeCents } from './settle-payment.ts';
export { openStripe } from './stripe/stripe.ts';
export { PlanSubscriptions } from './subscriptions.ts';
export { type Sweep, sweepPayments } from './sweep.ts';
export { auditJson, type PaymentDependencies, PaymentSync, paymentActor } from './sync.ts';
