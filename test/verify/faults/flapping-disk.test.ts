// A disk that fails and recovers in every way, at random from a seed, under load: afterwards clients, provider and
// books agree. FAULTS_SEED and FAULTS_SECONDS select another or a longer run.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { makeRandom } from '../../support/random.ts';
import { cannotFault, type Fault, type Faulty, startOnDisk, until } from './faulty-disk.ts';
import { expectBooks, isSettled, type Seen, sell, send, startProvider } from './witnesses.ts';

const SEED = Number(process.env['FAULTS_SEED'] ?? 1);
const SECONDS = Number(process.env['FAULTS_SECONDS'] ?? 5);
const CALLERS = 20;
const FAULTS: Fault[] = ['none', 'none', 'none', 'full', 'read-only', 'write-fails', 'sync-fails', 'sync-loses'];

/** Sends one message after another; aborts a few. */
async function call(turnpike: Faulty, secret: string, random: () => number, all: Seen[], isOver: () => boolean) {
  while (!isOver()) {
    const sent = send(turnpike, secret, random() < 0.7);
    all.push(sent.seen);
    if (random() < 0.1) {
      await Bun.sleep(random() * 50);
      sent.leave();
    }
    await sent.done;
    await Bun.sleep(random() * 10);
  }
}

/**
 * A fault each time, or none, short or longer than an ending waits; sometimes slow fsyncs too. The disk works at the
 * end.
 */
async function flap(turnpike: Faulty, random: () => number, isOver: () => boolean): Promise<void> {
  if (SECONDS * 1_000 > 2 * bounds.leaseMs) {
    turnpike.disk.set('full'); // Longer than the node's lease.
    await Bun.sleep(bounds.leaseMs + 2_000);
  }
  while (!isOver()) {
    turnpike.disk.set(FAULTS[Math.floor(random() * FAULTS.length)] as Fault);
    turnpike.disk.slow(random() < 0.2 ? 50 : 0);
    await Bun.sleep(10 + random() * (random() < 0.1 ? 1_500 : 150));
  }
  turnpike.disk.set('none');
  turnpike.disk.slow(0);
}

describe.skipIf(cannotFault)('a disk that fails again and again', () => {
  test(
    `(seed ${SEED}) loses no answer, bills none twice and leaves no hold`,
    async () => {
      const random = makeRandom(SEED);
      await using provider = await startProvider();
      await using turnpike = await startOnDisk();
      await sell(turnpike, provider, { settle_wait_seconds: 1 });
      const { account, secret } = await turnpike.makeKey();
      const all: Seen[] = [];
      const endMs = performance.now() + SECONDS * 1_000;
      const isOver = () => performance.now() > endMs;
      const calls = Array.from({ length: CALLERS }, () => call(turnpike, secret, random, all, isOver));
      await Promise.all([...calls, flap(turnpike, makeRandom(SEED), isOver)]);
      await until('all is settled', () => isSettled(turnpike));
      const ends = Object.groupBy(all, ({ end }) => end);
      expect(ends.running).toBeUndefined();
      expect(ends.broken).toBeUndefined();
      expect(new Set(all.map(({ code }) => code ?? 'none'))).toEqual(new Set(['none', 'store_unavailable']));
      // The run has tested something.
      expect([ends.whole, ends.refused, ends.left].every((some) => (some?.length ?? 0) > 0)).toBe(true);
      expect(turnpike.disk.given).toBeGreaterThan(0);
      await expectBooks(turnpike, provider, account, all);
    },
    SECONDS * 1_000 + 180_000, // a busy machine takes long to settle
  );
});
