// A disk that is full, read-only or failing while streams run: no message is admitted, streams end as docs/ledger.md
// says, and everything is billed once after recovery.

import { describe, expect, test } from 'bun:test';
import { cannotFault, type Fault, type Faulty, startOnDisk, until } from './faulty-disk.ts';
import { expectBooks, isSettled, type Provider, type Seen, type Sent, sell, send, startProvider } from './witnesses.ts';

const FAULTS: [Fault, RegExp][] = [
  ['full', /"cause":"[^"]*SQLiteError: database or disk is full/],
  ['read-only', /"cause":"[^"]*SQLiteError: (disk I\/O error|attempt to write a readonly database)/],
  ['write-fails', /"cause":"[^"]*SQLiteError: disk I\/O error/],
  ['sync-fails', /"cause":"[^"]*SQLiteError: disk I\/O error/],
  ['sync-loses', /"cause":"[^"]*SQLiteError: disk I\/O error/],
];

/** Streams whose first events have arrived. */
async function beginStreams(turnpike: Faulty, secret: string, count: number): Promise<Sent[]> {
  const streams = Array.from({ length: count }, () => send(turnpike, secret, true, 4_096)); // their holds cover the fault
  for (const { seen } of streams) await until('a stream begins', () => seen.events.length > 3);
  return streams;
}

/** Messages before a write of the ledger fails are admitted in memory. Those are left. */
async function sendUntilRefused(turnpike: Faulty, secret: string): Promise<Seen[]> {
  const all: Seen[] = [];
  await until('a message is refused', async () => {
    const { seen, done, leave } = send(turnpike, secret, true);
    await until('an answer begins', () => seen.status !== 0);
    if (seen.status === 200) leave();
    all.push(await done);
    return seen.end === 'refused';
  });
  return all;
}

async function isFailing(turnpike: Faulty): Promise<boolean> {
  return (await (await turnpike.scrape()).text()).includes('\nturnpike_store_available 0\n');
}

/** While the disk fails, messages get a retryable refusal, streams continue, and health checks report it. */
async function expectRefusing(turnpike: Faulty, secret: string, running: readonly Sent[]): Promise<Seen[]> {
  const refused = await Promise.all([false, true, true, false].map((stream) => send(turnpike, secret, stream).done));
  for (const seen of refused) expect(seen).toMatchObject({ status: 503, end: 'refused', code: 'store_unavailable' });
  const counts = running.map(({ seen }) => seen.events.length);
  for (const [at, { seen }] of running.entries())
    await until('a stream goes on', () => seen.events.length > (counts[at] as number) + 5);
  const answer = await turnpike.post(secret, {
    model: 'slow',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'x' }],
  });
  expect(answer.headers.get('x-should-retry')).toBeNull();
  expect((await fetch(`${turnpike.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${turnpike.url}/healthz`)).status).toBe(200);
  expect((await fetch(`${turnpike.url}/v1/models`, { headers: { 'x-api-key': secret } })).status).toBe(200);
  expect(await isFailing(turnpike)).toBe(true);
  expect((await turnpike.admin('GET', '/usage?limit=5'))['data']).toBeArray();
  return refused;
}

/** The disk recovers in time: each ending has waited with pings, and succeeds. */
async function endInTime(turnpike: Faulty, provider: Provider, running: readonly Sent[]): Promise<Seen[]> {
  provider.finish();
  for (const { seen } of running) await until('an end waits', () => seen.events.at(-1) === 'ping');
  turnpike.disk.set('none');
  const ended = await Promise.all(running.map(({ done }) => done));
  for (const seen of ended)
    expect(seen.events.filter((name) => name !== 'ping').slice(-2)).toEqual(['message_delta', 'message_stop']);
  return ended;
}

/** The disk recovers too late: each ending is an error, since its bill is not known to be written. */
async function endTooLate(turnpike: Faulty, provider: Provider, running: readonly Sent[]): Promise<Seen[]> {
  provider.finish();
  const ended = await Promise.all(running.map(({ done }) => done));
  for (const seen of ended) {
    expect(seen).toMatchObject({ status: 200, end: 'error', code: 'store_unavailable' });
    expect(seen.events).not.toContain('message_stop');
    expect(seen.events.filter((name) => name !== 'ping').slice(-2)).toEqual(['message_delta', 'error']);
  }
  expect(await isSettled(turnpike)).toBe(false);
  turnpike.disk.set('none');
  return ended;
}

describe.skipIf(cannotFault)('a disk that fails', () => {
  for (const [fault, cause] of FAULTS) {
    test.concurrent(`(${fault}) refuses messages, lets streams run, and each is billed once when it recovers, in time or not`, async () => {
      await using provider = await startProvider();
      await using turnpike = await startOnDisk();
      await sell(turnpike, provider);
      const { account, secret } = await turnpike.makeKey();
      const all: Seen[] = [];
      for (const [waitSeconds, end] of [
        [30, endInTime],
        [1, endTooLate],
      ] as const) {
        await turnpike.admin('POST', '/apply', { document: { settings: { settle_wait_seconds: waitSeconds } } });
        provider.goOn();
        const running = await beginStreams(turnpike, secret, 3);
        turnpike.disk.set(fault);
        all.push(...(await sendUntilRefused(turnpike, secret)));
        all.push(...(await expectRefusing(turnpike, secret, running)));
        all.push(...(await end(turnpike, provider, running)));
        await until('all is settled', () => isSettled(turnpike));
        await until('the service is ready', async () => (await fetch(`${turnpike.url}/readyz`)).status === 200);
      }
      expect(turnpike.disk.given).toBeGreaterThan(0);
      all.push(await send(turnpike, secret, true).done, await send(turnpike, secret, false).done);
      expect(all.filter(({ end }) => end === 'whole').length).toBe(5);
      await expectBooks(turnpike, provider, account, all);
      const changes = () => turnpike.log().match(/store_(?:failed|resumed)/g) ?? [];
      await until('the log has it', () => changes().length >= 4);
      expect(changes().slice(0, 2)).toEqual(['store_failed', 'store_resumed']);
      expect(turnpike.log()).toMatch(cause);
    });
  }
});
