// Batches whose service is killed again and again.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnTurnpike } from '../support/start-turnpike.ts';
import { killBatch, startBatchUpstream } from './batch-under-kills.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test.each([false, true])(
  'kills at any moment bill each request once (canceled in the middle: %p)',
  async (isCanceled) => {
    const started = await startBatchUpstream(isCanceled);
    const { upstream } = started;
    const place = join(directory, String(isCanceled));
    let turnpike = await spawnTurnpike(place);
    try {
      const apply = async (document: object) => void (await turnpike.admin('POST', '/apply', { document }));
      const kill = async () => {
        turnpike.process.kill('SIGKILL');
        await turnpike.process.exited;
        turnpike = await spawnTurnpike(place);
      };
      await killBatch({ service: () => turnpike, kill, apply, check: () => turnpike.check() }, started);
      await turnpike.stop();
      expect(turnpike.process.exitCode).toBe(0);
    } finally {
      turnpike.process.kill('SIGKILL');
      await upstream.close();
    }
  },
);
