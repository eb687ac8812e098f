// `npm run economy -- --holes`: puts each hole back that attackers could once use, one after another in a copy of the tree,
// and expects that the economy finds it with each of HOLES_SEEDS seeds.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { copyTree } from '../mutation/copy-tree.ts';
import { type Hole, putBack } from './hole.ts';
import { listHoles } from './list-holes.ts';

const HOLE_SECONDS = 60; // for one seed
const COPIES_MAX = 3;

/** Prints what found each hole; `names`: of the holes, all if empty. Returns the exit code. */
export async function runHoles(names: readonly string[], seedsMax: number): Promise<number> {
  const chosen = listHoles.filter(({ name }) => names.length === 0 || names.includes(name));
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-holes-'));
  try {
    const seeds = Array.from({ length: seedsMax }, (_, at) => at + 1);
    const waiting = chosen.flatMap((hole) => seeds.map((seed) => ({ hole, seed })));
    const [all, missed]: [number, string[]] = [waiting.length, []];
    const copies = Array.from({ length: Math.min(COPIES_MAX, availableParallelism()) }, async (_, at) => {
      const copy = join(directory, String(at));
      copyTree(copy);
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { hole, seed } = next;
        const { finding, seconds } = await run(copy, hole, seed);
        if (finding === null) missed.push(`${hole.name}, seed ${seed}`);
        console.log(`${finding === null ? 'MISSED' : 'found '} ${hole.name}, seed ${seed}, ${seconds} s: ${finding}`);
      }
    });
    await Promise.all(copies);
    for (const name of missed) console.log(`  FAILED nothing finds ${name}`);
    console.log(`${all - missed.length} passed, ${missed.length} failed`);
    return missed.length === 0 && all > 0 ? 0 : 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function run(copy: string, hole: Hole, seed: number): Promise<{ finding: string | null; seconds: string }> {
  const path = join(copy, hole.file);
  const text = readFileSync(path, 'utf8');
  const startedMs = performance.now();
  try {
    writeFileSync(path, putBack(text, hole));
    const script = join(copy, 'test/verify/economy/run.ts');
    const child = Bun.spawn([process.execPath, script, '--brief', '--only', hole.economy], {
      cwd: copy,
      env: { ...process.env, ECONOMY_SEED: String(seed), ECONOMY_SECONDS: String(HOLE_SECONDS) },
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const lines = (await new Response(child.stdout).text()).split('\n');
    const code = await child.exited;
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
    return { finding: code === 1 && lines.at(-2)?.endsWith('1 failed') ? (lines[0] as string) : null, seconds };
  } finally {
    writeFileSync(path, text);
  }
}

/** Throws unless every hole can be put back: each is in its file exactly once. */
export function checkHoles(): void {
  for (const hole of listHoles) putBack(readFileSync(join(rootDirectory, hole.file), 'utf8'), hole);
}
