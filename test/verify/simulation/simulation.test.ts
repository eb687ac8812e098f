// The simulation's quick form: some seeds, the same seed twice, and a crowd at once. `npm run simulate` runs more seeds. SIMULATE_SEEDS
// sets the number of seeds, SIMULATE_SEED the first of them.

import { expect, test } from 'bun:test';
import { happens } from './coverage.ts';
import { crowd } from './crowd.ts';
import { simulatePartitions } from './partitions.ts';
import { type RunResult, simulate } from './simulate.ts';

const SEEDS = Number(process.env['SIMULATE_SEEDS'] ?? 100);
const FIRST_SEED = Number(process.env['SIMULATE_SEED'] ?? 1);
const STEPS = 2_000;
const PARTITION_STEPS = 4_000;
const SEEDS_PER_TEST = 250;
const SEEDS_COVERING = 1_000; // from which on everything has to have happened
const TEST_MS_MAX = 300_000;

const counts = new Map<string, number>();

for (let first = FIRST_SEED; first < FIRST_SEED + SEEDS; first += SEEDS_PER_TEST) {
  const end = Math.min(first + SEEDS_PER_TEST, FIRST_SEED + SEEDS);
  test(
    `no fault of nodes, network, store or clocks breaks an invariant (seeds ${first} to ${end - 1})`,
    () => {
      for (let seed = first; seed < end; seed++) count(expectWhole(simulate(seed, STEPS)));
    },
    TEST_MS_MAX,
  );
}

const partitionSeeds = Math.ceil(SEEDS / 10);

test(
  `no account is open in two partitions, and moves lose and add nothing (seeds ${FIRST_SEED} to ${FIRST_SEED + partitionSeeds - 1})`,
  () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + partitionSeeds; seed++)
      expectWhole(simulatePartitions(seed, PARTITION_STEPS));
  },
  TEST_MS_MAX,
);

if (SEEDS >= SEEDS_COVERING)
  test('every fault and every answer occurred', () => {
    expect(happens.filter((name) => (counts.get(name) ?? 0) === 0)).toEqual([]);
  });

test('the same seed gives the same run, and another seed another', () => {
  for (let seed = 1; seed <= 5; seed++) {
    const once = simulate(seed, STEPS);
    expect(simulate(seed, STEPS).hash).toBe(once.hash);
    expect(simulate(seed + 1, STEPS).hash).not.toBe(once.hash);
  }
});

for (const [circumstances, hasFaults] of [
  ['when nothing goes wrong', false],
  ['while nodes and connections break', true],
] as const) {
  test(
    `10,000 concurrent messages on 100 accounts overspend nothing and leave no hold ${circumstances}`,
    () => {
      const result = expectWhole(simulate(7, 40_000, crowd(hasFaults)));
      expect(result.counts.get('admitted')).toBeGreaterThan(1_000);
      expect(result.counts.get('refused: insufficient')).toBeGreaterThan(1_000);
    },
    TEST_MS_MAX,
  );
  test(
    `10,000 concurrent messages of people in a company of three levels overspend nothing ${circumstances}`,
    () => {
      const result = expectWhole(simulate(7, 40_000, crowd(hasFaults, true)));
      for (const name of ['admitted below another account', "admitted by a person's key", 'refused: insufficient'])
        expect([name, (result.counts.get(name) ?? 0) > 500]).toEqual([name, true]);
    },
    TEST_MS_MAX,
  );
}

function count(result: RunResult): void {
  for (const [name, times] of result.counts) counts.set(name, (counts.get(name) ?? 0) + times);
}

function expectWhole(result: RunResult): RunResult {
  const { seed, fault } = result;
  if (fault !== null)
    throw new Error(`seed ${seed}, ${fault}\n\nto repeat it: npm run simulate -- --seed ${seed} --steps ${STEPS}`);
  return result;
}
