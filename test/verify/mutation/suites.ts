// The tests that must notice mutants. Within a suite the quickest come first: the first failure ends a run.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';

export interface Suite {
  tests: readonly string[];
  environment: Record<string, string>;
  /** A mutant may make a loop endless. */
  runMsMax: number;
  needsPostgres: boolean;
}

export const suites = {
  core: suite([
    'test/storage/memory.test.ts',
    'test/unit/base/clock.test.ts',
    ...testsIn('test/money/ledger').filter((path) => !path.endsWith('/simulation.test.ts')),
    'test/money/ledger/simulation.test.ts',
  ]),
  /** After the core, because it takes longest and says least about the cause. */
  simulation: suite(['test/verify/simulation/simulation.test.ts'], { environment: { SIMULATE_SEEDS: '2000' } }),
  usage: suite([...testsIn('test/unit/usage'), 'test/unit/providers/conformance/bills.test.ts']),
  /** Few seeds of each: a mutant of the store is met often. */
  postgres: overPostgres(
    [
      'test/verify/simulation/contention/contention.test.ts',
      'test/money/ledger/simulation-postgres.test.ts',
      'test/verify/simulation/replay.test.ts',
      'test/storage/postgres-nodes.test.ts',
      'test/storage/large-sums.test.ts',
    ],
    { CONTENTION_SEEDS: '5', SIMULATION_SEEDS: '5', REPLAY_SEEDS: '5' },
  ),
  /** After it, because it takes long. */
  conformance: overPostgres(
    ['postgres-locked', 'postgres', 'postgres-faults', 'postgres-standby'].map(
      (name) => `test/storage/${name}.test.ts`,
    ),
  ),
  move: overPostgres([
    'test/storage/postgres-move.test.ts',
    ...['move-refused', 'move', 'move-cut-short'].map((name) => `test/storage/maintenance/${name}.test.ts`),
  ]),
  changes: overPostgres([
    'test/storage/postgres-changes.test.ts',
    'test/storage/postgres-outpaced.test.ts',
    'test/contract/admin-api/several-nodes.test.ts',
  ]),
  gateway: suite(
    [
      ...testsIn('test/unit/gateway'),
      ...testsIn('test/unit/gateway/routes'),
      'test/contract/routes/conversation.test.ts',
      'test/contract/client-disconnects.test.ts',
      'test/contract/post-messages/503-store.test.ts',
      ...['replay', 'concurrent-requests'].map((name) => `test/contract/idempotency/${name}.test.ts`),
      ...['left-at-money-end', 'money-end', 'unseen'].map((name) => `test/money/rolling-holds/${name}.test.ts`),
      ...['concurrency', 'parallel-prompts', 'reversals', 'slow-readers'].map(
        (name) => `test/contract/attacks/${name}.test.ts`,
      ),
    ],
    { runMsMax: 300_000 },
  ),
  input: suite([
    ...['checked-number', 'fair-share-quota'].map((name) => `test/unit/base/${name}.test.ts`),
    ...testsIn('test/unit/wire'),
    'test/unit/usage/measure-prompt.test.ts',
    'test/unit/providers/openai-responses/reasoning-signature.test.ts',
    ...testsIn('test/contract/attacks'),
  ]),
  prices: suite([
    ...testsIn('test/unit/catalog'),
    'test/contract/post-messages/200-price-changes.test.ts',
    'test/contract/commands/catalogue.test.ts',
  ]),
  payments: suite([
    ...['settle-payment', 'decide-recharge'].map((name) => `test/unit/payments/${name}.test.ts`),
    ...['concurrent-nodes', 'histories'].map((name) => `test/money/payments/${name}.test.ts`),
    'test/storage/sqlite.test.ts',
    'test/contract/payments/webhooks.test.ts',
  ]),
  fronts: suite([
    ...testsIn('test/unit/fronts'),
    ...testsIn('test/unit/fronts/chat-completions'),
    ...testsIn('test/unit/fronts/completions'),
    ...testsIn('test/unit/fronts/gemini'),
    'test/unit/providers/gemini/own-protocol.test.ts',
    ...testsIn('test/contract/fronts/generate-content'),
    ...testsIn('test/unit/fronts/responses'),
    ...testsIn('test/contract/fronts/responses'),
    ...testsIn('test/contract/fronts'),
    ...testsIn('test/contract/fronts/chat-completions'),
    ...testsIn('test/contract/fronts/completions'),
    ...testsIn('test/contract/post-embeddings'),
  ]),
} as const;

function suite(tests: readonly string[], options: Partial<Suite> = {}): Suite {
  return { tests, environment: {}, runMsMax: 120_000, needsPostgres: false, ...options };
}

function overPostgres(tests: readonly string[], environment: Record<string, string> = {}): Suite {
  return { tests, environment, runMsMax: 300_000, needsPostgres: true };
}

/** The tests in a folder without those that need PostgreSQL. */
function testsIn(path: string): string[] {
  const names = readdirSync(join(rootDirectory, path)).filter((name) => /(?<!-postgres)\.test\.ts$/.test(name));
  return names.sort().map((name) => `${path}/${name}`);
}
