// Every mutant: those generated from the ledger's decisions, and the listed guards of the code around them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { changeMutations } from './changes.ts';
import { equivalents } from './equivalents.ts';
import { frontMutations } from './fronts.ts';
import { generateMutants, type Mutant } from './generate-mutants.ts';
import { inputMutations } from './input.ts';
import { moveMutations } from './moves.ts';
import { applyMutation, type Mutation } from './mutation.ts';
import { mutations } from './mutations.ts';
import { paymentMutations } from './payments.ts';
import { priceMutations } from './prices.ts';
import { type Suite, suites } from './suites.ts';

/** A mutant with the tests of which one must fail: run one suite after another. */
export interface TestedMutant extends Mutant {
  suites: readonly Suite[];
}

/** Files whose every generated mutant is noticed by a test, but for those of equivalents.ts. */
export const generatedFiles: readonly string[] = [
  'admit',
  'apply-batch',
  'check',
  'credit',
  'end-hold',
  'idempotency',
  'meters',
  'month-changes',
].map((name) => `src/ledger/${name}.ts`);

export function allMutants(): TestedMutant[] {
  return [...generatedFiles.flatMap(generatedIn), ...mutations.map(listed)];
}

function generatedIn(file: string): TestedMutant[] {
  const mutants = generateMutants(file, readText(file)).filter(({ name }) => !equivalents.has(name));
  return mutants.map((mutant) => ({ ...mutant, suites: [suites.core, suites.simulation] }));
}

/** Throws where the file has not exactly one place of the kind. */
function listed(mutation: Mutation): TestedMutant {
  const { name, file, find, put, removes } = mutation;
  const text = readText(file);
  applyMutation(text, mutation);
  const start = text.indexOf(find);
  const line = text.slice(0, start).split('\n').length;
  return { name, file, line, change: removes, start, end: start + find.length, put, suites: suitesOf(mutation) };
}

function suitesOf(mutation: Mutation): readonly Suite[] {
  const { file } = mutation;
  if (moveMutations.includes(mutation)) return [suites.move];
  if (changeMutations.includes(mutation)) return [suites.changes];
  if (inputMutations.includes(mutation)) return [suites.input];
  if (frontMutations.includes(mutation)) return [suites.fronts];
  if (priceMutations.includes(mutation)) return [suites.prices];
  if (paymentMutations.includes(mutation)) return [suites.payments];
  if (file.startsWith('src/gateway/')) return [suites.gateway];
  if (file.startsWith('src/usage/')) return [suites.usage];
  const isOfPostgres = file.startsWith('src/storage/postgres/');
  return isOfPostgres ? [suites.postgres, suites.conformance] : [suites.core, suites.simulation];
}

function readText(file: string): string {
  return readFileSync(join(rootDirectory, file), 'utf8');
}
