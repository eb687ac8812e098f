// Preloaded by test/run.ts. It bundles the scripts of the threads once: each thread then starts in half the time, and runs
// bundled as in the executable. It gives processes of the service their own steps of the heap, counts processes, and lets reports
// of this process take any time. A test file that is run by itself has none of this.

import { mock } from 'bun:test';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bounds } from '../../src/config/config.ts';
import { type WorkerName, workerNames } from '../../src/threads/threads.ts';
import { countUse } from './count-uses.ts';

const workers = process.env['TEST_WORKERS'];
if (workers !== undefined)
  mock.module(join(import.meta.dir, '../../src/threads/threads.ts'), () => ({
    workerNames,
    workerScript: (name: WorkerName) => pathToFileURL(join(workers, `${name}.js`)),
  }));

// On a busy machine a report would end early. Tests of that give limits of their own.
Object.assign(bounds, {
  nameSearchMsMax: Number.POSITIVE_INFINITY,
  timelineReadMsMax: Number.POSITIVE_INFINITY,
  topReadMsMax: Number.POSITIVE_INFINITY,
  usageSearchMsMax: Number.POSITIVE_INFINITY,
});

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
