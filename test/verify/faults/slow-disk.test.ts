// A disk with slow fsync: everything still works, only later. Only ends and changes wait for it, and those that arrive
// meanwhile share the next commit.

import { describe, expect, test } from 'bun:test';
import { cannotFault, startOnDisk, until } from './faulty-disk.ts';
import { expectBooks, isSettled, nano, readAll, sell, send, startProvider } from './witnesses.ts';

const CALLERS = 20;

describe.skipIf(cannotFault)('a slow disk', () => {
  test('delays only what must be written: streams flow, and reads are answered', async () => {
    await using provider = await startProvider();
    await using turnpike = await startOnDisk();
    await sell(turnpike, provider);
    const { account, secret } = await turnpike.makeKey();
    provider.goOn();
    const streams = Array.from({ length: 4 }, () => send(turnpike, secret, true));
    for (const { seen } of streams) await until('a stream begins', () => seen.events.length > 3);

    turnpike.disk.hang();
    const waiting = send(turnpike, secret, true);
    await until('a commit hangs', () => turnpike.disk.hanging === 1);
    const { synced } = turnpike.disk;
    const counts = streams.map(({ seen }) => seen.events.length);
    for (const [at, { seen }] of streams.entries())
      await until('a stream goes on', () => seen.events.length > (counts[at] as number) + 10);
    expect((await fetch(`${turnpike.url}/healthz`)).status).toBe(200);
    for (const path of ['models', 'key'])
      expect((await fetch(`${turnpike.url}/v1/${path}`, { headers: { 'x-api-key': secret } })).status).toBe(200);
    expect((await turnpike.admin('GET', '/keys?limit=5'))['data']).toBeArray();
    provider.finish();
    for (const { seen } of streams) await until('an end waits', () => seen.events.at(-1) === 'ping');
    // A message that is sent meanwhile is admitted, and its end waits too.
    await until('its end waits', () => waiting.seen.events.at(-1) === 'ping');
    expect([turnpike.disk.hanging, turnpike.disk.synced, waiting.seen.end]).toEqual([1, synced, 'running']);

    turnpike.disk.slow(0);
    const all = await Promise.all([...streams, waiting].map(({ done }) => done));
    expect(all.map(({ end }) => end)).toEqual(all.map(() => 'whole'));
    await until('all is settled', () => isSettled(turnpike));
    await expectBooks(turnpike, provider, account, all);
  });

  test.concurrent('that hangs delays an ending up to its bound, also of a disconnected client', async () => {
    await using provider = await startProvider();
    await using turnpike = await startOnDisk();
    await sell(turnpike, provider, { settle_wait_seconds: 1 });
    const { account, secret } = await turnpike.makeKey();
    provider.goOn();
    const streams = [send(turnpike, secret, true), send(turnpike, secret, true)];
    for (const { seen } of streams) await until('a stream begins', () => seen.events.length > 3);
    turnpike.disk.hang();
    const leaving = [send(turnpike, secret, true), send(turnpike, secret, false)];
    await until('a commit hangs', () => turnpike.disk.hanging === 1);
    for (const [at, { seen }] of leaving.entries())
      await until(
        'it is sent on',
        () => (at === 0 ? seen.events.length > 3 : provider.upstream.requests.length === 4),
        () => [at, provider.upstream.requests.length, leaving.map((one) => one.seen), turnpike.log().slice(-2_000)],
      );
    for (const { leave } of leaving) leave();
    provider.finish();
    const all = await Promise.all(streams.map(({ done }) => done));
    for (const seen of all) expect(seen).toMatchObject({ status: 200, end: 'error', code: 'store_unavailable' });
    turnpike.disk.slow(0);
    await until('all is settled', () => isSettled(turnpike));
    const left = await Promise.all(leaving.map(({ done }) => done));
    expect(left.map(({ end }) => end)).toEqual(['left', 'left']);
    await expectBooks(turnpike, provider, account, all);
    const records = await readAll(turnpike, `/usage?account=${account}&`);
    expect(records.length).toBe(4);
    for (const { cost } of records) expect(nano(cost)).toBeGreaterThan(0);
  });

  for (const [fsyncMs, rounds] of [
    [300, 2],
    [1_000, 1],
  ] as const) {
    test.concurrent(`(${fsyncMs} ms) fails no message, and groups many into one commit`, async () => {
      await using provider = await startProvider();
      await using turnpike = await startOnDisk();
      await sell(turnpike, provider);
      const { account, secret } = await turnpike.makeKey();
      turnpike.disk.slow(fsyncMs);
      const { synced } = turnpike.disk;
      const all = [];
      for (let round = 0; round < rounds; round++) {
        const sent = Array.from({ length: CALLERS }, (_, at) => send(turnpike, secret, at % 2 === 0));
        all.push(...(await Promise.all(sent.map(({ done }) => done))));
      }
      expect(all.map(({ end }) => end)).toEqual(all.map(() => 'whole'));
      expect(turnpike.disk.synced - synced).toBeLessThan(all.length / 2);
      turnpike.disk.slow(0);
      await expectBooks(turnpike, provider, account, all);
      expect(turnpike.log()).not.toContain('store_failed');
    });
  }
});
