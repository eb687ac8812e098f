// Nodes at once over one PostgreSQL database, with connections that are lost: as part of every test run. How many seeds is set by
// CONTENTION_SEEDS, the first of them by CONTENTION_SEED.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cannotStartPostgres } from '../../../support/start-postgres.ts';
import { PostgresNodes } from '../postgres-nodes.ts';
import { contend, OUTCOME_MS_MAX, owed } from './contend.ts';

const SEEDS = Number(process.env['CONTENTION_SEEDS'] ?? 12);
const FIRST_SEED = Number(process.env['CONTENTION_SEED'] ?? 1);
const LANES = 6;
const BUNDLES = 400;
const TEST_MS_MAX = 300_000;

describe.skipIf(cannotStartPostgres)('on PostgreSQL', () => {
  let nodes: PostgresNodes;
  beforeAll(async () => {
    nodes = await PostgresNodes.open(LANES, OUTCOME_MS_MAX);
  });
  afterAll(() => nodes[Symbol.asyncDispose]());
  test(
    'concurrent requests to several nodes are linearizable',
    async () => {
      for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++)
        expect([seed, await contend(seed, BUNDLES, nodes)]).toEqual([seed, null]);
      expect(nodes.met.get('none: made')).toBeGreaterThan(SEEDS * 20);
      for (const [fate, how] of owed) expect([...nodes.met.keys()]).toContain(`${fate}: ${how}`);
    },
    TEST_MS_MAX,
  );
});
