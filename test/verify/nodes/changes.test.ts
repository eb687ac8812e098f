// Changes on one node apply on the others: at once for messages if an API key is concerned, otherwise as soon as the
// others are notified; that delay is printed, and asserted generously.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { costOf } from '../../money/load.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { applyEverywhere, type Nodes, type ServiceNode, startNodes } from './start-nodes.ts';

const HEARD_MS_MAX = 10_000; // on a machine that has other things to do; by itself it is a quarter of a second
const lorem = { model: 'sandbox-lorem', max_tokens: 4, messages: [{ role: 'user', content: 'go' }] };

describe.skipIf(cannotStartPostgres)('over three nodes', () => {
  let nodes: Nodes;
  let first: ServiceNode;
  let others: readonly ServiceNode[];
  beforeAll(async () => {
    nodes = await startNodes(3);
    [first, ...others] = nodes.all as [ServiceNode, ...ServiceNode[]];
  });
  afterAll(async () => {
    expect(await nodes.check()).toMatchObject({ ok: true, open_holds: 0 });
    await nodes[Symbol.asyncDispose]();
  });

  async function answerOf({ service }: ServiceNode, secret: string, body: object = lorem): Promise<string> {
    const response = await service.post(secret, body);
    const answer = (await response.json()) as { error?: { code: string } };
    return response.status === 200 ? '200' : `${response.status} ${answer.error?.code}`;
  }

  const answersOf = (among: readonly ServiceNode[], secret: string, body?: object) =>
    Promise.all(among.map((node) => answerOf(node, secret, body)));

  /** How long it took until it was so at both other nodes. */
  async function until(what: string, isSo: (node: ServiceNode) => Promise<boolean>): Promise<void> {
    const startedMs = performance.now();
    await Promise.all(
      others.map(async (node) => {
        while (!(await isSo(node))) {
          if (performance.now() - startedMs > HEARD_MS_MAX) throw new Error(`${what}: not within ${HEARD_MS_MAX} ms`);
          await Bun.sleep(5);
        }
      }),
    );
    console.log(`${what}: ${Math.round(performance.now() - startedMs)} ms`);
  }

  test('a key created at one node works at all of them at once', async () => {
    for (let round = 0; round < 10; round++) {
      const { secret } = await first.service.makeKey();
      expect(await answersOf(others, secret)).toEqual(['200', '200']);
    }
  });

  test('a key disabled at one node is refused by all of them at once, and served again when it is enabled', async () => {
    for (let round = 0; round < 10; round++) {
      const { key, secret } = await first.service.makeKey();
      expect(await answersOf(others, secret)).toEqual(['200', '200']); // and is remembered by now
      await first.service.admin('PATCH', `/keys/${key}`, { status: 'disabled' });
      expect(await answersOf(others, secret)).toEqual(['401 key_disabled', '401 key_disabled']);
      if (round > 0) continue;
      await first.service.admin('PATCH', `/keys/${key}`, { status: 'enabled' });
      await until('enabled', async (node) => (await answerOf(node, secret)) === '200');
    }
  });

  test('a key revoked with --now has no running message at any node', async () => {
    const { key, secret } = await first.service.makeKey();
    const streams = await Promise.all(
      nodes.all.map(({ service }) => service.post(secret, { ...lorem, max_tokens: 50_000, stream: true })),
    );
    const startedMs = performance.now();
    await first.service.admin('POST', `/keys/${key}/revoke`, { now: true });
    expect(await answersOf(nodes.all, secret)).toEqual(Array(3).fill('401 key_disabled'));
    for (const stream of streams) {
      const text = await stream.text();
      expect([stream.status, text.includes('message_stop'), text.includes('event: error')]).toEqual([200, false, true]);
    }
    console.log(`streams of a revoked key ended: ${Math.round(performance.now() - startedMs)} ms`);
  });

  test('a new secret of a key works at all nodes at once, and the former one at none', async () => {
    const { key, secret } = await first.service.makeKey();
    expect(await answersOf(others, secret)).toEqual(['200', '200']);
    const rotated = await first.service.admin('POST', `/keys/${key}/rotate`, { grace: '0s' });
    expect(await answersOf(others, rotated['key'] as string)).toEqual(['200', '200']);
    await until('rotated', async (node) => (await answerOf(node, secret)).startsWith('401 '));
  });

  test.each([
    [
      'a credit',
      { credit: '0.00' },
      {},
      ({ account }: { account: string }) =>
        first.service.admin('POST', `/accounts/${account}/credits`, { amount: '1.00' }),
    ],
    [
      'a higher quota',
      { credit: '1.00' },
      { quota: '0.00' },
      ({ key }: { key: string }) => first.service.admin('PATCH', `/keys/${key}`, { quota: '1.00' }),
    ],
  ])('%s that was given at one node is spent at the others', async (what, account, key, give) => {
    const made = await first.service.makeKey(account, key);
    const refusal = '400 insufficient_user_quota';
    expect(await answersOf(others, made.secret)).toEqual([refusal, refusal]);
    await give(made);
    await until(what, async (node) => (await answerOf(node, made.secret)) === '200');
  });

  test('a price and a model changed at one node apply at all nodes', async () => {
    const { account, secret } = await first.service.makeKey();
    const priced = (input: string) => ({
      models: { dear: { price: { input, output: '5' }, routes: [{ provider: 'sandbox', model: 'sandbox-lorem' }] } },
    });
    await applyEverywhere(nodes, priced('1'));
    const asked = { ...lorem, model: 'dear' };
    expect(await answersOf(nodes.all, secret, asked)).toEqual(['200', '200', '200']);
    await first.service.admin('POST', '/apply', { document: priced('1000') });
    const before = costOf(1, 4);
    await until('a price', async ({ service }) => {
      const response = await service.post(secret, asked);
      await response.json();
      const record = await service.admin('GET', `/usage/${response.headers.get('request-id')}`);
      return Number(record['cost']) * 1e9 > before * 2;
    });
    expect((await first.service.admin('GET', `/accounts/${account}`))['held']).toBe('0');
  });
});
