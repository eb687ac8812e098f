// Redemption codes on three nodes of PostgreSQL, and on SQLite: one of a thousand requests for a code wins, and the credits
// of random redemptions are the codes that were redeemed.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { firstDocuments } from '../../../src/catalog/catalog.ts';
import { bounds } from '../../../src/config/config.ts';
import { checkLedger } from '../../../src/ledger/ledger.ts';
import { sumLedger } from '../../../src/storage/postgres/postgres.ts';
import { openSqlite } from '../../storage/open-sqlite.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { makeRandom } from '../../support/random.ts';
import { cannotStartPostgres, sharedPostgres } from '../../support/start-postgres.ts';
import { type Json, makeAccount, makeNode, NOW_MS } from './installation.ts';
import { type Node, openNode } from './open-node.ts';

interface Nodes {
  nodes: Node[];
  close(): Promise<string[]>;
}

async function openThree(): Promise<Nodes> {
  const database = await (await sharedPostgres()).newDatabase();
  const nodes: Node[] = [];
  while (nodes.length < 3) nodes.push(await openNode(database.url));
  return {
    nodes,
    async close() {
      const { faults } = checkLedger(await sumLedger(database.url));
      await Promise.all(nodes.map((node) => node.close()));
      await database[Symbol.asyncDispose]();
      return faults;
    },
  };
}

async function openOne(): Promise<Nodes> {
  const clock = manualClock(NOW_MS);
  const opened = openSqlite(clock);
  await opened.stores.catalog.saveCatalog(firstDocuments(['sandbox-echo'], {}), [], noAuditContext);
  const node = Object.assign(await makeNode(clock, opened.stores), { close: async () => {} });
  return {
    nodes: [node],
    async close() {
      const { faults } = checkLedger(opened.sums());
      opened.close();
      return faults;
    },
  };
}

/** Requests as the operator, to the node at `at`, modulo the number of nodes. */
function requestsTo(nodes: () => readonly Node[]) {
  const nodeOf = (at: number) => nodes()[at % nodes().length] as Node;
  const redeem = (at: number, account: Json, code: unknown) =>
    nodeOf(at).ask('POST', `/api/v1/accounts/${account['id']}/redemptions`, { code });
  const show = async (path: string) => (await nodeOf(0).ask('GET', path)).body;
  const makeAccounts = async (count: number) => {
    const accounts: Json[] = [];
    while (accounts.length < count) accounts.push(await makeAccount(nodeOf(0) as never, { credit: '0' }));
    return accounts;
  };
  const makeBatch = async (members: Json) => {
    const body = { name: 'a', amount: '1.00', count: 1, ...members };
    return (await nodeOf(0).ask('POST', '/api/v1/code-batches', body)).body as Json & { codes: string[] };
  };
  return { nodeOf, redeem, show, makeAccounts, makeBatch };
}

const cents = (amount: unknown) => Math.round(Number(amount) * 100);

function describeNodes(name: string, open: () => Promise<Nodes>): void {
  describe(name, () => {
    let opened: Nodes;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(async () => {
      expect(await opened.close()).toEqual([]);
    });
    const { nodeOf, redeem, show, makeAccounts, makeBatch } = requestsTo(() => opened.nodes);

    test('one of a thousand requests for a code at once is credited', async () => {
      const accounts = await makeAccounts(10);
      const { codes, id } = await makeBatch({});
      const results = await Promise.all(
        Array.from({ length: 1_000 }, (_, at) => redeem(at, accounts[at % 7] as Json, codes[0])),
      );
      expect(results.filter(({ body }) => body['repeated'] === false)).toHaveLength(1);
      // A busy machine may refuse some as overloaded.
      const statuses = new Set(results.map(({ status }) => status).filter((status) => status !== 529));
      expect([...statuses].sort()).toEqual([200, 409]);
      let credited = 0;
      for (const account of accounts) credited += cents((await show(`/api/v1/accounts/${account['id']}`))['balance']);
      expect([credited, (await show(`/api/v1/code-batches/${id}`))['redeemed']]).toEqual([100, 1]);
    });

    test('the credits of random redemptions are the codes that were redeemed', async () => {
      const seed = Math.floor(Math.random() * 2 ** 31);
      console.log(`seed ${seed}`);
      const random = makeRandom(seed);
      const pick = <Value>(of: readonly Value[]) => of[Math.floor(random() * of.length)] as Value;
      const accounts = await makeAccounts(4);
      const batches = [
        await makeBatch({ count: 20, amount: '0.03' }),
        await makeBatch({ count: 20, amount: '0.50', once_per_account: true }),
        await makeBatch({ count: 20, amount: '7.00', kind: 'payment' }),
      ];
      for (let round = 0; round < 10; round++) {
        const requests = Array.from({ length: 30 }, async (_, at) => {
          if (random() < 0.05) {
            const status = pick(['enabled', 'disabled']);
            await nodeOf(at).ask('PATCH', `/api/v1/code-batches/${batches[2]?.['id']}`, { status });
          }
          const { status } = await redeem(at, pick(accounts), pick(pick(batches).codes));
          expect([200, 409]).toContain(status);
        });
        await Promise.all(requests);
      }
      const worth = new Map<unknown, number>(accounts.map(({ id }) => [id, 0]));
      for (const { id, amount } of batches) {
        const { data } = await show(`/api/v1/code-batches/${id}/codes?limit=${bounds.pageItemsMax}`);
        const redeemed = (data as Json[]).filter(({ account }) => account !== null);
        expect((await show(`/api/v1/code-batches/${id}`))['redeemed']).toBe(redeemed.length);
        for (const { account } of redeemed) worth.set(account, (worth.get(account) ?? 0) + cents(amount));
      }
      for (const { id } of accounts) {
        const { data } = await show(`/api/v1/accounts/${id}/entries?limit=${bounds.pageItemsMax}`);
        const references = (data as Json[]).map(({ reference }) => reference);
        expect(new Set(references).size).toBe(references.length);
        expect([id, cents((await show(`/api/v1/accounts/${id}`))['balance'])]).toEqual([id, worth.get(id) as number]);
      }
      const once = await show(`/api/v1/code-batches/${batches[1]?.['id']}`);
      expect(Number(once['redeemed'])).toBeLessThanOrEqual(accounts.length);
    });
  });
}

describeNodes('one node on SQLite', openOne);
describe.skipIf(cannotStartPostgres)('PostgreSQL', () => describeNodes('three nodes', openThree));
