// Guards of plans: when a window begins and ends, what it has left, and what a change of plans keeps.

import { mutate } from './mutation.ts';

const windows = mutate('src/ledger/plan.ts', [
  [
    'window-resets',
    'a new window has nothing used',
    'return { ...window, used: 0, startMs };',
    'return { ...window, startMs };',
  ],
  [
    'window-paid',
    'no new window begins after the paid time',
    'return paidUntilMs === null ? nowMs : Math.min(nowMs, paidUntilMs - 1);',
    'return nowMs;',
  ],
  ['window-5h-ends', 'a window of 5 hours ends', "atMs >= startMs + LENGTH_MS['5h'] ? 0 : startMs", 'startMs'],
  [
    'window-5h-begins',
    'only use begins a window of 5 hours',
    'startMs: isUsed && startMs === 0',
    'startMs: startMs === 0',
  ],
  ['window-month', 'a month ends on its last day', 'Math.min(date.getUTCDate(), lastDay)', 'date.getUTCDate()'],
  [
    'plan-ends',
    'a plan that has ended pays for nothing',
    'if (plan === null || (plan.endsAtMs !== null && nowMs >= plan.endsAtMs)) return false;',
    'if (plan === null) return false;',
  ],
  [
    'plan-groups',
    'a plan pays only in its groups',
    'return plan.groups === null || plan.groups.includes(group);',
    'return true;',
  ],
  ['plan-held', 'the holds of other messages count', 'return Math.max(0, least - held);', 'return Math.max(0, least);'],
  [
    'plan-least',
    'a message must fit into all windows',
    'least = Math.min(least, limit - used);',
    'least = limit - used;',
  ],
  [
    'plan-kept',
    'a change of plans gives no second allowance',
    'used: startMs === last.startMs ? last.used : 0,',
    'used: 0,',
  ],
  [
    'plan-kept-left',
    'windows that the next plan lacks are kept',
    'const last = [...left, ...pastWindows',
    'const last = [...pastWindows',
  ],
  [
    'plan-kept-longer',
    'windows are kept over several plans',
    'const last = [...left, ...pastWindows.filter(({ length }) => findLength(present, length) === undefined)];',
    'const last = left;',
  ],
  [
    'plan-sequence',
    'a window of which something is used runs to its end',
    'last.used > 0 ? endOf(last) : last.startMs',
    'last.startMs',
  ],
  [
    'plan-sequence-unused',
    'a window does not overlap the one before an unused one',
    'last.used > 0 ? endOf(last) : last.startMs',
    'last.used > 0 ? endOf(last) : 0',
  ],
  [
    'plan-later-start',
    'a plan that starts later does not end a window early',
    'Math.min(first.startMs, atMs) >= usedUntilMs',
    'first.startMs >= usedUntilMs',
  ],
  [
    'plan-unpaid-change',
    'a change of terms begins no window after the paid time',
    'terms, paidMs(terms, nowMs)),',
    'terms, nowMs),',
  ],
  [
    'plan-charged-before',
    'a message is charged to the windows that held it',
    'planPaid > 0 ? Math.min(planPaid, fromPlan) : planPaid;',
    'planPaid > 0 ? 0 : planPaid;',
  ],
  [
    'plan-returned',
    'a return goes to no window that was not charged',
    'paid < 0 && ofMs <= sinceMs ? used : addedUse(used, paid)',
    'addedUse(used, paid)',
  ],
  [
    'plan-returned-before',
    'a return goes to no kept window that was not charged',
    'sinceMs < ofMs && ofMs < untilMs',
    'true',
  ],
  [
    'plan-stays',
    'a plan that ends stays while messages hold a part of it',
    'terms === null && before !== null && before.held > 0',
    'terms === null && before !== null && before.held < 0',
  ],
]);

const reversals = mutate('src/ledger/idempotency.ts', [
  [
    'reversals-bound',
    'reversals return a bounded amount in a day',
    'if (paid > reversalsMax - reversals.used) continue;',
    'if (paid > reversalsMax) continue;',
  ],
  ['reversals-day', 'the bound is that of a day', "rolled(account.reversals, 'day', rows.nowMs)", 'account.reversals'],
  ['reversals-failed', 'an attempt that its prompt made fail stays charged', "'quota_cut', 'failed']", "'quota_cut']"],
]);

export const planMutations = [...windows, ...reversals];
