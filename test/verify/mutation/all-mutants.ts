// Every mutant, with the tests that must notice it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { rootDirectory } from '../../check.ts';
import { chooseTests } from './choose-tests.ts';
import { equivalents } from './equivalents.ts';
import { type Extent, generateMutants, type Mutant } from './generate-mutants.ts';

/** A mutant with the test files of which one must fail. */
export interface TestedMutant extends Mutant {
  tests: readonly string[];
  /** Among the decisions of the ledger, of whose mutants none survives. */
  isDecision: boolean;
}

/** Files whose every mutant is noticed by a test, but for those of equivalents.ts. */
export const decisionFiles = filesOf(
  'src/ledger/{admit,apply-batch,check,credit,end-hold,idempotency,meters,month-changes}.ts',
);

/** Tests of all decisions together: a quick one that runs first, and the longest, which runs last. */
const DECISIONS_TEST = 'test/storage/memory.test.ts';
const SIMULATION_TEST = 'test/verify/simulation/simulation.test.ts';

/**
 * The code around the decisions that holds, bills and refuses: of its mutants a sample is run, most of which must be noticed.
 * Code that only PostgreSQL runs is missing, because no quick test starts it.
 */
export const surroundings: readonly string[] = [
  'src/ledger/{daily-totals,group-commit,node-ledger,plan,queued-ledger,refusals}.ts',
  'src/ledger/{resident-ledger,resident-rows,staged-rows,store-failure,usage-record,young-holds}.ts',
  'src/storage/{ledger-sums,payment-rows}.ts',
  'src/storage/sqlite/survey-store.ts',
  'src/gateway/{attempts,gateway,idempotency-records,message-record,open-attempt,open-message}.ts',
  'src/gateway/{plan-message,relay,silence-watch,stream-hold,targets}.ts',
  'src/usage/{bill,count-message,estimates,merge-usage,output-estimate}.ts',
  'src/payments/{decide-recharge,settle-payment,sync}.ts',
  'src/catalog/{build-catalog,plan-price-update,price-changes}.ts',
  'src/admin-api/{credits,price-update}.ts',
  'src/base/{checked-number,fair-share-quota,timers}.ts',
  'src/http/read-body.ts',
  'src/wire/{parse-message-request,read-features,scan-json}.ts',
  'src/fronts/responses/{convert-input,native-body,response-writer}.ts',
  'src/fronts/gemini/{convert-contents,read-body}.ts',
  'src/fronts/chat-completions/convert-conversation.ts',
  'src/providers/{keep-native,read-vectors}.ts',
  'src/providers/{gemini,openai-responses}/own-protocol.ts',
  'src/providers/openai-responses/reasoning-signature.ts',
].flatMap(filesOf);

export function allMutants(): TestedMutant[] {
  const decisions = decisionFiles.flatMap((file) => mutantsOf(file, 'all'));
  const around = surroundings.flatMap((file) => mutantsOf(file, 'effects'));
  return [...decisions, ...around].filter(({ name }) => !equivalents.has(name));
}

function mutantsOf(file: string, extent: Extent): TestedMutant[] {
  const nearest = chooseTests(file);
  const tests = extent === 'all' ? [...new Set([DECISIONS_TEST, ...nearest, SIMULATION_TEST])] : nearest;
  const text = readFileSync(join(rootDirectory, file), 'utf8');
  return generateMutants(file, text, extent).map((mutant) => ({ ...mutant, tests, isDecision: extent === 'all' }));
}

/** Throws if there is none: the code has moved. */
function filesOf(pattern: string): string[] {
  const files = [...new Glob(pattern).scanSync(rootDirectory)].sort();
  if (files.length === 0) throw new Error(`no file matches ${pattern}`);
  return files;
}
