// A node of an installation over PostgreSQL, whose other nodes share its database and nothing else.

import { firstDocuments } from '../../../src/catalog/catalog.ts';
import { ChangeFeed, PostgresGate, postgresStores } from '../../../src/storage/postgres/postgres.ts';
import type { Stores } from '../../../src/storage/stores.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { type Installation, makeNode, NOW_MS } from './installation.ts';

export type Node = Installation<Stores> & { close(): Promise<void> };

/** `pastEpoch`: an epoch that the node always takes for the current one. */
export async function openNode(url: string, pastEpoch: number | null = null): Promise<Node> {
  const clock = manualClock(NOW_MS);
  const gate = new PostgresGate(url, { clock });
  const stores = postgresStores(url, gate);
  const feed = new ChangeFeed(url);
  if ((await stores.catalog.loadCatalog()).length === 0)
    await stores.catalog.saveCatalog(firstDocuments(['sandbox-echo'], {}), [], noAuditContext);
  const node = await makeNode(clock, stores, async () => pastEpoch ?? (await feed.readEpoch()));
  return Object.assign(node, {
    async close() {
      await Promise.all([gate.close(), stores.close(), feed.close()]);
    },
  });
}
