// The guards of endings: once, the first one wins, no more than can be paid, and everything given back.

import { mutate } from './mutation.ts';

const CORRECT = "if (ending.endedBy === 'expired') return correct(rows, ending, operation.record);";
const FIRST_ANSWER =
  "return { answer: { ok: true, kind: 'ended', cost: ending.record.cost, writtenOff: ending.record.writtenOff } };";
const LAPSED = 'lease === undefined || lease.epoch !== hold.owner.epoch || lease.expiresAtMs <= rows.nowMs';
const PAYABLE = 'return amount + Math.max(0, Math.min(walletAvailable(account), beyond));';
const LATE = "if (ending.endedBy === 'corrected' || ending.endedBy === 'forgiven') return { answer: ENDED };";
const ANSWERS = "operation.kind === 'settle' && operation.isAnswer === true";

const repeats = mutate('src/ledger/end-hold.ts', [
  [
    'hold-exists',
    'a message that never was cannot end',
    'if (ending === undefined) return { answer: ENDED };',
    "if (ending === undefined) return { answer: { ok: true, kind: 'ended', cost: 0, writtenOff: 0 } };",
  ],
  [
    'settle-once',
    'a message that was settled is not charged again',
    CORRECT,
    "if (ending.endedBy !== 'corrected') return correct(rows, ending, operation.record);",
  ],
  [
    'release-once',
    'a message that was released is not charged afterwards',
    CORRECT,
    "if (ending.endedBy === 'expired' || ending.endedBy === 'released') return correct(rows, ending, operation.record);",
  ],
  [
    'correct-once',
    'what a late owner knows is corrected once',
    CORRECT,
    "if (ending.endedBy === 'expired' || ending.endedBy === 'corrected') return correct(rows, ending, operation.record);",
  ],
  [
    'late-owner-corrects',
    'a late owner corrects what was expired',
    CORRECT,
    "if (ending.endedBy === 'expired') return { answer: ENDED };",
  ],
  [
    'corrected-is-ended',
    'a late owner is never told success, however often he asks',
    LATE,
    "if (ending.endedBy === 'forgiven') return { answer: ENDED };",
  ],
  [
    'forgiven-is-ended',
    'who ends late what was given back meanwhile is not told success',
    LATE,
    "if (ending.endedBy === 'corrected') return { answer: ENDED };",
  ],
  ['answer-claims', 'an answer is one to its claim', `return ${ANSWERS}`, 'return false'],
  [
    'answer-when-said',
    'a settlement is an answer only when it says so',
    `return ${ANSWERS}`,
    "return operation.kind === 'settle'",
  ],
  [
    'late-owner-told',
    'a late owner is told that another ended it',
    'answer: ENDED,\n    accounts',
    "answer: { ok: true, kind: 'ended', cost: record.cost, writtenOff: 0 },\n    accounts",
  ],
  ['retry-succeeds', 'a settlement asked for again succeeds again', FIRST_ANSWER, 'return { answer: ENDED };'],
  [
    'retry-first-answer',
    'a settlement asked for again gets the first answer',
    FIRST_ANSWER,
    "return { answer: { ok: true, kind: 'ended', cost: operation.record.cost, writtenOff: 0 } };",
  ],
  [
    'release-free',
    'a released message costs nothing',
    "assert(operation.record.cost === 0, 'a released message costs nothing');",
    '',
  ],
  [
    'extend-ended',
    'what has ended is not extended',
    'const hold = rows.hold(operation.requestId);\n  if (hold === undefined) return { answer: ENDED };',
    "const hold = rows.hold(operation.requestId);\n  if (hold === undefined) return { answer: { ok: true, kind: 'extended', amount: operation.amount } };",
  ],
  ['leave-once', 'a caller leaves once', 'if (hold === undefined || hold.left)', 'if (hold === undefined)'],
  [
    'leave-frees-account',
    "a caller who leaves frees the account's place",
    'vacated(groupRates(account, hold.group))',
    'groupRates(account, hold.group)',
  ],
  [
    'leave-frees-key',
    "a caller who leaves frees the key's place",
    'keys: [{ ...key, rates: vacated(key.rates) }]',
    'keys: [key]',
  ],
  [
    'left-freed-once',
    'the place of a caller who left is not freed again',
    'return hold.left ? counted : vacated(counted);',
    'return vacated(counted);',
  ],
  [
    'place-freed',
    'a message that ends frees its place',
    'return hold.left ? counted : vacated(counted);',
    'return counted;',
  ],
]);

