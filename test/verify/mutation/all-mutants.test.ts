// The lists of mutants match the code.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { allMutants, generatedFiles } from './all-mutants.ts';
import { equivalents } from './equivalents.ts';
import { generateMutants } from './generate-mutants.ts';

test('every listed mutation matches its file exactly once, and every mutant changes the code', () => {
  const unchanged = allMutants().filter(({ file, start, end, put }) => textOf(file).slice(start, end) === put);
  expect(unchanged).toEqual([]);
});

test('every equivalent mutant is among the generated ones', () => {
  const names = new Set(generatedFiles.flatMap((file) => generateMutants(file, textOf(file)).map(({ name }) => name)));
  expect([...equivalents.keys()].filter((name) => !names.has(name))).toEqual([]);
});

function textOf(file: string): string {
  return readFileSync(join(rootDirectory, file), 'utf8');
}
