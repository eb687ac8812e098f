// A lane over which nothing goes for a while: where its connection is gone without a word, as routers forget one, the renewals of
// the node's lease find that out, and no message does.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ask } from '../ledger/workbench.ts';
import { cannotStartPostgres, startPostgres, type TestPostgres } from '../support/start-postgres.ts';
import { openFaulty } from './open-faulty.ts';

let server: TestPostgres;
beforeAll(async () => {
  if (!cannotStartPostgres) server = await startPostgres({ fsync: 'off', full_page_writes: 'off' });
});
afterAll(() => server?.remove());

test.skipIf(cannotStartPostgres)(
  'a message over a lane that rested is not the first to find its connection dead',
  async () => {
    await using faulty = await openFaulty(server, 100);
    const { bench, gate, proxy } = faulty;
    const renew = () => ask(gate, { kind: 'renew', node: 'resting', epoch: null, leaseMs: 60_000 });
    await renew();
    await renew(); // the account's lane has rested since
    proxy.lose('toServer');
    await Bun.sleep(50);
    proxy.pass('toServer'); // for new connections: those that lost something pass nothing any more
    await renew().catch(() => {}); // in silence
    await renew();
    await renew();
    expect(await ask(gate, bench.admission(10))).toMatchObject({ ok: true, kind: 'admitted' });
  },
);
