// Guards of payments: how much a state of the provider is worth, which states are refused, what two nodes may not do at the
// same time, and when an account is recharged.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the searched code contains templates

import { mutate } from './mutation.ts';

const settled = mutate('src/payments/settle-payment.ts', [
  [
    'credit-unpaid',
    'only what is paid is credited',
    "if (status !== 'paid' || totalCents <= 0) return 0n;",
    'if (totalCents <= 0) return 0n;',
  ],
  [
    'credit-refunded',
    'refunds are taken back',
    'refundedCents + disputedCents);\n  return (',
    'disputedCents);\n  return (',
  ],
  [
    'credit-disputed',
    'disputes are taken back',
    'refundedCents + disputedCents);\n  return (',
    'refundedCents);\n  return (',
  ],
  [
    'credit-floor',
    'no more is taken back than was paid',
    'Math.min(totalCents, refundedCents + disputedCents)',
    'refundedCents + disputedCents',
  ],
  [
    'foreign-source',
    'a payment has one source',
    'if (payment.source !== null && payment.source !== source) return',
    'if (false) return',
  ],
  [
    'foreign-kind',
    'a state has the kind of its payment',
    'if (kind !== KINDS[payment.kind]) return',
    'if (false) return',
  ],
  [
    'foreign-customer',
    'a state is of the customer of its payment',
    'if (customer !== payment.customer) return',
    'if (false) return',
  ],
  [
    'foreign-account',
    'a state names the account of its payment',
    "if (metadata.account !== null && metadata.account !== formatId('acct', payment.accountId))\n    return",
    'if (false) return',
  ],
  [
    'foreign-payment',
    'a state names its payment',
    "if (metadata.payment !== formatId('pay', payment.id)) return",
    'if (false) return',
  ],
  ['mismatch-currency', 'another currency is refused', "if (state.currency !== 'usd') return", 'if (false) return'],
  [
    'mismatch-large',
    'more than a balance can hold is refused',
    'if (most > BigInt(Number.MAX_SAFE_INTEGER)) return',
    'if (false) return',
  ],
  [
    'mismatch-amount',
    'another amount than was asked for is refused',
    '|| credit === BigInt(amount)) return null;',
    '|| credit >= 0n) return null;',
  ],
  [
    'settle-difference',
    'only the difference is credited',
    'change: next.credited - payment.credited',
    'change: next.credited',
  ],
  [
    'settle-version',
    'each change has its own version',
    'version: payment.version + 1, updatedAtMs: nowMs }',
    'version: payment.version, updatedAtMs: nowMs }',
  ],
  ['settle-same', 'nothing is committed without a change', 'if (isSame(payment, next)) return null;', ''],
]);

const synced = [
  ...mutate('src/payments/sync.ts', [
    [
      'sync-repeated',
      'a credit of another node with the same version is read again',
      "if (answers.some((answer) => answer.ok && answer.kind === 'credited' && answer.repeated))",
      'if (false)',
    ],
    ['sync-forced', 'what is taken back is taken whatever is available', '...(amount < 0 && { isForced: true }),', ''],
    [
      'sync-outpaced',
      'a change that another node outpaced is made again',
      'if (!(failure instanceof Outpaced)) throw failure;\n        await wait',
      'throw failure;\n        await wait',
    ],
    [
      'sync-refused',
      'a foreign state credits nothing',
      'if (state === null || foreign !== null) return',
      'if (state === null) return',
    ],
  ]),
  ...mutate('src/storage/payment-rows.ts', [
    [
      'payment-race',
      'two nodes cannot change one version of a payment',
      'WHERE id = $1 AND version + 1 = $2 AND NOT EXISTS',
      'WHERE id = $1 AND $2 = $2 AND NOT EXISTS',
    ],
  ]),
];

const recharges = mutate('src/payments/decide-recharge.ts', [
  ['recharge-disabled', 'a disabled account is not charged', "if (status !== 'enabled') return", 'if (false) return'],
  [
    'recharge-enough',
    'an account with enough is not charged',
    'if (meters.debt === 0 && meters.available >= autoRecharge.threshold) return',
    'if (false) return',
  ],
  ['recharge-pending', 'one recharge at a time', "if (last?.status === 'pending')", 'if (false)'],
  ['recharge-debt', 'a debt is not paid automatically', "if (meters.debt > 0) return none('debt');", ''],
  [
    'recharge-bounds',
    "the operator's bounds hold",
    "if (autoRecharge.amount < terms.minimum || autoRecharge.amount > terms.maximum) return none('out_of_bounds');",
    '',
  ],
  ['recharge-suspended', 'failures switch it off', "if (isSuspended(account, latest)) return none('suspended');", ''],
  [
    'recharge-resting',
    'a failed one is not repeated at once',
    "if (last !== undefined && isResting(last, autoRecharge.sinceMs, nowMs)) return none('failed_lately');",
    '',
  ],
  [
    'recharge-limit',
    'so many a day',
    "if (madeToday >= Math.min(autoRecharge.perDayMax, terms.perDayMax)) return none('limit');",
    '',
  ],
  [
    'recharge-limit-of-operator',
    "the operator's limit holds, too",
    'Math.min(autoRecharge.perDayMax, terms.perDayMax)',
    'autoRecharge.perDayMax',
  ],
]);

export const paymentMutations = [...settled, ...synced, ...recharges];
