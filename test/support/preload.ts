// Preloaded by test/run.ts. It bundles the scripts of the threads once: each thread then starts in half the time, and runs
// bundled as in the executable. And it counts processes and waits. A test file that is run by itself has neither.

import { mock } from 'bun:test';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { WorkerName } from '../../src/worker-scripts.ts';
import { countUse } from './count-uses.ts';

const workers = process.env['TEST_WORKERS'];
if (workers !== undefined)
  mock.module(join(import.meta.dir, '../../src/worker-scripts.ts'), () => ({
    workerScript: (name: WorkerName) => pathToFileURL(join(workers, `${name}.js`)),
  }));

/** A shorter wait looks for something again and again. */
const WAIT_MS_LEAST = 100;

const { sleep, spawn, spawnSync } = Bun;
const isOfTest = () => /^.*\/test\//.test(new Error().stack?.split('\n')[3] ?? '');
Object.assign(Bun, {
  sleep(wait: number | Date) {
    if (typeof wait === 'number' && wait >= WAIT_MS_LEAST && isOfTest()) countUse('waitedMs', wait);
    return sleep(wait);
  },
  spawn(...given: Parameters<typeof spawn>) {
    countUse('processes');
    return spawn(...given);
  },
  spawnSync(...given: Parameters<typeof spawnSync>) {
    countUse('processes');
    return spawnSync(...given);
  },
});
