// The guards of admission: each meter, who may use them, and that a refused message takes nothing.

import { mutate } from './mutation.ts';

const MONEY = 'if (amount <= wallet && amount <= allowance && amount <= quota) return null;';
const LEASE = 'if (lease === undefined || lease.epoch !== operation.owner.epoch)';

const meters = mutate('src/ledger/admit.ts', [
  ['wallet', 'the balance bounds what is held', MONEY, 'if (amount <= allowance && amount <= quota) return null;'],
  ['allowance', "the account's allowance bounds", MONEY, 'if (amount <= wallet && amount <= quota) return null;'],
  ['quota', "the key's quota bounds", MONEY, 'if (amount <= wallet && amount <= allowance) return null;'],
  ['last-nanodollar', 'the last nanodollar can be had', 'if (amount <= wallet &&', 'if (amount < wallet &&'],
  [
    'requests-rate',
    'requests a minute are bounded',
    "if (retryAtMs !== null) return refuse('requests_rate', { meter: 'requests', ofKey, retryAtMs });",
    '',
  ],
  [
    'input-tokens-rate',
    'input tokens a minute are bounded',
    "if (retryAtMs !== null) return refuse('input_tokens_rate', { meter: 'input_tokens', ofKey, retryAtMs });",
    '',
  ],
  [
    'output-tokens-rate',
    'output tokens a minute are bounded',
    "if (retryAtMs !== null) return refuse('output_tokens_rate', { meter: 'output_tokens', ofKey, retryAtMs });",
    '',
  ],
  ['concurrency', 'messages at once are bounded', 'rates.running >= concurrency', 'rates.running < 0'],
  ['concurrency-exact', 'as many at once as allowed, not one more', 'running >= concurrency', 'running > concurrency'],
  [
    'rates-of-account',
    "the account's limits in its group bound",
    'findBucketShort(rates, operation.limits, isMessage, false, nowMs) ??',
    '',
  ],
  [
    'rates-of-key',
    "the key's own limits bound",
    'findBucketShort(rates, operation.limits, isMessage, false, nowMs) ??\n    findBucketShort(key.rates, key.limits, isMessage, true, nowMs)',
    'findBucketShort(rates, operation.limits, isMessage, false, nowMs)',
  ],
  ['rate-of-free-calls', 'free calls are bounded by requests alone', 'if (!isMessage) return null;', ''],
  [
    'free-calls-bounded',
    'free calls are bounded',
    'const refusal = findRateShort(meters, operation, false, rows.nowMs);',
    'const refusal = null as Refusal | null;',
  ],
  [
    'hopeless-first',
    'a refusal says whether only holds stand in the way',
    'behindHolds: hopeless === undefined',
    'behindHolds: true',
  ],
  [
    'available-not-negative',
    'a refusal offers nothing below zero',
    'available: Math.max(0, short.available)',
    'available: short.available',
  ],
  [
    'allowance-retry',
    'a refusal says when the allowance begins anew',
    'retryAtMs: periodEndMs(account.allowancePeriod, nowMs)',
    'retryAtMs: null',
  ],
  [
    'quota-retry',
    'a refusal says when the quota begins anew',
    'retryAtMs: periodEndMs(key.quotaPeriod, nowMs)',
    'retryAtMs: null',
  ],
]);

const taking = mutate('src/ledger/admit.ts', [
  ['hold-of-wallet', 'a hold is taken from the wallet', 'held: account.held + amount', 'held: account.held'],
  [
    'hold-of-allowance',
    'a hold is taken from the allowance',
    'spending: withHeld(account.spending, amount)',
    'spending: account.spending',
  ],
  [
    'hold-of-quota',
    'a hold is taken from the quota',
    'spending: withHeld(key.spending, amount)',
    'spending: key.spending',
  ],
  [
    'place-of-account',
    "a message takes a place of the account's",
    'running: meters.rates.running + 1',
    'running: meters.rates.running',
  ],
  [
    'place-of-key',
    "a message takes a place of the key's",
    'running: key.rates.running + 1',
    'running: key.rates.running',
  ],
  [
    'request-of-account',
    "a message takes a request of the account's",
    'requests: taken(meters.rates, operation.limits),\n    running',
    'running',
  ],
  [
    'request-of-key',
    "a message takes a request of the key's",
    'requests: taken(key.rates, key.limits), running',
    'running',
  ],
  [
    'free-request-of-account',
    "a free call takes a request of the account's",
    'requests: taken(meters.rates, operation.limits),\n    limits',
    'limits',
  ],
  [
    'free-request-of-key',
    "a free call takes a request of the key's",
    'rates: { ...meters.key.rates, requests: taken(meters.key.rates, meters.key.limits) }',
    'rates: meters.key.rates',
  ],
  [
    'refused-takes-nothing',
    'a refused message takes from no meter',
    'if (refusal !== null) return { answer: { ...refusal, levels: levelsNow() } };',
    'if (refusal !== null) return { answer: { ...refusal, levels: levelsNow() }, keys: [{ ...meters.key, rates: { ...meters.key.rates, requests: taken(meters.key.rates, meters.key.limits) } }] };',
  ],
  [
    'refused-holds-nothing',
    'a message refused for a rate holds no money',
    'if (refusal !== null) return { answer: { ...refusal, levels: levelsNow() } };',
    "if (refusal !== null) return { answer: { ...refusal, levels: levelsNow() }, accounts: refusal.reason === 'insufficient' ? [] : [{ ...meters.account, held: meters.account.held + operation.amount }] };",
  ],
  ['amount-whole', 'an amount is a whole number', 'assertAmount(operation.amount);', ''],
]);

