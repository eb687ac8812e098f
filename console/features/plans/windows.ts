// The windows of a plan: their lengths, labels and how allowances are shown.

import type { PlanShape } from '../../../src/admin-api/shapes.ts';
import { formatMoney } from '../../money.ts';

export const windowLengths = ['5h', 'day', 'week', 'month'] as const;

export const windowLabels = { '5h': '5 hours', day: 'Day', week: 'Week', month: 'Month' };

export const windowTexts = { '5h': 'per 5 hours', day: 'per day', week: 'per week', month: 'per month' };

/** "$2.00 per 5 hours", one for each window. */
export function allowanceTexts({ windows }: Pick<PlanShape, 'windows'>): string[] {
  return windowLengths.flatMap((length) => {
    const limit = windows[length];
    return limit === null ? [] : [`${formatMoney(limit)} ${windowTexts[length]}`];
  });
}
