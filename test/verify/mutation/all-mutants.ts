// Every mutant, with the tests that must notice it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { rootDirectory } from '../../check.ts';
import { equivalents } from './equivalents.ts';
import { generateMutants, type Mutant } from './generate-mutants.ts';
import { type Suite, suites } from './suites.ts';

/** A mutant with the tests of which one must fail: run one suite after another. */
export interface TestedMutant extends Mutant {
  suites: readonly Suite[];
  /** Among the decisions of the ledger, of whose mutants none survives. */
  isDecision: boolean;
}

/** Files whose every mutant is noticed by a test, but for those of equivalents.ts. */
export const decisionFiles: readonly string[] = [
  'admit',
  'apply-batch',
  'check',
  'credit',
  'end-hold',
  'idempotency',
  'meters',
  'month-changes',
].map((name) => `src/ledger/${name}.ts`);

/** The code around the decisions: of its mutants a sample is run, most of which must be noticed. */
const surroundings: Readonly<Record<string, readonly Suite[]>> = {
  'src/ledger/{daily-totals,group-commit,lost-holds,node-ledger,plan,queued-ledger,refusals,resident-ledger,resident-rows,staged-rows,store-failure,usage-record,young-holds}.ts':
    [suites.core, suites.simulation],
  'src/storage/{ledger-sums,payment-rows}.ts': [suites.core, suites.payments],
  'src/storage/sqlite/{move,survey-store}.ts': [suites.core, suites.move],
  'src/storage/postgres/{change-feed,outpaced}*.ts': [suites.changes],
  'src/storage/postgres/{connection,ledger-store,load-rows,statements,write-changes}.ts': [
    suites.postgres,
    suites.conformance,
  ],
  'src/storage/postgres/fill-database.ts': [suites.move],
  'src/maintenance/move.ts': [suites.move],
  'src/gateway/*.ts': [suites.gateway],
  'src/usage/*.ts': [suites.usage],
  'src/payments/{decide-recharge,settle-payment,sync}.ts': [suites.payments],
  'src/catalog/{plan-price-update,price-changes,price,build-catalog}.ts': [suites.prices],
  'src/base/{checked-number,fair-share-quota,timers}.ts': [suites.input],
  'src/http/read-body.ts': [suites.input],
  'src/wire/*.ts': [suites.input],
  'src/fronts/**/*.ts': [suites.fronts],
  'src/providers/{keep-native,read-vectors}.ts': [suites.fronts],
  'src/providers/{gemini,openai-responses}/{own-protocol,reasoning-signature}.ts': [suites.fronts],
};

export function allMutants(): TestedMutant[] {
  const decisions = decisionFiles.flatMap((file) => mutantsOf(file, [suites.core, suites.simulation], true));
  const around = Object.entries(surroundings).flatMap(([pattern, suites]) =>
    filesOf(pattern).flatMap((file) => mutantsOf(file, suites, false)),
  );
  return [...decisions.filter(({ name }) => !equivalents.has(name)), ...around];
}

/** Throws if there is none: the code has moved. */
function filesOf(pattern: string): string[] {
  const files = [...new Glob(pattern).scanSync(rootDirectory)].sort();
  if (files.length === 0) throw new Error(`no file matches ${pattern}`);
  return files;
}

function mutantsOf(file: string, suites: readonly Suite[], isDecision: boolean): TestedMutant[] {
  const text = readFileSync(join(rootDirectory, file), 'utf8');
  return generateMutants(file, text).map((mutant) => ({ ...mutant, suites, isDecision }));
}
