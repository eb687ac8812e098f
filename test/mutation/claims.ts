// The guards of claims and of refunds: one answer and one charge under a claim, and never more given back than was paid.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is looked for is code as it stands

import { mutate } from './mutation.ts';

const FREE = 'taken === undefined || taken.requestId === requestId || taken.atMs + bounds.claimKeptMs <= rows.nowMs';
const MAY_COST = "endedBy === 'expired' || (record.cost > 0 && endedBy !== 'forgiven')";
const FORGIVABLE = "return mayCost && record.outcome !== 'client_gone' && record.outcome !== 'quota_cut';";
const GIVEN = "if (amount > paid) return { answer: { ok: false, reason: 'below_available', available: paid } };";

const claims = mutate('src/ledger/claims.ts', [
  [
    'claim-own',
    'a message is never in the way of itself',
    FREE,
    'taken === undefined || taken.atMs + bounds.claimKeptMs <= rows.nowMs',
  ],
  ['claim-age', 'a claim is free after its time', FREE, 'taken === undefined || taken.requestId === requestId'],
  [
    'claim-age-exact',
    'a claim is free at its very millisecond',
    'taken.atMs + bounds.claimKeptMs <= rows.nowMs',
    'taken.atMs + bounds.claimKeptMs < rows.nowMs',
  ],
  [
    'claim-running',
    'under a claim one message runs at a time',
    'const isRunning = rows.hold(taken.requestId) !== undefined;',
    'const isRunning = false as boolean;',
  ],
  ['claim-answered', 'a claim is answered once', 'if (isRunning || taken.isAnswered) {', 'if (isRunning) {'],
  [
    'claim-answered-told',
    'whether it runs or was answered is told',
    "isRunning ? 'claim_running' : 'claim_answered'",
    "isRunning ? 'claim_answered' : 'claim_running'",
  ],
  [
    'claim-mismatch',
    'a claim stands for one body',
    'if (taken.requestHash !== claim.requestHash)',
    'if (taken.requestHash === null)',
  ],
  [
    'claim-mismatch-free',
    'a claim that is free may stand for another body',
    'if (isRunning || taken.isAnswered) {',
    'if (isRunning || taken.isAnswered || taken.requestHash !== claim.requestHash) {',
  ],
  [
    'forgiven-if-forgivable',
    'only some endings are forgiven',
    'ending !== undefined && isForgivable(ending) ? ending : null',
    'ending ?? null',
  ],
  [
    'forgiven-same',
    'nothing is forgiven who asks for something else',
    'taken.requestHash === claim.requestHash ? rows.ending(taken.requestId) : undefined',
    'rows.ending(taken.requestId)',
  ],
  [
    'forgiven-expired',
    'what expired for nothing is not billed when its owner comes late',
    MAY_COST,
    "record.cost > 0 && endedBy !== 'forgiven'",
  ],
  ['forgiven-free', 'what cost nothing is not ended anew', MAY_COST, "endedBy !== 'forgiven'"],
  [
    'forgiven-not-left',
    'who left pays for what he had',
    FORGIVABLE,
    "return mayCost && record.outcome !== 'quota_cut';",
  ],
  [
    'forgiven-not-spent',
    'whose money was at its end pays for what he had',
    FORGIVABLE,
    "return mayCost && record.outcome !== 'client_gone';",
  ],
  [
    'forgiven-paid',
    'no more is forgiven than was paid',
    'const paid = before.cost - before.writtenOff;',
    'const paid = before.cost;',
  ],
  [
    'forgiven-balance',
    'what is forgiven is given back to the balance',
    'balance: account.balance + paid, ',
    'balance: account.balance, ',
  ],
  [
    'forgiven-allowance',
    'what is forgiven is given back to the allowance',
    'spending: spent(account.spending, -paid, 0)',
    'spending: account.spending',
  ],
  [
    'forgiven-quota',
    'what is forgiven is given back to the quota',
    'spending: spent(key.spending, -paid, 0)',
    'spending: key.spending',
  ],
  [
    'forgiven-entry',
    'what is forgiven is an entry',
    "{ ...shared, credit: account.id, amount: paid, kind: 'correction', note },",
    '',
  ],
  [
    'forgiven-write-off',
    'what was written off of it is written off no more',
    "{ ...shared, credit: systemAccounts.writeOffs, amount: before.writtenOff, kind: 'correction', note },",
    '',
  ],
  ['forgiven-nothing', 'nothing is no entry', 'entries: entries.filter(({ amount }) => amount > 0)', 'entries'],
  [
    'forgiven-cost',
    'what was forgiven costs nothing',
    '{ ...before, cost: 0, writtenOff: 0 }',
    '{ ...before, writtenOff: 0 }',
  ],
  ['forgiven-written-off', 'of what was forgiven nothing is written off', 'cost: 0, writtenOff: 0 }', 'cost: 0 }'],
  [
    'forgiven-once',
    'what was forgiven is not billed when its owner comes late',
    "endedBy: 'forgiven' }, before",
    "endedBy: 'expired' }, before",
  ],
  [
    'forgiven-late',
    'who comes late to what was forgiven is told that it ended',
    "endedBy: 'forgiven' }, before",
    "endedBy: 'settled' }, before",
  ],
  ['answers-own', 'an answer is one to its own claim', 'claim?.requestId === requestId', 'claim !== undefined'],
  ['answers', 'a claim knows that it was answered', '{ ...claim, isAnswered: true }', '{ ...claim }'],
]);