const expiry = mutate('src/ledger/end-hold.ts', [
  [
    'expire-at-checkpoint',
    'what a crash left is billed to its checkpoint',
    'hold.checkpoint ?? emptyRecord',
    'emptyRecord',
  ],
  [
    'checkpoint-kept',
    'an extension without a checkpoint keeps the last',
    'operation.checkpoint ?? hold.checkpoint',
    'operation.checkpoint',
  ],
  ['lease-lapse', 'a lapsed lease ends its holds', LAPSED, 'lease === undefined || lease.epoch !== hold.owner.epoch'],
  [
    'lease-lapse-exact',
    'a lease lapses at its very millisecond',
    'lease.expiresAtMs <= rows.nowMs',
    'lease.expiresAtMs < rows.nowMs',
  ],
  ['epoch-past', 'holds of an earlier run are ended', LAPSED, 'lease === undefined || lease.expiresAtMs <= rows.nowMs'],
  ['lapsed-only', 'holds of a node that lives stay', `if (${LAPSED}) lapsed.push(hold);`, 'lapsed.push(hold);'],
  [
    'oldest-first',
    'lapsed holds end oldest first',
    'lapsed.sort((one, other) => (one.requestId < other.requestId ? -1 : 1))',
    'lapsed',
  ],
]);

const money = mutate('src/ledger/end-hold.ts', [
  ['extend-bounded', 'an extension gives what can be had, not more', '    payable(account, key, hold.amount),\n', ''],
  [
    'extend-whole',
    'an extension is a whole number',
    "if (operation.amount !== 'same') assertAmount(operation.amount);",
    '',
  ],
  [
    'extend-same',
    'a checkpoint alone leaves the hold as it is',
    "operation.amount === 'same' ? hold.amount : operation.amount",
    "operation.amount === 'same' ? 0 : operation.amount",
  ],
  ['extend-checkpoint', 'a checkpoint is kept', 'operation.checkpoint ?? hold.checkpoint', 'hold.checkpoint'],
  [
    'checkpoint-checked',
    'a checkpoint that cannot be billed is refused',
    'if (operation.checkpoint !== null) assertRecord(operation.checkpoint, hold);',
    '',
  ],
  ['extend-holds-wallet', 'an extension is held of the wallet', 'held: account.held + more', 'held: account.held'],
  [
    'extend-holds-allowance',
    'an extension is held of the allowance',
    'spending: withHeld(account.spending, more)',
    'spending: account.spending',
  ],
  [
    'extend-holds-quota',
    'an extension is held of the quota',
    'spending: withHeld(key.spending, more)',
    'spending: key.spending',
  ],
  [
    'record-checked',
    'a record is of its message and countable',
    'assertRecord(record, hold);\n  const account',
    'const account',
  ],
  [
    'cost-above-hold',
    'a cost above the hold is taken from what is available',
    'Math.min(record.cost, payable(account, key, hold.amount))',
    'Math.min(record.cost, hold.amount)',
  ],
  [
    'write-off',
    'a cost that nothing can pay is written off',
    'Math.min(record.cost, payable(account, key, hold.amount))',
    'record.cost',
  ],
  [
    'write-off-recorded',
    'what was written off stands in the record',
    'writtenOff: record.cost - paid }',
    'writtenOff: 0 }',
  ],
  ['write-off-entry', 'what was written off is an entry', 'if (record.writtenOff > 0)', 'if (record.writtenOff < 0)'],
  ['usage-entry', 'what was paid is an entry', 'if (paid > 0)', 'if (paid < 0)'],
  ['no-empty-entry', 'a message that cost nothing has no entry', 'if (paid > 0)', 'if (paid >= 0)'],
  [
    'balance-pays',
    'a message is paid from the balance',
    'balance: account.balance - paid,',
    'balance: account.balance,',
  ],
  ['hold-given-back', 'a hold is given back to the wallet', 'held: account.held - hold.amount', 'held: account.held'],
  [
    'allowance-given-back',
    'a hold is given back to the allowance',
    'spending: spent(account.spending, paid, hold.amount)',
    'spending: spent(account.spending, paid, 0)',
  ],
  [
    'quota-given-back',
    'a hold is given back to the quota',
    'spending: spent(key.spending, paid, hold.amount)',
    'spending: spent(key.spending, paid, 0)',
  ],
  [
    'allowance-used',
    'a cost counts against the allowance',
    'spending: spent(account.spending, paid, hold.amount)',
    'spending: spent(account.spending, 0, hold.amount)',
  ],
  [
    'quota-used',
    'a cost counts against the quota',
    'spending: spent(key.spending, paid, hold.amount)',
    'spending: spent(key.spending, 0, hold.amount)',
  ],
  ['hold-ended', 'a hold that ended is open no more', 'endedHolds: [hold],', ''],
  ['record-written', 'an ended message has a usage record', 'endings: [{ record: ended, endedBy }],', ''],
  ['ledger-time', "a record bears the ledger's time", 'atMs: rows.nowMs, writtenOff', 'writtenOff'],
  [
    'end-allowance-period',
    'a cost counts in the period in which it is settled, of the account',
    'return { ...account, spending: rolled(account.spending, account.allowancePeriod, rows.nowMs) };',
    'return account;',
  ],
  [
    'end-quota-period',
    'a cost counts in the period in which it is settled, of the key',
    'return { ...key, spending: rolled(key.spending, key.quotaPeriod, rows.nowMs) };',
    'return key;',
  ],
]);

