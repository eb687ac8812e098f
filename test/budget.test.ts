// The budget of the tests: their text stays within it, and a count above a limit is named.

import { expect, test } from 'bun:test';
import { countWritten, overBudget, written } from './budget.ts';

test.each(['test', 'verify'] as const)('the text of the tests of `npm run %s` is within its budget', (command) => {
  expect(overBudget(countWritten(command), written[command])).toEqual([]);
});

test('what exceeds its limit is named, and nothing else', () => {
  const limits = { services: 2, processes: 2, pages: 2, waitedMs: 2 };
  expect(overBudget({ services: 3, processes: 2, pages: 0, waitedMs: 2 }, limits)).toEqual([
    'services: 3, at most 2 (test/budget.ts)',
  ]);
});