const refunds = mutate('src/ledger/refund.ts', [
  ['refund-paid', 'no more is given back than was paid', GIVEN, ''],
  [
    'refund-written-off',
    'what nobody paid is not given back',
    'const paid = before.cost - before.writtenOff;',
    'const paid = before.cost;',
  ],
  ['refund-whole', 'a refund is a whole number', "if (asked !== 'all') assertAmount(asked);", ''],
  [
    'refund-unknown',
    'nothing is given back of a message that never was',
    "if (ending === undefined || account === undefined) return { answer: { ok: false, reason: 'unknown_message' } };",
    '',
  ],
  [
    'refund-nothing',
    'nothing is no entry',
    "if (amount === 0) return { answer: { ok: true, kind: 'refunded', amount, balance: account.balance } };",
    '',
  ],
  [
    'refund-maximum',
    'a balance stays a number that is exact',
    'if (!Number.isSafeInteger(balance + account.creditLine))',
    'if (false)',
  ],
  [
    'refund-maximum-line',
    'balance and credit line together stay exact',
    'Number.isSafeInteger(balance + account.creditLine)',
    'Number.isSafeInteger(balance)',
  ],
  ['refund-balance', 'a refund is given back to the balance', '        balance,\n', ''],
  [
    'refund-allowance',
    'a refund is given back to the allowance',
    'spent(rolled(account.spending, account.allowancePeriod, rows.nowMs), -amount, 0)',
    'account.spending',
  ],
  [
    'refund-quota',
    'a refund is given back to the quota',
    'spent(rolled(key.spending, key.quotaPeriod, rows.nowMs), -amount, 0)',
    'key.spending',
  ],
  [
    'refund-kind',
    'a refund is an entry of its own kind',
    "kind: 'refund',\n        reference",
    "kind: 'correction',\n        reference",
  ],
  ['refund-reference', 'the entry of a refund names its message', 'reference: requestId,', 'reference: null,'],
  [
    'refund-record',
    'a message costs less by what was given back',
    '{ ...before, cost: before.cost - amount }',
    'before',
  ],
  ['refund-written', 'what was given back is taken off the record', 'corrections: [{ ending: after, before }],', ''],
  [
    'refund-expired',
    'who comes late does not take again what was given back',
    "return endedBy === 'expired' ? 'corrected' : endedBy;",
    'return endedBy;',
  ],
  [
    'refund-settled',
    'a settlement that is asked for again after a refund succeeds again',
    "return endedBy === 'expired' ? 'corrected' : endedBy;",
    "return 'corrected';",
  ],
]);

export const claimMutations = [...claims, ...refunds];
