// Budgets and tags as values of forms.

import { expect, test } from 'bun:test';
import { budgetFaultNames, budgetOf, budgetText, budgetValues } from '../../console/budgets.ts';
import { tagsOf, tagTexts } from '../../console/tags.ts';

const budget = {
  limits: [
    { window: 'day' as const, limit: '5.00' },
    { window: 'month' as const, limit: '50.00' },
  ],
  stops: false,
};

test('an unchanged budget is sent as it was, and one without limits as null', () => {
  expect(budgetOf(budgetValues(budget))).toEqual(budget);
  expect(budgetOf(budgetValues(null))).toBeNull();
  expect(budgetOf({ ...budgetValues(budget), day: ' ', month: ' 7 ' })).toEqual({
    limits: [{ window: 'month', limit: '7' }],
    stops: false,
  });
  expect(budgetText(budget)).toBe('$5.00 per day, $50.00 per month (warns only)');
  expect(budgetText(null)).toBe('None');
});

test('a fault of the API is beside the field of its limit', () => {
  expect(budgetFaultNames(budgetValues(budget), 'person_budget.')).toEqual({
    'person_budget.limits.0.limit': 'budget.day',
    'person_budget.limits.1.limit': 'budget.month',
  });
});

test('a tag is a name and a value, which may contain an equals sign; the last one of a name counts', () => {
  expect(tagsOf(['team=search', ' env = a=b ', 'team=ads', 'alone'])).toEqual({ team: 'ads', env: 'a=b', alone: '' });
  expect(tagTexts({ team: 'ads', env: 'a=b' })).toEqual(['team=ads', 'env=a=b']);
});
