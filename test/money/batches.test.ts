// Batches whose service is killed again and again.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnTurnpike } from '../support/start-turnpike.ts';
import { type Killable, killBatch, startBatchUpstream } from './batch-under-kills.ts';
import { KILLED_AT, killProviderBatch } from './provider-batch-under-kills.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A service whose process is killed, on a directory of its own. */
async function killingIn(place: string, work: (killable: Killable) => Promise<void>): Promise<void> {
  let turnpike = await spawnTurnpike(place);
  try {
    const apply = async (document: object) => void (await turnpike.admin('POST', '/apply', { document }));
    const kill = async () => {
      turnpike.process.kill('SIGKILL');
      await turnpike.process.exited;
      turnpike = await spawnTurnpike(place);
    };
    await work({ service: () => turnpike, kill, apply, check: () => turnpike.check() });
    await turnpike.stop();
    expect(turnpike.process.exitCode).toBe(0);
  } finally {
    turnpike.process.kill('SIGKILL');
  }
}

test.each([false, true])(
  'kills at any moment bill each request once (canceled in the middle: %p)',
  async (isCanceled) => {
    const started = await startBatchUpstream(isCanceled);
    await killingIn(join(directory, String(isCanceled)), (killable) => killBatch(killable, started));
    await started.upstream.close();
  },
);

test.each(KILLED_AT)('kills while %s runs the batch bill each request once, and it gets the batch once', (kind) =>
  killingIn(join(directory, kind), (killable) => killProviderBatch(killable, kind)),
);
