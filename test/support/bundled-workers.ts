// Preloaded by test/run.ts, which bundles the scripts of the threads once: each thread then starts in half the time. As in
// the executable, they run bundled. A test file that is run by itself takes the sources.

import { mock } from 'bun:test';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { WorkerName } from '../../src/worker-scripts.ts';

const directory = process.env['TEST_WORKERS'];
if (directory !== undefined)
  mock.module(join(import.meta.dir, '../../src/worker-scripts.ts'), () => ({
    workerScript: (name: WorkerName) => pathToFileURL(join(directory, `${name}.js`)),
  }));
