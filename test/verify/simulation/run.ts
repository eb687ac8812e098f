// `npm run simulate -- --seed N --steps M`: repeats one run exactly. With --seeds K it runs that many, from seed N on, and stops at
// the first in which an invariant is broken. From 1,000 seeds on, every fault and every answer must have occurred. With --store sqlite
// or postgres, that store replays each run; PostgreSQL also serves many concurrent bundles, whose order is not repeated. With
// --partitions, each run has several stores, between which accounts are moved.

import { parseArgs } from 'node:util';
import { happens } from './coverage.ts';
import { type FollowerName, followers, type OpenedFollower } from './followers.ts';
import { simulatePartitions } from './partitions.ts';
import { replay } from './replay.ts';
import { type RunResult, record, simulate } from './simulate.ts';

const STEPS = 2_000;
const SEEDS_COVERING = 1_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    steps: { type: 'string', default: String(STEPS) },
    store: { type: 'string', default: 'memory' },
    counts: { type: 'boolean', default: false },
    partitions: { type: 'boolean', default: false },
  },
});
const first = wholeNumber('seed', values.seed);
const seeds = wholeNumber('seeds', values.seeds);
const steps = wholeNumber('steps', values.steps);
const follower = await openFollower(values.store);
const counts = new Map<string, number>();
const startedMs = performance.now();
let broken: RunResult | null = null;
let done = 0;
for (let seed = first; seed < first + seeds && broken === null; seed++) {
  const result = await runSeed(seed);
  for (const [name, count] of result.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  if (seeds === 1) console.log(`seed ${seed}, ${result.steps} steps, trace ${result.hash}`);
  if (result.fault !== null) broken = result;
  else done++;
}
const seconds = (performance.now() - startedMs) / 1000;
await follower?.[Symbol.asyncDispose]();
if (seeds === 1 || values.counts)
  for (const [name, count] of [...counts].sort()) console.log(`${String(count).padStart(9)} ${name}`);
if (broken !== null) {
  console.log(`\nseed ${broken.seed}, ${broken.fault}`);
  const store = values.partitions ? ' --partitions' : follower === null ? '' : ` --store ${values.store}`;
  console.log(`\nto repeat it: npm run simulate -- --seed ${broken.seed} --steps ${steps}${store}`);
}
const missing =
  done < SEEDS_COVERING || values.partitions ? [] : happens.filter((name) => (counts.get(name) ?? 0) === 0);
for (const name of missing) console.log(`never occurred: ${name}`);
const failed = (broken === null ? 0 : 1) + missing.length;
console.log(`${seconds.toFixed(1)} s, ${(done / seconds).toFixed(1)} seeds/s`);
console.log(`${done} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** In memory; and, where that kept every invariant, once more in the other store. */
async function runSeed(seed: number): Promise<RunResult> {
  if (values.partitions) return simulatePartitions(seed, steps);
  if (follower === null) return simulate(seed, steps);
  const { result, recording } = record(seed, steps);
  if (result.fault !== null) return result;
  const fault = (await replay(recording, follower.follow(seed))) ?? (await follower.contend?.(seed)) ?? null;
  return { ...result, fault };
}

async function openFollower(name: string): Promise<OpenedFollower | null> {
  if (name === 'memory') return null;
  if (name in followers) return await followers[name as FollowerName]();
  console.error(`--store: must be memory, ${Object.keys(followers).join(' or ')}, not "${name}"`);
  process.exit(2);
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  console.error(`--${name}: must be a whole number, not "${text}"`);
  process.exit(2);
}
