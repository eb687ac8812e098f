// The mutants match the code.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { allMutants, decisionFiles } from './all-mutants.ts';
import { equivalents } from './equivalents.ts';
import { generateMutants } from './generate-mutants.ts';

test('every mutant changes the code, and is generated once', () => {
  const mutants = allMutants();
  expect(mutants.filter(({ file, start, end, put }) => textOf(file).slice(start, end) === put)).toEqual([]);
  const places = mutants.map(({ file, name }) => `${file} ${name}`);
  expect(new Set(places).size).toBe(places.length);
  expect(mutants.filter(({ isDecision }) => !isDecision).length).toBeGreaterThan(5_000);
});

test('every equivalent mutant is among those of the decisions', () => {
  const names = new Set(decisionFiles.flatMap((file) => generateMutants(file, textOf(file)).map(({ name }) => name)));
  expect([...equivalents.keys()].filter((name) => !names.has(name))).toEqual([]);
});

test('the conditions of SQL are dropped and compared otherwise, also in a text that is put together', () => {
  const text = ['const read = `SELECT a FROM ', '{table} WHERE a < 1 OR b <> 2 AND c = $1`;'].join('$');
  const changes = generateMutants('any.ts', text).map(({ change }) => change);
  expect(changes).toEqual(['< => <=', '<> => =', '= => <>', 'OR b <> 2 => nothing', 'AND c = $1 => nothing']);
});

function textOf(file: string): string {
  return readFileSync(join(rootDirectory, file), 'utf8');
}
