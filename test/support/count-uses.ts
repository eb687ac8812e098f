// Counts what tests use, for the budget (test/budget.ts): a line for each use, in the file that TEST_COUNTS names. Nothing is
// counted without it.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Services in the process of the tests, processes, pages of the console, and milliseconds that a test waits for without looking. */
export const uses = ['services', 'processes', 'pages', 'waitedMs'] as const;

export type Use = (typeof uses)[number];

const file = process.env['TEST_COUNTS'];

export function countUse(use: Use, amount = 1): void {
  if (file !== undefined) appendFileSync(file, `${use} ${amount}\n`);
}

export function readUses(countsFile: string): Record<Use, number> {
  const sums = { services: 0, processes: 0, pages: 0, waitedMs: 0 };
  const lines = existsSync(countsFile) ? readFileSync(countsFile, 'utf8').trim().split('\n') : [];
  for (const line of lines) {
    const [use = '', amount] = line.split(' ');
    if (use in sums) sums[use as Use] += Number(amount);
  }
  return sums;
}
