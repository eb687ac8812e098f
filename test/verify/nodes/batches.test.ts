// A batch over three nodes, of which one after the other is killed: whichever leads goes on with it.

import { afterAll, beforeAll, describe, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Killable, killBatch, startBatchUpstream } from '../../money/batch-under-kills.ts';
import { KILLED_AT, killProviderBatch } from '../../money/provider-batch-under-kills.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { applyEverywhere, type Nodes, type ServiceNode, startNodes } from './start-nodes.ts';

describe.skipIf(cannotStartPostgres)('over three nodes', () => {
  let nodes: Nodes;
  let files: string;
  beforeAll(async () => {
    files = mkdtempSync(join(tmpdir(), 'turnpike-files-'));
    const preload = join(import.meta.dir, '..', '..', 'support', 'short-leases.ts');
    nodes = await startNodes(3, { preload, environment: { TURNPIKE_FILES: files } });
  });
  afterAll(async () => {
    await nodes[Symbol.asyncDispose]();
    rmSync(files, { recursive: true, force: true });
  });

  let at = 0;
  const killable: Killable = {
    service: () => (nodes.all[at] as ServiceNode).service,
    async kill(round) {
      const node = nodes.all[round % 3] as ServiceNode;
      at = (round + 1) % 3;
      node.kill();
      await node.ended();
      await node.start();
    },
    apply: async (document) => void (await applyEverywhere(nodes, { ...document })),
    check: () => nodes.check(),
  };

  test.each([false, true])('each request is billed once (canceled in the middle: %p)', async (isCanceled) => {
    const started = await startBatchUpstream(isCanceled);
    await killBatch(killable, started);
    await started.upstream.close();
  });

  test.each(KILLED_AT)('each request that %s ran is billed once', (kind) => killProviderBatch(killable, kind));
});
