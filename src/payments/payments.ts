// Payments: money that comes in through payment providers.

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
