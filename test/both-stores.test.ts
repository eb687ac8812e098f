// The second run over PostgreSQL has every test of the service, but for those that a list leaves out.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { candidates, filesOfBothStores, isOrHolds, leftOut } from './both-stores.ts';
import { rootDirectory } from './check.ts';

test('what is left out of the run over PostgreSQL is there, and would be in it', () => {
  const files = candidates();
  const names = Object.keys(leftOut);
  expect(names.filter((name) => !files.some((file) => isOrHolds(name, file)))).toEqual([]);
  expect(filesOfBothStores().length).toBeGreaterThan(names.length);
});

test('a test that starts the service by itself starts it over the store that is asked for', () => {
  const files = candidates();
  const starters = [...new Glob('test/**/*.test.ts').scanSync(rootDirectory)].filter((file) => startsService(file));
  expect(starters.length).toBeGreaterThan(2);
  const isLeftOut = (file: string) => Object.keys(leftOut).some((name) => isOrHolds(name, file));
  expect(starters.filter((file) => !files.includes(file) && !isLeftOut(file))).toEqual([]);
});

function startsService(file: string): boolean {
  if (file.includes('node_modules') || join(rootDirectory, file) === import.meta.path) return false;
  const text = readFileSync(join(rootDirectory, file), 'utf8');
  if (/from '[./]*src\/server\/server\.ts'/.test(text)) return true;
  return /'serve'/.test(text) && /main\.ts|run-turnpike/.test(text);
}
