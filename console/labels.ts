// Labels that several features show.

/** The options of a select. */
export function optionsOf(labels: Readonly<Record<string, string>>): { value: string; label: string }[] {
  return Object.entries(labels).map(([value, label]) => ({ value, label }));
}

export const roleLabels = { operator: 'Operator', viewer: 'Viewer', owner: 'Owner', member: 'Member', scim: 'SCIM' };

export const roleTexts = {
  operator: 'views and changes everything in the installation',
  viewer: 'views everything in the installation',
  owner: 'manages the keys, billing, users and tokens of one account',
  member: 'creates keys in one account and views their usage',
  scim: 'lets a directory create, change and disable users, and does nothing else',
};

export const outcomeLabels = {
  completed: 'Completed',
  client_gone: 'Client disconnected',
  upstream_cut: 'Interrupted by provider',
  quota_cut: 'Spend limit reached',
  service_cut: 'Interrupted by service',
  failed: 'Failed',
} as const;

/** Uses of models. */
export const endpointLabels = {
  messages: 'Messages',
  embeddings: 'Embeddings',
  rerank: 'Reranking',
  moderation: 'Moderation',
  images: 'Images',
  speech: 'Speech',
  transcription: 'Transcription',
} as const;

/** What a client of a message may get; other codes are shown as they are. */
const errorLabels: Readonly<Record<string, string>> = {
  upstream_overloaded: 'Overloaded',
  upstream_rate_limited: 'Rate limited',
  upstream_timeout: 'Timeout',
  upstream_failed: 'Provider failed',
  upstream_rejected: 'Rejected',
  upstream_credentials: 'Credentials rejected',
  insufficient_user_quota: 'Balance or limit exhausted',
  key_disabled: 'Key revoked',
  client_too_slow: 'Client too slow',
  overloaded: 'Service overloaded',
  draining: 'Service stopping',
  internal: 'Internal error',
  store_unavailable: 'Store unavailable',
};

/** Errors that a record can have, as options of a filter. */
export const errorOptions = Object.entries(errorLabels).map(([value, label]) => ({ value, label }));

export function errorLabel(code: string): string {
  return errorLabels[code] ?? code;
}

export const entryKindLabels = {
  payment: 'Payment',
  promotion: 'Promotion',
  adjustment: 'Adjustment',
  debt_write_off: 'Debt write-off',
  debt: 'Debt',
  plan_payment: 'Plan',
  usage: 'Request',
  write_off: 'Write-off',
  correction: 'Correction',
  refund: 'Refund',
  carried_forward: 'Carried forward',
} as const;

export const periodTexts = {
  total: 'in total',
  none: 'in total',
  day: 'per day',
  week: 'per week',
  month: 'per month',
} as Readonly<Record<string, string>>;

/** The windows of plans and of budgets. */
export const windowLengths = ['5h', 'day', 'week', 'month'] as const;

export const windowTexts = { '5h': 'per 5 hours', day: 'per day', week: 'per week', month: 'per month' };

/** The states of a key that a list can be filtered by. */
export const keyStatusLabels = { enabled: 'Enabled', disabled: 'Disabled', expired: 'Expired', revoked: 'Revoked' };

export const deliveryStatusLabels = { pending: 'Pending', delivered: 'Delivered', failed: 'Failed' };

export const paymentStatusLabels = {
  pending: 'Pending',
  paid: 'Paid',
  partially_refunded: 'Partially refunded',
  refunded: 'Refunded',
  disputed: 'Disputed',
  failed: 'Failed',
  canceled: 'Canceled',
};

export const paymentKindLabels = {
  checkout: 'Recharge',
  auto_recharge: 'Automatic recharge',
  subscription: 'Plan',
};

/** Of accounts, keys, tokens, users, destinations, deliveries, payments and batches. */
export const statusLabels: Readonly<Record<string, string>> = {
  ...keyStatusLabels,
  ...deliveryStatusLabels,
  ...paymentStatusLabels,
  invited: 'Invited',
  running: 'Running',
  canceling: 'Canceling',
  ended: 'Ended',
};

/** The service tiers besides the standard one. */
export const TIERS = ['fast', 'flex', 'ultrafast'] as const;
export type TierName = (typeof TIERS)[number];
export const tierLabels: Readonly<Record<TierName, string>> = { fast: 'Fast', flex: 'Flex', ultrafast: 'Ultrafast' };
export const serviceTierLabels = { standard: 'Standard', ...tierLabels };
