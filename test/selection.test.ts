// Every test runs: in `npm test` or in `npm run verify`, and over both stores where its service can have either.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from './check.ts';
import {
  allTestFiles,
  candidates,
  filesOfBothStores,
  isListed,
  isOrHolds,
  leftOut,
  slowTests,
  testFiles,
} from './selection.ts';

test('every test file runs in exactly one of npm test and npm run verify', () => {
  const quick = testFiles('test');
  const slow = testFiles('verify');
  expect([...quick, ...slow].sort()).toEqual(allTestFiles());
  expect(quick.length).toBeGreaterThan(slow.length);
});

test('every entry of the list of slow tests exists', () => {
  const files = allTestFiles();
  expect(Object.keys(slowTests).filter((name) => !files.some((file) => isOrHolds(name, file)))).toEqual([]);
});

test('every entry left out of the run over PostgreSQL exists and would otherwise be in it', () => {
  const files = candidates();
  const names = Object.keys(leftOut);
  expect(names.filter((name) => !files.some((file) => isOrHolds(name, file)))).toEqual([]);
  expect(filesOfBothStores().length).toBeGreaterThan(names.length);
});

test('a test that starts the service by itself runs over both stores or is listed with its reason', () => {
  const files = candidates();
  const starters = allTestFiles().filter((file) => startsService(file));
  expect(starters.length).toBeGreaterThan(2);
  expect(starters.filter((file) => !files.includes(file) && !isListed(leftOut, file))).toEqual([]);
});

function startsService(file: string): boolean {
  if (join(rootDirectory, file) === import.meta.path) return false;
  const text = readFileSync(join(rootDirectory, file), 'utf8');
  if (/from '[./]*src\/server\/server\.ts'/.test(text)) return true;
  return /'serve'/.test(text) && /main\.ts|run-turnpike/.test(text);
}
