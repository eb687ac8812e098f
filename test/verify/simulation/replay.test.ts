// Runs of the simulation, asked once more of SQLite and of PostgreSQL: the same traces, the same answers, the same rows. How many
// seeds of each is set by REPLAY_SEEDS, the first of them by REPLAY_SEED.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { followers, type OpenedFollower } from './followers.ts';
import { replay } from './replay.ts';
import { record } from './simulate.ts';

const SEEDS = Number(process.env['REPLAY_SEEDS'] ?? 40);
const FIRST_SEED = Number(process.env['REPLAY_SEED'] ?? 1);
const STEPS = 500;
const SEEDS_PER_TEST = 10;
const TEST_MS_MAX = 300_000;

for (const name of ['sqlite', 'postgres'] as const) {
  describe.skipIf(name === 'postgres' && cannotStartPostgres)(`on ${name}`, () => {
    let opened: OpenedFollower;
    beforeAll(async () => {
      opened = await followers[name]();
    });
    afterAll(() => opened[Symbol.asyncDispose]());
    for (let first = FIRST_SEED; first < FIRST_SEED + SEEDS; first += SEEDS_PER_TEST) {
      const end = Math.min(first + SEEDS_PER_TEST, FIRST_SEED + SEEDS);
      test(
        `replaying the simulated faults gives the same rows as in memory (seeds ${first} to ${end - 1})`,
        async () => {
          for (let seed = first; seed < end; seed++) expect(await follow(seed, name, opened)).toBeNull();
        },
        TEST_MS_MAX,
      );
    }
  });
}

/** Null, or what is not the same, with how to see it again. */
async function follow(seed: number, name: string, opened: OpenedFollower): Promise<string | null> {
  const { result, recording } = record(seed, STEPS);
  const fault = result.fault ?? (await replay(recording, opened.follow(seed)));
  if (fault === null) return null;
  return `seed ${seed}, ${fault}\n\nto repeat it: npm run simulate -- --seed ${seed} --steps ${STEPS} --store ${name}`;
}
