// The leading node of three is killed in the middle of deliveries: another node takes over, every event of a key that was
// acknowledged arrives, always with the same id, and an endpoint that never answers delays nobody else.

import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { SQL } from 'bun';
import { cannotStartPostgres, sharedPostgres } from '../../support/start-postgres.ts';
import { startReceiver } from '../../support/start-receiver.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';

const ACCOUNTS = 3;
const KEYS_PER_ACCOUNT = 20;
const WAIT_MS_MAX = 60_000;

/** Accepts requests and never answers one. */
function startSilentEndpoint() {
  let count = 0;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    fetch: () => {
      count++;
      return new Promise<Response>(() => {});
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/`,
    count: () => count,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

test.skipIf(cannotStartPostgres)(
  'when the leading node of three is killed, another delivers every event with the same id, beside a silent endpoint',
  async () => {
    using receiver = startReceiver();
    using silent = startSilentEndpoint();
    await using database = await (await sharedPostgres()).newDatabase();
    await using sql = new SQL(database.url, { max: 1 });
    const environment = { TURNPIKE_DATABASE_URL: database.url, TURNPIKE_SECRET: randomBytes(32).toString('base64') };
    const leader = async (): Promise<string> => {
      const rows = await sql`SELECT value FROM installation WHERE name = 'jobs_leader'`;
      return String(rows[0]?.value ?? '');
    };
    const until = async (isSo: () => Promise<boolean> | boolean, what: string) => {
      for (const endMs = Date.now() + WAIT_MS_MAX; !(await isSo()); await Bun.sleep(50))
        if (Date.now() > endMs) throw new Error(`${what}: not within ${WAIT_MS_MAX} ms`);
    };
    const nodes: TurnpikeProcess[] = [];
    try {
      const first = await spawnTurnpike(undefined, environment);
      nodes.push(first);
      await until(async () => (await leader()) !== '', 'the first node leads');
      const led = await leader();
      nodes.push(
        ...(await Promise.all([spawnTurnpike(undefined, environment), spawnTurnpike(undefined, environment)])),
      );
      await first.admin('POST', '/apply', { document: { settings: { webhook_private_network: 'everyone' } } });
      const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, async () => (await first.makeKey()).account));
      const add = async (address: string, account: string) => {
        await first.admin('POST', '/destinations', { kind: 'webhook', address, types: ['key.created'], account });
      };
      for (const account of accounts) {
        await add(receiver.url, account);
        await add(silent.url, account);
      }
      const acknowledged: string[] = [];
      const create = async (account: string, node: TurnpikeProcess) => {
        const made = await node.admin('POST', '/keys', { account }).catch(() => null); // the node was killed
        if (made !== null) acknowledged.push(String(made['id']));
      };
      const creating = accounts.flatMap((account) =>
        Array.from({ length: KEYS_PER_ACCOUNT }, (_, at) => create(account, nodes[at % 3] as TurnpikeProcess)),
      );
      await receiver.until((received) => received.length > 5);
      expect(await leader()).toBe(led);
      first.process.kill('SIGKILL');
      const receivedBefore = receiver.received.length;
      await Promise.all(creating);
      await create(accounts[0] as string, nodes[2] as TurnpikeProcess);
      await until(async () => ![led, ''].includes(await leader()), 'another node leads');
      await until(() => {
        const keys = new Set(receiver.received.map(({ data }) => data['key']));
        return acknowledged.every((key) => keys.has(key));
      }, `${acknowledged.length} events arrive`);
      expect(receiver.received.length).toBeGreaterThan(receivedBefore);
      expect(silent.count()).toBeGreaterThan(0);
      const idOf = new Map<unknown, string>();
      for (const { id, data } of receiver.received) {
        expect(idOf.get(data['key']) ?? id).toBe(id);
        idOf.set(data['key'], id);
      }
    } finally {
      for (const node of nodes) node.process.kill('SIGKILL');
      await Promise.all(nodes.map((node) => node.process.exited));
      for (const node of nodes) await node.stop();
    }
  },
  240_000,
);
