// Budgets of people as values of a form. Pure.

import type { AccountShape } from '../src/admin-api/shapes.ts';
import { windowLengths, windowTexts } from './labels.ts';
import { formatExactMoney } from './money.ts';

type Budget = NonNullable<AccountShape['person_budget']>;
type Window = Budget['limits'][number]['window'];

export const windowLabels = { '5h': '5 hours', day: 'Day (UTC)', week: 'Week (Monday, UTC)', month: 'Month (UTC)' };

/** Limits in USD; empty: none. */
export type BudgetValues = Record<Window, string> & { stops: boolean };

export function budgetValues(budget: { limits: Budget['limits']; stops: boolean | null } | null): BudgetValues {
  const limitOf = (window: Window) => budget?.limits.find((one) => one.window === window)?.limit ?? '';
  const limits = Object.fromEntries(windowLengths.map((window) => [window, limitOf(window)])) as Record<Window, string>;
  return { ...limits, stops: budget?.stops ?? true };
}

/** The member of a body; null without limits. */
export function budgetOf({ stops, ...amounts }: BudgetValues): Budget | null {
  const limits = filledWindows(amounts).map((window) => ({ window, limit: amounts[window].trim() }));
  return limits.length === 0 ? null : { limits, stops };
}

/** The field below `budget` for each path of a fault that the API reports below `path`. */
export function budgetFaultNames(values: BudgetValues, path = ''): Record<string, string> {
  return Object.fromEntries(
    filledWindows(values).map((window, at) => [`${path}limits.${at}.limit`, `budget.${window}`]),
  );
}

export const budgetFields = windowLengths.map((window) => `budget.${window}`);

/** "$5.00 per day, $50.00 per month (warns only)". */
export function budgetText(budget: Budget | null): string {
  if (budget === null) return 'None';
  const limits = budget.limits.map(({ window, limit }) => `${formatExactMoney(limit)} ${windowTexts[window]}`);
  return `${limits.join(', ')}${budget.stops ? '' : ' (warns only)'}`;
}

function filledWindows(amounts: Record<Window, string>): Window[] {
  return windowLengths.filter((window) => amounts[window].trim() !== '');
}
