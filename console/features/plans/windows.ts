// The windows of a plan: their labels and how allowances are shown.

import type { PlanShape } from '../../../src/admin-api/shapes.ts';
import { windowLengths, windowTexts } from '../../labels.ts';
import { formatExactMoney } from '../../money.ts';

export const windowLabels = { '5h': '5 hours', day: 'Day', week: 'Week', month: 'Month' };

/** "$2.00 per 5 hours", one for each window. */
export function allowanceTexts({ windows }: Pick<PlanShape, 'windows'>): string[] {
  return windowLengths.flatMap((length) => {
    const limit = windows[length];
    return limit === null ? [] : [`${formatExactMoney(limit)} ${windowTexts[length]}`];
  });
}
