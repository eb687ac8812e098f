// Limits of the tests, in counts that do not depend on the machine. test/run.ts refuses a run that uses more, and `npm run check`
// refuses tests whose text asks for more. The commit that raises a number says why.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from './check.ts';
import { testFiles } from './selection.ts';
import type { Use } from './support/count-uses.ts';

export type Command = 'npm test' | 'npm run verify' | 'TEST_STORE=postgres npm test';

type Written = Use | 'waitedMs';

/** While the tests run. */
export const used: Readonly<Record<Command, Readonly<Record<Use, number>>>> = {
  'npm test': { services: 149, processes: 315, pages: 0 },
  'npm run verify': { services: 74, processes: 3_300, pages: 570 },
  'TEST_STORE=postgres npm test': { services: 90, processes: 190, pages: 0 },
};

/** In the text of the test files: calls, and the sum of waits of a fixed length. */
export const written: Readonly<Record<'test' | 'verify', Readonly<Record<Written, number>>>> = {
  test: { services: 87, processes: 52, pages: 3, waitedMs: 15_900 },
  verify: { services: 26, processes: 227, pages: 241, waitedMs: 6_600 },
};

const calls: Readonly<Record<Use, RegExp>> = {
  services: /\bstart(?:Own)?(?:Turnpike|World)\(/g,
  processes: /\b(?:spawnTurnpike|runTurnpike|spawnCommand|Bun\.spawn(?:Sync)?)\(/g,
  pages: /\b(?:visit(?:As|Anew)?|goTo|walkTo|follow)\(/g,
};

export function countWritten(command: 'test' | 'verify'): Record<Written, number> {
  const text = testFiles(command)
    .map((file) => readFileSync(join(rootDirectory, file), 'utf8'))
    .join('\n');
  const count = (pattern: RegExp) => [...text.matchAll(pattern)].length;
  const waits = [...text.matchAll(/\bsleep\((\d[\d_]*)\)/g)].map(([, ms = '']) => Number(ms.replaceAll('_', '')));
  return {
    services: count(calls.services),
    processes: count(calls.processes),
    pages: count(calls.pages),
    waitedMs: waits.filter((ms) => ms >= 100).reduce((sum, ms) => sum + ms, 0),
  };
}

/** A line for each count above its limit. */
export function overBudget<Name extends string>(
  counts: Record<Name, number>,
  limits: Readonly<Record<Name, number>>,
): string[] {
  return (Object.keys(limits) as Name[])
    .filter((name) => counts[name] > limits[name])
    .map((name) => `${name}: ${counts[name]}, at most ${limits[name]} (test/budget.ts)`);
}
