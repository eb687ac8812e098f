// Preloaded by test/run.ts. It bundles the scripts of the threads once: each thread then starts in half the time, and runs
// bundled as in the executable. It gives processes of the service their own steps of the heap, and counts processes. A test file that is
// run by itself has none of this.

import { mock } from 'bun:test';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type WorkerName, workerNames } from '../../src/threads/threads.ts';
import { countUse } from './count-uses.ts';

const workers = process.env['TEST_WORKERS'];
if (workers !== undefined)
  mock.module(join(import.meta.dir, '../../src/threads/threads.ts'), () => ({
    workerNames,
    workerScript: (name: WorkerName) => pathToFileURL(join(workers, `${name}.js`)),
  }));

const serviceRam = process.env['TEST_SERVICE_RAM'];
if (serviceRam !== undefined) process.env['BUN_JSC_forceRAMSize'] = serviceRam;

const { spawn, spawnSync } = Bun;
Object.assign(Bun, {
  spawn(...given: Parameters<typeof spawn>) {
    countUse('processes');
    return spawn(...given);
  },
  spawnSync(...given: Parameters<typeof spawnSync>) {
    countUse('processes');
    return spawnSync(...given);
  },
});
