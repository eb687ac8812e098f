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
    'paidUntilMs === null ? nowMs : Math.min(nowMs, paidUntilMs - 1)',
    'nowMs',
  ],
  ['window-5h-ends', 'a window of 5 hours ends', "atMs >= startMs + LENGTH_MS['5h'] ? 0 : startMs", 'startMs'],
  [
    'window-5h-begins',
    'only use begins a window of 5 hours',
    'const isUsed = paid > 0 || held > 0;',
    'const isUsed = true;',
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
  ['plan-kept', 'a change of plans gives no second allowance', 'used: same?.used ?? 0,', 'used: 0,'],
  [
    'plan-kept-running',
    'a plan that has ended leaves no use to the next',
    'const kept = isRunning ? rolledPlan(before, nowMs) : null;',
    'const kept = before === null ? null : rolledPlan(before, nowMs);',
  ],
  [
    'plan-stays',
    'a plan that ends stays while messages hold a part of it',
    'return before === null || held === 0 ? null :',
    'return before !== null ? null :',
  ],
]);

export const planMutations = [...windows];
