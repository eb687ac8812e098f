// Locks of the whole installation over a faulty connection: a node without an answer gives up after a bound and
// retries at its next turn.

import { expect, test } from 'bun:test';
import { bounds } from '../../src/config/config.ts';
import { takeLock, tryLock } from '../../src/storage/postgres/postgres.ts';
import { failureOf } from '../money/ledger/workbench.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { cannotStartPostgres, sharedPostgres } from '../support/start-postgres.ts';

const lengths = bounds as { readStatementMsMax: number; startWaitMsMax: number; storeSilenceMsMax: number };

test.skipIf(cannotStartPostgres)(
  'an attempt to lock a silent database gives up, and succeeds when it answers again',
  async () => {
    const server = await sharedPostgres();
    await using database = await server.newDatabase();
    const proxy = await startFaultProxy(server.port);
    const url = proxy.through(database.url);
    const before = { ...lengths };
    Object.assign(lengths, { readStatementMsMax: 300, startWaitMsMax: 300, storeSilenceMsMax: 100 });
    try {
      for (const lock of [tryLock, takeLock]) {
        const met = proxy.at('toServer', (chunk) => chunk.includes('_advisory_lock'), 'lose');
        expect(await failureOf(lock(url, 'retention'))).toMatchObject({ message: 'the database does not answer' });
        await met;
        await using had = await lock(url, 'retention');
        expect(had).not.toBeNull();
      }
    } finally {
      Object.assign(lengths, before);
      await proxy.close();
    }
  },
);