const shrinking = mutate('src/ledger/admit.ts', [
  [
    'least-suffices',
    'a hold shrinks to what is available',
    'operation.least ?? operation.amount, rows',
    'operation.amount, rows',
  ],
  [
    'least-bounds',
    'nothing is admitted for which the least is not there',
    'operation.least ?? operation.amount, rows',
    '0, rows',
  ],
  [
    'least-or-all',
    'without a least a hold is all or nothing',
    'operation.least ?? operation.amount, rows',
    'operation.least ?? 0, rows',
  ],
  [
    'least-whole',
    'the least is a whole number',
    'if (operation.least !== undefined) assertAmount(operation.least);',
    '',
  ],
  [
    'shrinks',
    'no more is held than is available',
    'const amount = Math.min(operation.amount, available);',
    'const amount = operation.amount;',
  ],
  [
    'shrinks-only',
    'no more is held than was asked for',
    'const amount = Math.min(operation.amount, available);',
    'const amount = available;',
  ],
  [
    'least-not-held',
    'a least above the amount is not held',
    'const amount = Math.min(operation.amount, available);',
    'const amount = Math.min(Math.max(operation.amount, operation.least ?? 0), available);',
  ],
  [
    'available-told',
    'an admission tells what could be paid',
    '      amount,\n      available,',
    '      amount,\n      available: amount,',
  ],
  [
    'available-told-again',
    'an admission asked for again tells what could be paid',
    'payable(meters.account, meters.key, open.amount)',
    'open.amount',
  ],
  [
    'amount-told-again',
    'an admission asked for again tells what is held',
    'amount: open.amount, available',
    'amount: operation.amount, available',
  ],
]);

const claiming = mutate('src/ledger/admit.ts', [
  [
    'claim-read',
    'a message under a claim that is not free is not admitted',
    "if ('ok' in claimed) return { answer: claimed };",
    "if ('ok' in claimed) return begin(rows, operation, meters);",
  ],
  [
    'claim-made',
    'a message under a claim has it',
    '? [] : [claimOf(operation, operation.claim, rows.nowMs)]',
    '? [] : []',
  ],
  ['claim-of-hold', 'a hold names its claim', 'claim: operation.claim?.name ?? null,', 'claim: null,'],
  [
    'forgives',
    'who asks again gets back what was no answer',
    'claimed.forgiven === null ? meters :',
    'true ? meters :',
  ],
  [
    'forgives-when-admitted',
    'nothing is given back to who is refused',
    'return { answer: { ...refusal, levels: levelsNow() } };\n  if (rows.ending',
    'return { ...given, answer: { ...refusal, levels: levelsNow() }, accounts: [given.account], keys: [given.key] };\n  if (rows.ending',
  ],
  ['forgiven-entries', 'what is given back is an entry', '    entries,\n    corrections,', '    corrections,'],
  ['forgiven-record', 'what is given back is taken off its record', '    entries,\n    corrections,', '    entries,'],
]);

const identity = mutate('src/ledger/admit.ts', [
  ['fence', 'an owner with an old epoch admits nothing', LEASE, 'if (lease === undefined)'],
  [
    'fence-unknown',
    'a node without a lease admits nothing',
    LEASE,
    'if (lease !== undefined && lease.epoch !== operation.owner.epoch)',
  ],
  ['key-status', 'a disabled or revoked key admits nothing', "if (key.status !== 'enabled')", 'if (false)'],
  ['key-revoked', 'a revoked key admits nothing', "key.status !== 'enabled'", "key.status === 'disabled'"],
  ['key-expiry', 'an expired key admits nothing', 'key.expiresAtMs !== null && key.expiresAtMs <= rows.nowMs', 'false'],
  [
    'key-expiry-exact',
    'a key ends at its very millisecond',
    'key.expiresAtMs <= rows.nowMs',
    'key.expiresAtMs < rows.nowMs',
  ],
  ['account-status', 'a disabled account admits nothing', 'if (!account.enabled)', 'if (false)'],
  [
    'key-of-account',
    'a key spends for its own account alone',
    'key === undefined || key.account !== account.id',
    'key === undefined',
  ],
  [
    'admit-once',
    'a message asked for again is not held again',
    'if (open !== undefined) {',
    'if (open !== undefined && open.amount < 0) {',
  ],
  [
    'ended-not-admitted',
    'a message that has ended is never admitted again',
    "if (rows.ending(operation.requestId) !== undefined) return { answer: { ok: false, reason: 'ended' } };",
    '',
  ],
  [
    'admit-allowance-period',
    'an allowance begins anew with its period',
    'spending: rolled(account.spending, account.allowancePeriod, rows.nowMs) },\n    key',
    'spending: account.spending },\n    key',
  ],
  [
    'admit-quota-period',
    'a quota begins anew with its period',
    'spending: rolled(key.spending, key.quotaPeriod, rows.nowMs)',
    'spending: key.spending',
  ],
  ['admit-key-drains', "a key's rates drain", 'rates: drained(key.rates, key.limits, rows.nowMs)', 'rates: key.rates'],
  [
    'admit-account-drains',
    "an account's rates drain",
    'rates: drained(groupRates(account, operation.group), operation.limits, rows.nowMs)',
    'rates: groupRates(account, operation.group)',
  ],
]);

export const admissionMutations = [...meters, ...taking, ...shrinking, ...claiming, ...identity];
