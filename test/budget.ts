// What the tests may use, in counts that do not depend on the machine. test/run.ts refuses a run that uses more, and `npm run check`
// refuses tests that ask for more in their text. Whoever raises a number says why in the commit.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from './check.ts';
import { testFiles } from './selection.ts';
import { type Use, uses } from './support/count-uses.ts';

export type Command = 'npm test' | 'npm run verify' | 'TEST_STORE=postgres npm test';

/** While the tests run. */
export const used: Readonly<Record<Command, Readonly<Record<Use, number>>>> = {
  'npm test': { services: 0, processes: 0, pages: 0, waitedMs: 0 },
  'npm run verify': { services: 0, processes: 0, pages: 0, waitedMs: 0 },
  'TEST_STORE=postgres npm test': { services: 0, processes: 0, pages: 0, waitedMs: 0 },
};

/** In the text of the test files. */
export const written: Readonly<Record<'test' | 'verify', Readonly<Record<Use, number>>>> = {
  test: { services: 77, processes: 50, pages: 3, waitedMs: 16_150 },
  verify: { services: 21, processes: 226, pages: 203, waitedMs: 6_600 },
};

const calls: Readonly<Record<Exclude<Use, 'waitedMs'>, RegExp>> = {
  services: /\bstart(?:Own)?(?:Turnpike|World)\(/g,
  processes: /\b(?:spawnTurnpike|runTurnpike|spawnCommand|Bun\.spawn(?:Sync)?)\(/g,
  pages: /\b(?:visit(?:As|Anew)?|goTo|walkTo|follow)\(/g,
};

/** In the test files of a command: calls that start something, and the waits of a fixed length. */
export function countWritten(command: 'test' | 'verify'): Record<Use, number> {
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

/** What exceeds its limit, in words. */
export function overBudget(counts: Record<Use, number>, limits: Readonly<Record<Use, number>>): string[] {
  return uses
    .filter((use) => counts[use] > limits[use])
    .map((use) => `${use}: ${counts[use]}, at most ${limits[use]} (test/budget.ts)`);
}
