// `npm run fuzz`: batches of hostile connections against the service as a process, for FUZZ_SECONDS (60), drawn from FUZZ_SEED
// (the day). After each the invariants are looked at; it stops at the first that is broken, and shrinks the batch
// for FUZZ_SHRINK_SECONDS (120). `--seed N --batch K` makes one batch again, `--plan JSON` one that was shrunk.

import { parseArgs } from 'node:util';
import { DAY_MS } from '../../../src/base/clock.ts';
import { attack } from './attack.ts';
import { type Installation, install } from './installation.ts';
import { type Batch, describeVisit, planBatch } from './plan.ts';
import { shrink } from './shrink.ts';

const QUIET_MS_MAX = 20_000; // without any change
const QUIET_MS_MAX_SHRINKING = 6_500; // longer than the slowest model
const CONFIRMED_TIMES = 3;

const { values } = parseArgs({
  options: { seed: { type: 'string' }, batch: { type: 'string' }, plan: { type: 'string' } },
});
const seed = wholeNumber('seed', values.seed ?? process.env['FUZZ_SEED'] ?? String(Math.floor(Date.now() / DAY_MS)));
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 60);
const shrinkSeconds = Number(process.env['FUZZ_SHRINK_SECONDS'] ?? 120);
const counts = { visits: 0, requests: 0, bytes: 0, statuses: new Map<string, number>() };
const startedMs = performance.now();

let done = 0;
const broken = await findBrokenBatch();
const tookSeconds = Math.round((performance.now() - startedMs) / 1000);
const { visits, requests, bytes } = counts;
console.log(
  `${visits} connections, ${requests} requests, ${bytes} bytes of answers in ${tookSeconds} s (FUZZ_SEED=${seed})`,
);
console.log(
  `answers by status: ${[...counts.statuses]
    .sort()
    .map((pair) => pair.join(' '))
    .join(', ')}`,
);
if (broken !== null) await tell(broken);
console.log(`${done} passed, ${broken === null ? 0 : 1} failed`);
process.exitCode = broken === null && done > 0 ? 0 : 1;

interface Broken {
  batch: Batch;
  fault: string;
  again: string;
  elapsedSeconds: number;
}

async function findBrokenBatch(): Promise<Broken | null> {
  await using installation = await install();
  const state = newState(QUIET_MS_MAX);
  for (const { batch, again } of batches()) {
    const fault = await attack(installation, batch, state);
    if (fault !== null)
      return { batch, fault, again, elapsedSeconds: Math.round((performance.now() - startedMs) / 1000) };
    done++;
  }
  return null;
}

function* batches(): Generator<{ batch: Batch; again: string }> {
  if (values.plan !== undefined) {
    yield { batch: JSON.parse(values.plan) as Batch, again: `npm run fuzz -- --plan '${values.plan}'` };
    return;
  }
  const again = (batch: number) => `npm run fuzz -- --seed ${seed} --batch ${batch}`;
  if (values.batch !== undefined) {
    const only = wholeNumber('batch', values.batch);
    yield { batch: planBatch(seed, only), again: again(only) };
    return;
  }
  for (let at = 0; performance.now() - startedMs < seconds * 1000; at++)
    yield { batch: planBatch(seed, at), again: again(at) };
}

function newState(quietMsMax: number) {
  return { batches: 0, high: { residentBytes: 0, files: 0 }, counts, quietMsMax };
}

/** Shrinks it and prints what is left, and how to repeat it. */
async function tell({ batch, fault, again, elapsedSeconds }: Broken): Promise<void> {
  console.log(`FAILED after ${elapsedSeconds} s: ${fault}\n  again: ${again}`);
  const name = nameOf(fault);
  let last: { fault: string; installation: Installation } | null = null;
  const breaks = async (tried: Batch): Promise<boolean> => {
    await using installation = await install();
    const seen = await attack(installation, tried, newState(QUIET_MS_MAX_SHRINKING));
    if (seen === null || nameOf(seen) !== name) return false;
    last = { fault: seen, installation };
    return true;
  };
  const shrinkingMs = performance.now();
  const isTimeUp = () => performance.now() - shrinkingMs > shrinkSeconds * 1000;
  if (!(await breaksAtAll(batch, breaks))) {
    console.log(
      `  on a fresh service this batch alone does not break it: FUZZ_SEED=${seed} npm run fuzz, from the beginning`,
    );
    return;
  }
  const shrunk = await shrink(batch, breaks, isTimeUp);
  const { fault: shrunkFault, installation } = last as unknown as { fault: string; installation: Installation };
  console.log(`  shrunk to ${shrunk.length} of ${batch.length} connections: ${shrunkFault}`);
  for (const visit of shrunk) console.log(`  ${describeVisit(visit, installation.attacker)}`);
  console.log(`  shrunk, again: npm run fuzz -- --plan '${JSON.stringify(shrunk)}'`);
}

/** Timing may require more than one try. */
async function breaksAtAll(batch: Batch, breaks: (batch: Batch) => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < CONFIRMED_TIMES; tries++) if (await breaks(batch)) return true;
  return false;
}

function nameOf(fault: string): string {
  return fault.slice(0, fault.indexOf(':'));
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} must be a whole number`);
  return number;
}
