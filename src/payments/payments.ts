// The door of payments: money that comes in through payment providers, and redemption codes.

export { type AutoRechargeParts, AutoRecharges } from './auto-recharge.ts';
export {
  type CheckRange,
  differenceKinds,
  type PaymentCheck,
  PaymentChecker,
  type PaymentDifference,
} from './check-payments.ts';
export { type CheckoutSettings, Checkouts } from './checkout.ts';
export { CodeGuesses } from './code-guesses.ts';
export {
  type CodeBatch,
  type CodeStore,
  codeName,
  codeReference,
  codesOf,
  hashCode,
  makeCode,
  makeCodeSeed,
  type Redemption,
  readCode,
  type StoredCode,
} from './codes.ts';
export { decideRecharge, isSuspended, latestRecharges, type RechargeTerms } from './decide-recharge.ts';
export {
  type Billing,
  creditReference,
  type HandledEvent,
  type Payment,
  type PaymentKind,
  type PaymentPage,
  type PaymentRow,
  type PaymentStore,
  paymentKinds,
  paymentStatuses,
  type StoredStatus,
} from './payment.ts';
export { type PlanSaleParts, PlanSales } from './plan-sales.ts';
export { endedEvent, type PlanTimes, planEvent, planTerms, updatePlans } from './plans.ts';
export {
  type EventSubject,
  type NewCheckout,
  type NewCustomer,
  type NewRecharge,
  type NewSubscription,
  type PaymentFailure,
  type PaymentProvider,
  type PaymentState,
  type PaymentStatus,
  type PriceState,
  ProviderError,
  type ProviderEvent,
  type ProviderFault,
  type SavedMethod,
  type StartedCheckout,
  type SubscriptionChange,
  type SubscriptionProvider,
  type SubscriptionState,
} from './provider.ts';
export { EventReceiver, type EventRequest, type SubscriptionSync } from './receive-event.ts';
export { centsOf, isPaid, isWholeCents } from './settle-payment.ts';
export { openStripe, stripeEventTypes } from './stripe/stripe.ts';
export { PlanSubscriptions, type SubscriptionDependencies } from './subscriptions.ts';
export { type Sweep, sweepPayments } from './sweep.ts';
export {
  auditJson,
  newPayment,
  type PaymentDependencies,
  PaymentSync,
  paymentActor,
  type SyncCause,
  withoutEvent,
} from './sync.ts';
