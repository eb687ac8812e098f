// Automatic recharges on three nodes of one PostgreSQL database: one recharge at a time, whichever node the messages
// arrive at, and the messages of every node go on after it.

import { describe, expect, test } from 'bun:test';
import type { Account } from '../../src/accounts/accounts.ts';
import type { Clock } from '../../src/base/clock.ts';
import { PostgresGate, postgresStores, sumLedger } from '../../src/storage/postgres/postgres.ts';
import { eventsOf } from '../contract/post-messages/world.ts';
import { type OpenedPostgres, openPostgresLanes } from '../storage/open-postgres.ts';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import type { OpenedStores } from './ledger/workbench.ts';
import {
  addHolder,
  CENT,
  type Holder,
  LONG_COST,
  openTill,
  paidCharges,
  postStream,
  RECHARGE,
  type RechargedNode,
  rechargesOf,
  startRecharged,
  TERMS,
  type Till,
} from './recharged-service.ts';

interface Nodes extends AsyncDisposable {
  till: Till;
  nodes: RechargedNode[];
}

/** `storeFor` wraps the store from which the recharges of the second node read. */
async function openNodes(till = openTill(), storeFor?: Parameters<typeof startRecharged>[3]): Promise<Nodes> {
  let first: OpenedPostgres | null = null;
  const openFirst = async (clock: Clock) => {
    first = await openPostgresLanes(clock);
    return first;
  };
  const openOther = async (clock: Clock): Promise<OpenedStores> => {
    const url = (first as OpenedPostgres | null)?.url ?? '';
    const gate = new PostgresGate(url, { clock });
    const stores = postgresStores(url, gate);
    const close = async () => {
      await gate.close();
      await stores.close();
    };
    return { stores, sums: () => sumLedger(url), close };
  };
  const nodes = [await startRecharged(till, { open: openFirst, node: 'node-1' })];
  nodes.push(await startRecharged(till, { open: openOther, node: 'node-2' }, TERMS, storeFor));
  nodes.push(await startRecharged(till, { open: openOther, node: 'node-3' }));
  return {
    till,
    nodes,
    async [Symbol.asyncDispose]() {
      for (const { service } of nodes.toReversed()) await service[Symbol.asyncDispose]();
    },
  };
}

const firstOf = ({ nodes }: Nodes) => nodes[0] as RechargedNode;

/** Streams on all nodes at once; resolves to the names of their last events. */
function streamOnAll({ nodes }: Nodes, holder: Holder, times: number): Promise<(string | undefined)[]> {
  const asked = Array.from({ length: times }, (_, at) => postStream(nodes[at % nodes.length] as RechargedNode, holder));
  return Promise.all(
    asked.map(async (response) => {
      const { status } = await response;
      const text = await (await response).text();
      return status === 200 ? eventsOf(text).at(-1)?.name : String(status);
    }),
  );
}

describe.skipIf(cannotStartPostgres)('three nodes on one database', () => {
  test('recharge an account once, and the streams of all nodes go on', async () => {
    await using cluster = await openNodes();
    const holder = await addHolder(firstOf(cluster), cluster.till, 20 * CENT);
    const ends = await streamOnAll(cluster, holder, 30);
    expect(new Set(ends)).toEqual(new Set(['message_stop']));
    expect(paidCharges(cluster.till)).toBe(1);
    const meters = await firstOf(cluster).stores.ledger.accountMeters(holder.account, Date.now());
    expect(meters).toMatchObject({ balance: 1_020 * CENT - 30 * LONG_COST, held: 0 });
    expect(await firstOf(cluster).service.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test('recharge once if one node is paid while another decides', async () => {
    const { promise: paying, resolve: pay } = Promise.withResolvers<void>();
    const till = openTill();
    const { send } = till;
    till.send = async (url, init) => {
      if (init?.method === 'POST' && url.includes('/payment_intents')) await paying;
      return await send(url, init);
    };
    let beforeReading = async () => {};
    await using cluster = await openNodes(till, (store) => ({
      ...store,
      listPayments: async (query) => {
        await beforeReading();
        return await store.listPayments(query);
      },
    }));
    const [one, other] = cluster.nodes as [RechargedNode, RechargedNode];
    const holder = await addHolder(one, till, 0);
    const account = (await one.stores.accounts.getAccount(holder.account)) as Account;
    const wait = ({ recharges }: RechargedNode) => recharges.wait(account, 10_000, new AbortController().signal);
    const first = wait(one);
    while ((await rechargesOf(one, holder.account)).length === 0) await Bun.sleep(5);
    beforeReading = async () => {
      beforeReading = async () => {};
      await Bun.sleep(50); // meanwhile everything else is read
      pay();
      expect(await first).toBe(true);
    };
    expect(await wait(other)).toBe(true);
    expect(paidCharges(till)).toBe(1);
    expect(await rechargesOf(one, holder.account)).toMatchObject([{ status: 'paid' }]);
  });

  test('try a declined card once', async () => {
    await using cluster = await openNodes();
    const holder = await addHolder(firstOf(cluster), cluster.till, 0, { card: 'declinedLater' });
    const ends = await streamOnAll(cluster, holder, 30);
    expect(new Set(ends)).toEqual(new Set(['400']));
    expect(await rechargesOf(firstOf(cluster), holder.account)).toMatchObject([{ status: 'failed' }]);
  });

  test('keep the limit of a day together', async () => {
    await using cluster = await openNodes();
    const setting = { ...RECHARGE, amount: 100 * CENT, perDayMax: 2 };
    const holder = await addHolder(firstOf(cluster), cluster.till, 0, { setting });
    for (let round = 0; round < 3; round++) await streamOnAll(cluster, holder, 15);
    expect(paidCharges(cluster.till)).toBe(2);
    const meters = await firstOf(cluster).stores.ledger.accountMeters(holder.account, Date.now());
    expect(meters?.balance).toBeGreaterThanOrEqual(0);
    expect(await firstOf(cluster).service.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});
