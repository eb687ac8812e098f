// `npm run check`: format, lint, types, tidiness, in seconds. With --fix, what a machine can mend is mended.
// test/run.ts runs the same checks before the tests.

import { join } from 'node:path';

export const rootDirectory = join(import.meta.dir, '..');

export interface Check {
  name: string;
  /** Arguments for Bun: none of the checks needs another runtime. */
  bunArguments: string[];
}

/** Tests of the sources, in one process: each parse of all of them takes seconds. */
export const tidinessTests = [
  'tidy',
  'checked-numbers',
  'errors',
  'plain-language',
  'stored-shapes',
  'budget',
  'operations',
].map((name) => `test/${name}.test.ts`);

/** Format and lint, types, tidiness. `fix` writes what a machine can before it is checked. */
export function staticChecks(fix: boolean): Check[] {
  const biome = ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', ...(fix ? ['--write'] : [])];
  return [
    ...(fix ? [{ name: 'operations of commands', bunArguments: ['test/operations.ts'] }] : []),
    { name: 'format and lint', bunArguments: biome },
    // Each checker checks the types of packages anew.
    { name: 'types', bunArguments: ['node_modules/typescript/bin/tsc', '--noEmit', '-p', '.', '--checkers', '1'] },
    {
      name: 'tidiness',
      bunArguments: [
        'test',
        '--no-isolate',
        '--only-failures',
        '--timeout=180000',
        ...tidinessTests.map((file) => `./${file}`),
      ],
    },
  ];
}

/** Runs each check to its end and says how it went; returns how many failed. */
export async function runChecks(checks: readonly Check[]): Promise<number> {
  let failed = 0;
  for (const check of checks) {
    const startedMs = performance.now();
    const child = Bun.spawn([process.execPath, ...check.bunArguments], {
      cwd: rootDirectory,
      env: { ...process.env, GOGC: 'off' }, // TypeScript is a Go program that ends before collecting garbage is worthwhile
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const passed = (await child.exited) === 0;
    if (!passed) failed++;
    console.log(`${check.name}: ${passed ? 'passed' : 'FAILED'} (${Math.round(performance.now() - startedMs)} ms)\n`);
  }
  return failed;
}

if (import.meta.main) {
  const failed = await runChecks(staticChecks(process.argv.includes('--fix')));
  console.log(failed === 0 ? 'All checks passed.' : `${failed} of the checks FAILED.`);
  process.exit(failed === 0 ? 0 : 1);
}
