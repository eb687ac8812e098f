// `npm run simulate -- --seed N --steps M`: repeats one run exactly. With --seeds K it runs that many, from
// seed N on, and stops at the first in which an invariant is broken.

import { parseArgs } from 'node:util';
import { type RunResult, simulate } from './simulate.ts';

const STEPS = 2_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    steps: { type: 'string', default: String(STEPS) },
    counts: { type: 'boolean', default: false },
  },
});
const first = wholeNumber('seed', values.seed);
const seeds = wholeNumber('seeds', values.seeds);
const steps = wholeNumber('steps', values.steps);
const counts = new Map<string, number>();
const startedMs = performance.now();
let broken: RunResult | null = null;
let done = 0;
for (let seed = first; seed < first + seeds && broken === null; seed++) {
  const result = simulate(seed, steps);
  for (const [name, count] of result.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  if (seeds === 1) console.log(`seed ${seed}, ${result.steps} steps, trace ${result.hash}`);
  if (result.fault !== null) broken = result;
  else done++;
}
if (seeds === 1 || values.counts)
  for (const [name, count] of [...counts].sort()) console.log(`${String(count).padStart(9)} ${name}`);
if (broken !== null) {
  console.log(`\nseed ${broken.seed}, ${broken.fault}`);
  console.log(`\nto repeat it: npm run simulate -- --seed ${broken.seed} --steps ${steps}`);
}
console.log(`${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
console.log(`${done} passed, ${broken === null ? 0 : 1} failed`);
process.exit(broken === null ? 0 : 1);

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  console.error(`--${name}: must be a whole number, not "${text}"`);
  process.exit(2);
}