const payable = mutate('src/ledger/meters.ts', [
  [
    'payable-floor',
    'what was held can be paid though a meter is overdrawn',
    PAYABLE,
    'return amount + Math.min(walletAvailable(account), beyond);',
  ],
  [
    'payable-wallet',
    'a cost above the hold leaves the holds of others',
    PAYABLE,
    'return amount + Math.max(0, beyond);',
  ],
  [
    'payable-meters',
    'a cost above the hold is bounded by quota and allowance',
    PAYABLE,
    'return amount + Math.max(0, walletAvailable(account));',
  ],
  [
    'payable-allowance',
    'a cost above the hold is bounded by the allowance',
    'spendingAvailable(account.allowance, account.spending),\n    spendingAvailable(key.quota, key.spending),',
    'spendingAvailable(key.quota, key.spending)',
  ],
  [
    'payable-quota',
    'a cost above the hold is bounded by the quota',
    'spendingAvailable(account.allowance, account.spending),\n    spendingAvailable(key.quota, key.spending),',
    'spendingAvailable(account.allowance, account.spending)',
  ],
]);

const rates = mutate('src/ledger/end-hold.ts', [
  [
    'end-key-drains',
    "a key's rates drain before a message counts",
    'afterMessage(drained(key.rates, key.limits, rows.nowMs), key',
    'afterMessage(key.rates, key',
  ],
  [
    'end-account-drains',
    "an account's rates drain before a message counts",
    'drained(groupRates(account, hold.group), limits, nowMs)',
    'groupRates(account, hold.group)',
  ],
  [
    'cache-writes-count',
    'what is written to the cache counts as input',
    'record.inputTokens + record.cacheWrite5mTokens + record.cacheWrite1hTokens',
    'record.inputTokens',
  ],
  [
    'cache-reads-free',
    'what is read from the cache does not count',
    'const input = record.inputTokens +',
    'const input = record.cacheReadTokens + record.inputTokens +',
  ],
]);

const corrections = mutate('src/ledger/end-hold.ts', [
  ['correction-checked', 'a late record is of its message and countable', 'assertRecord(record, before);', ''],
  [
    'correction-less-paid',
    'a correction takes the difference, not the whole again',
    'Math.min(record.cost - paidBefore, payable(account, key, 0))',
    'Math.min(record.cost, payable(account, key, 0))',
  ],
  [
    'correction-bounded',
    'a correction takes no more than can be paid',
    'Math.min(record.cost - paidBefore, payable(account, key, 0))',
    'record.cost - paidBefore',
  ],
  [
    'correction-without-written-off',
    'a correction gives back only what was paid',
    'const paidBefore = before.cost - before.writtenOff;',
    'const paidBefore = before.cost;',
  ],
  [
    'correction-of-balance',
    'a correction changes the balance',
    'balance: account.balance - paidMore',
    'balance: account.balance',
  ],
  [
    'correction-of-allowance',
    'a correction counts against the allowance',
    'spending: spent(account.spending, paidMore, 0)',
    'spending: account.spending',
  ],
  [
    'correction-of-quota',
    'a correction counts against the quota',
    'spending: spent(key.spending, paidMore, 0)',
    'spending: key.spending',
  ],
  [
    'correction-written-off',
    'a correction that nothing pays is written off',
    'writtenOff: record.cost - paidBefore - paidMore',
    'writtenOff: 0',
  ],
  [
    'correction-write-off-entry',
    'a corrected write-off is an entry',
    'add(systemAccounts.writeOffs, systemAccounts.revenue, after.writtenOff - before.writtenOff);',
    '',
  ],
  ['correction-entry', 'a correction is an entry', 'add(account, systemAccounts.revenue, paidMore);', ''],
  ['correction-of-nothing', 'a correction of nothing is no entry', 'if (amount === 0) return;', ''],
  [
    'correction-direction',
    'what is given back moves the other way',
    'amount > 0 ? { debit, credit, amount }',
    'amount < 0 ? { debit, credit, amount }',
  ],
  ['correction-day', 'a corrected record stays on its day', 'atMs: before.atMs,', 'atMs: rows.nowMs,'],
]);

export const endingMutations = [...repeats, ...expiry, ...money, ...payable, ...rates, ...corrections];
