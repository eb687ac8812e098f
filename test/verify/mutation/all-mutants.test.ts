// The mutants match the code.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { testFiles } from '../../selection.ts';
import { allMutants, decisionFiles, surroundings } from './all-mutants.ts';
import { chooseTests } from './choose-tests.ts';
import { equivalents } from './equivalents.ts';
import { generateMutants } from './generate-mutants.ts';

const mutants = allMutants();

test('every mutant changes the code, and is generated once', () => {
  const texts = new Map(mutants.map(({ file }) => [file, '']));
  for (const file of texts.keys()) texts.set(file, textOf(file));
  expect(mutants.filter(({ file, start, end, put }) => texts.get(file)?.slice(start, end) === put)).toEqual([]);
  const places = mutants.map(({ file, name }) => `${file} ${name}`);
  expect(new Set(places).size).toBe(places.length);
  expect(mutants.filter(({ isDecision }) => !isDecision).length).toBeGreaterThan(3_000);
});

test('every mutant has a quick test that reaches its file, and those of the decisions have all of the ledger', () => {
  const quick = new Set(testFiles('test'));
  expect(mutants.filter(({ tests }) => tests.length === 0 || tests.some((path) => !quick.has(path)))).toEqual([]);
  const ofLedger = [...quick].filter((path) => path.startsWith('test/money/ledger/'));
  const short = mutants.filter(
    ({ isDecision, tests }) => isDecision && !ofLedger.every((path) => tests.includes(path)),
  );
  expect(short).toEqual([]);
});

test('the tests of a file begin with those of its name, and go on with those of what it does', () => {
  const [first] = chooseTests('src/gateway/stream-hold.ts');
  expect(first).toBe('test/unit/gateway/stream-hold.test.ts');
  // No test has its name.
  expect(chooseTests('src/gateway/idempotency-records.ts')).toContain('test/contract/idempotency/replay.test.ts');
  expect(chooseTests('src/gateway/relay.ts').length).toBeLessThanOrEqual(9);
});

test('around the decisions no text, log or measurement is changed', () => {
  const text = [
    'log.warn("late", { ms: a - b });',
    'throw new TurnpikeError("code", a > b ? "one" : "other");',
    'const answer = { message: a > b ? one : other, cost: a * b };',
    'const named = a > b ? "too many" : "far too few";',
    'const rest = a ?? b;',
    'await settle(a);',
  ].join('\n');
  const changes = generateMutants('any.ts', text, 'effects').map(({ change }) => change);
  expect(changes).toEqual(['* => /', 'await settle(a); => ;', 'await settle(a); => void settle(a);']);
});

test('every equivalent mutant is generated', () => {
  const names = new Set([
    ...decisionFiles.flatMap((file) => generateMutants(file, textOf(file), 'all').map(({ name }) => name)),
    ...surroundings.flatMap((file) => generateMutants(file, textOf(file), 'effects').map(({ name }) => name)),
  ]);
  expect([...equivalents.keys()].filter((name) => !names.has(name))).toEqual([]);
});

test('the conditions of SQL are dropped and compared otherwise, also in a text that is put together', () => {
  const text = ['const read = `SELECT a FROM ', '{table} WHERE a < 1 OR b <> 2 AND c = $1`;'].join('$');
  const changes = generateMutants('any.ts', text, 'effects').map(({ change }) => change);
  expect(changes).toEqual(['< => <=', '<> => =', '= => <>', 'OR b <> 2 => nothing', 'AND c = $1 => nothing']);
});

function textOf(file: string): string {
  return readFileSync(join(rootDirectory, file), 'utf8');
}
