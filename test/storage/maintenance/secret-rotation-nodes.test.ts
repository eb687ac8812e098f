// Rotation of the secret on several nodes over one PostgreSQL: they restart one after the other while they serve. No
// client is refused by any node, and afterwards the former secret is no longer needed.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SecretStatus } from '../../../src/commands/commands.ts';
import { readConfig } from '../../../src/config/config.ts';
import { checkStore } from '../../../src/maintenance/maintenance.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { cannotStartPostgres, sharedPostgres, type TestDatabase } from '../../support/start-postgres.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';

const [OLD, NEW] = [1, 2].map((fill) => Buffer.alloc(32, fill).toString('base64')) as [string, string];
const STEPS = {
  before: { TURNPIKE_SECRET: OLD },
  accepting: { TURNPIKE_SECRET: OLD, TURNPIKE_PREVIOUS_SECRET: NEW },
  changing: { TURNPIKE_SECRET: NEW, TURNPIKE_PREVIOUS_SECRET: OLD },
  after: { TURNPIKE_SECRET: NEW },
};
const hello = { model: 'remote', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] };
const KEYS = 12;

type Environment = Record<string, string>;

describe.skipIf(cannotStartPostgres)('the secret of nodes on one database', () => {
  let directory: string;
  let upstream: ScriptedUpstream;
  let database: TestDatabase;
  const started: TurnpikeProcess[] = [];

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'turnpike-rotation-nodes-'));
    upstream = await startScriptedUpstream(scripts.good());
    database = await (await sharedPostgres()).newDatabase();
  });
  afterEach(async () => {
    for (const node of started.splice(0)) await node.stop();
    await upstream.close();
    await database[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  async function start(name: string, environment: Environment): Promise<TurnpikeProcess> {
    const variables = { ...environment, TURNPIKE_DATABASE_URL: database.url };
    const node = await spawnTurnpike(join(directory, name), variables);
    started.push(node);
    return node;
  }

  async function secretStatus(environment: Environment): Promise<SecretStatus> {
    const variables = { ...environment, TURNPIKE_DATABASE_URL: database.url };
    return JSON.parse((await runTurnpike(['secret', 'status', '--json'], variables)).out);
  }

  async function furnish(node: TurnpikeProcess): Promise<{ secrets: string[]; token: string }> {
    await node.admin('POST', '/apply', { document: sold('sk-provider-first') });
    const secrets: string[] = [];
    const { id } = await node.admin('POST', '/accounts', { name: 'caller', credit: '100.00' });
    for (let key = 0; key < KEYS; key++)
      secrets.push((await node.admin('POST', '/keys', { account: id, name: `key ${key}` }))['key'] as string);
    return { secrets, token: (await node.admin('POST', '/tokens', { role: 'operator' }))['token'] as string };
  }

  const sold = (apiKey: string) => ({
    providers: { remote: { kind: 'anthropic', base_url: upstream.url, api_key: apiKey, private_network: true } },
    models: { remote: { price: { input: '1', output: '5' }, routes: [{ provider: 'remote' }] } },
  });

  async function statusOf(node: TurnpikeProcess, secret: string): Promise<number> {
    const answer = await node.post(secret, hello);
    await answer.text();
    return answer.status;
  }

  async function tokenStatus(node: TurnpikeProcess, token: string): Promise<number> {
    return (await fetch(`${node.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status;
  }

  /**
   * Sends requests to any running node with any of the keys, as clients behind a load balancer do, until it is
   * stopped.
   */
  function callEverywhere(nodes: ReadonlyMap<string, TurnpikeProcess>, secrets: readonly string[], token: string) {
    const refused: string[] = [];
    const callsOf = new Map<TurnpikeProcess, Set<Promise<void>>>();
    let served = 0;
    let isOver = false;
    const call = async (node: TurnpikeProcess, turn: number) => {
      const status = await statusOf(node, secrets[(turn * 5) % secrets.length] as string);
      const seen = turn % 7 === 0 ? await tokenStatus(node, token) : 200;
      if (status === 200 && seen === 200) served++;
      else refused.push(`${status} ${seen}`);
    };
    const callers = Array.from({ length: 4 }, async (_, caller) => {
      for (let turn = caller; !isOver; turn++) {
        const node = [...nodes.values()][turn % nodes.size] as TurnpikeProcess;
        const running = callsOf.get(node) ?? new Set();
        callsOf.set(node, running);
        const called = call(node, turn).finally(() => running.delete(called));
        running.add(called);
        await called;
      }
    });
    /** Waits for the calls that are running at a node. */
    const callsEnded = async (node: TurnpikeProcess) => void (await Promise.allSettled(callsOf.get(node) ?? []));
    const end = async () => {
      isOver = true;
      await Promise.all(callers);
    };
    return { refused, served: () => served, callsEnded, end };
  }

  async function until(isSo: () => Promise<boolean>): Promise<void> {
    for (let looks = 0; looks < 100; looks++) {
      if (await isSo()) return;
      await Bun.sleep(50);
    }
    throw new Error('it did not become so');
  }

  test('is replaced in three restarts of each, without refusing a client, and the former one is no longer needed', async () => {
    const nodes = new Map<string, TurnpikeProcess>();
    for (const name of ['one', 'other']) nodes.set(name, await start(name, STEPS.before));
    const { secrets, token } = await furnish(nodes.get('one') as TurnpikeProcess);
    await until(async () => (await statusOf(nodes.get('other') as TurnpikeProcess, secrets[0] as string)) === 200);
    const load = callEverywhere(nodes, secrets, token);
    /** Gets no new calls before it stops, and gets them again when it listens. Calls in progress finish. */
    const restart = async (name: string, environment: Environment) => {
      const node = nodes.get(name) as TurnpikeProcess;
      nodes.delete(name);
      await load.callsEnded(node);
      await node.stop();
      nodes.set(name, await start(name, environment));
    };
    const node = (name: string) => nodes.get(name) as TurnpikeProcess;
    const askEach = async (names: string[]) => {
      for (const secret of secrets)
        for (const name of names) expect([name, await statusOf(node(name), secret)]).toEqual([name, 200]);
    };
    try {
      for (const name of ['one', 'other']) await restart(name, STEPS.accepting);
      expect(await secretStatus(STEPS.accepting)).toMatchObject({ state: 'in_force' });

      await restart('one', STEPS.changing);
      expect(await secretStatus(STEPS.changing)).toMatchObject({ state: 'in_force' });
      // Nodes that were not restarted yet still use the former secret.
      await node('other').admin('POST', '/apply', { document: sold('sk-provider-second') });
      secrets.push((await node('other').makeKey()).secret);
      secrets.push((await node('one').makeKey()).secret);
      expect(await secretStatus(STEPS.changing)).toMatchObject({ credentials_on_previous: 1 });
      await askEach(['one', 'other', 'one']);
      // A page cursor of one node works at the other.
      const page = await node('other').admin('GET', '/keys?limit=2');
      const next = await node('one').admin('GET', `/keys?limit=2&cursor=${page['next_cursor']}`);
      expect(next['data']).toHaveLength(2);
      // Any start with both secrets reseals what is still under the former one.
      await restart('one', STEPS.changing);
      expect(await secretStatus(STEPS.changing)).toMatchObject({ state: 'in_force', credentials_on_previous: 0 });
      // One node fails and returns with the former settings: it reseals everything again, and no client is affected.
      await restart('other', STEPS.accepting);
      expect(await secretStatus(STEPS.changing)).toMatchObject({ state: 'at_next_start' });
      await askEach(['one', 'other']);

      await restart('other', STEPS.changing);
      expect(await secretStatus(STEPS.changing)).toMatchObject({ state: 'in_force', credentials_on_previous: 0 });
      await askEach(['one', 'other']);

      for (const name of ['one', 'other']) await restart(name, STEPS.after);
      await askEach(['one', 'other']);
      expect(upstream.requests.at(-1)?.headers['x-api-key']).toBe('sk-provider-second');
      expect(await tokenStatus(node('other'), token)).toBe(200);
    } finally {
      await load.end();
    }
    expect(load.refused).toEqual([]);
    expect(load.served()).toBeGreaterThan(50);
    const variables = { ...STEPS.after, TURNPIKE_DATABASE_URL: database.url };
    expect(await checkStore(readConfig({}, variables))).toMatchObject({ ok: true, faults: [] });
  });

  test('does not affect which keys a node accepts before its restart', async () => {
    const behind = await start('behind', STEPS.before);
    const { secrets, token } = await furnish(behind);
    const ahead = await start('ahead', STEPS.changing);
    secrets.push((await ahead.makeKey()).secret);
    for (const node of [behind, ahead]) {
      for (const secret of secrets) expect(await statusOf(node, secret)).toBe(200);
      expect(await tokenStatus(node, token)).toBe(200);
    }
  });

  test('is not replaced by the command, which prints how to do it', async () => {
    const variables = {
      ...STEPS.before,
      TURNPIKE_DATABASE_URL: database.url.replace('turnpike@', 'turnpike:hunter2@'),
    };
    await (await start('one', STEPS.before)).stop();
    const { exitCode, error } = await runTurnpike(['secret', 'rotate'], variables);
    expect([exitCode, error]).toEqual([1, expect.stringContaining('in three steps')]);
    const forgotten = await runTurnpike(['secret', 'forget-previous', '--json'], variables);
    expect([forgotten.exitCode, JSON.parse(forgotten.out)]).toEqual([0, { forgotten: false }]);
    const away = { ...variables, TURNPIKE_DATABASE_URL: 'postgres://turnpike:hunter2@127.0.0.1:9/shop' };
    const status = await runTurnpike(['secret', 'status'], away);
    expect([status.exitCode, status.error]).toEqual([1, expect.stringContaining('cannot connect to 127.0.0.1:9')]);
    expect(status.error + error).not.toContain('hunter2');
  });
});
