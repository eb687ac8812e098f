// Counts what tests use, for the budget (test/budget.ts): a line for each use, in the file that TEST_COUNTS names. Nothing is
// counted without it.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Services in the process of the tests, processes, and pages of the console. */
export const uses = ['services', 'processes', 'pages'] as const;

export type Use = (typeof uses)[number];

const file = process.env['TEST_COUNTS'];

export function countUse(use: Use): void {
  if (file !== undefined) appendFileSync(file, `${use}\n`);
}

export function readUses(countsFile: string): Record<Use, number> {
  const counts = { services: 0, processes: 0, pages: 0 };
  const lines = existsSync(countsFile) ? readFileSync(countsFile, 'utf8').trim().split('\n') : [];
  for (const line of lines) if (line in counts) counts[line as Use]++;
  return counts;
}
