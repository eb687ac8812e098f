// An idle lane whose connection was lost silently, as with an expired NAT entry: the renewal of the node's lease
// detects it, not a message.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ask } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, startPostgres, type TestPostgres } from '../support/start-postgres.ts';
import { openFaulty } from './open-faulty.ts';

let server: TestPostgres;
beforeAll(async () => {
  if (!cannotStartPostgres) server = await startPostgres({ fsync: 'off', full_page_writes: 'off' });
});
afterAll(() => server?.remove());

test.skipIf(cannotStartPostgres)(
  'no message over an idle lane is the first to find its connection broken',
  async () => {
    await using faulty = await openFaulty(server, 100);
    const { bench, gate, proxy } = faulty;
    const renew = () => ask(gate, { kind: 'renew', node: 'resting', epoch: null, leaseMs: 60_000 });
    await renew();
    await renew(); // The account's lane has been idle since.
    proxy.lose('toServer');
    await Bun.sleep(50);
    proxy.pass('toServer'); // Affects new connections. Broken ones pass nothing any more.
    await renew().catch(() => {}); // Silently.
    await renew();
    await renew();
    expect(await ask(gate, bench.admission(10))).toMatchObject({ ok: true, kind: 'admitted' });
  },
);
