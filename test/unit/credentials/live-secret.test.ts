// Credentials that are read again: ahead of expiry, after failures and refusals, by a clock that the test moves.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { LiveSecret, type Loaded } from '../../../src/credentials/live-secret.ts';

const MINUTE_MS = 60_000;

/** A source whose readings the test answers one by one. */
function makeWorld() {
  let nowMs = 1_000_000;
  let timers: { atMs: number; call: () => void }[] = [];
  const readings: { isFresh: boolean; answer: PromiseWithResolvers<Loaded> }[] = [];
  const states: (string | null)[] = [];
  const stopped = new AbortController();
  const secret = new LiveSecret({
    load(_signal, isFresh) {
      const answer = Promise.withResolvers<Loaded>();
      readings.push({ isFresh, answer });
      return answer.promise;
    },
    timer: {
      nowMs: () => nowMs,
      after(ms, call) {
        const timer = { atMs: nowMs + ms, call };
        timers.push(timer);
        return () => {
          timers = timers.filter((one) => one !== timer);
        };
      },
    },
    stopped: stopped.signal,
    onState: (failure) => states.push(failure),
  });
  const settle = () => Bun.sleep(0);
  return {
    secret,
    readings,
    states,
    stopped,
    nowMs: () => nowMs,
    timersLeft: () => timers.length,
    /** Moves the clock and runs what is due. */
    async advance(ms: number) {
      nowMs += ms;
      const due = timers.filter((timer) => timer.atMs <= nowMs);
      timers = timers.filter((timer) => timer.atMs > nowMs);
      for (const { call } of due) call();
      await settle();
    },
    async answer(
      text: string,
      { livesMs = null as number | null, ...more }: Partial<Loaded> & { livesMs?: number | null } = {},
    ) {
      const expiresAtMs = livesMs === null ? null : nowMs + livesMs;
      readings.at(-1)?.answer.resolve({ text, use: 'key', expiresAtMs, rereadMs: null, ...more });
      await settle();
    },
    async fail(message: string) {
      readings.at(-1)?.answer.reject(new Error(message));
      await settle();
    },
  };
}

describe('a credential that expires', () => {
  test('is read before its first use, which waits', async () => {
    const { secret, answer, readings } = makeWorld();
    const waiting = secret.ready();
    expect(waiting).not.toBeNull();
    await answer('first');
    await waiting;
    expect([secret.ready(), secret.reveal(), readings.length]).toEqual([null, 'first', 1]);
  });

  test('is replaced ahead of expiry, and no message waits meanwhile', async () => {
    const { secret, answer, advance, readings } = makeWorld();
    await answer('first', { livesMs: 60 * MINUTE_MS });
    await advance(60 * MINUTE_MS - bounds.credentialAheadMs - 1);
    expect(readings).toHaveLength(1);
    await advance(1);
    expect(readings).toHaveLength(2);
    expect([secret.ready(), secret.reveal()]).toEqual([null, 'first']);
    await answer('second', { livesMs: 60 * MINUTE_MS });
    expect([secret.ready(), secret.reveal()]).toEqual([null, 'second']);
  });

  test('stays in use while its source fails, until it expires', async () => {
    const { secret, answer, fail, advance, states } = makeWorld();
    await answer('first', { livesMs: 10 * MINUTE_MS });
    await advance(5 * MINUTE_MS);
    await fail('the source is unavailable');
    expect([secret.ready(), secret.reveal()]).toEqual([null, 'first']);
    await advance(bounds.credentialReloadMsLeast);
    await fail('the source is unavailable');
    expect(states).toEqual(['the source is unavailable']);
    await advance(5 * MINUTE_MS);
    await fail('the source is unavailable');
    await expect(secret.ready() as Promise<void>).rejects.toThrow('the source is unavailable');
    await advance(bounds.credentialRetryMsMax);
    await answer('second', { livesMs: 10 * MINUTE_MS });
    expect([secret.ready(), secret.reveal()]).toEqual([null, 'second']);
    expect(states).toEqual(['the source is unavailable', null]);
  });

  test('is not asked for by every message while its source fails', async () => {
    const { secret, fail, advance, readings } = makeWorld();
    await fail('the source is unavailable');
    for (let message = 0; message < 3; message++) await expect(secret.ready() as Promise<void>).rejects.toThrow();
    expect(readings).toHaveLength(1);
    await advance(bounds.credentialReloadMsLeast);
    expect(readings).toHaveLength(2);
  });

  test('that has expired on arrival, by this clock, is not read again at once, and the provider decides', async () => {
    const { secret, answer, advance, readings } = makeWorld();
    await answer('late', { livesMs: -MINUTE_MS });
    expect([secret.ready(), secret.reveal()]).toEqual([null, 'late']);
    await advance(bounds.credentialReloadMsLeast - 1);
    expect(readings).toHaveLength(1);
  });

  test('that lives longer than a timer can wait is read again within a day', async () => {
    const { answer, advance, readings } = makeWorld();
    await answer('long', { livesMs: 365 * 24 * 60 * MINUTE_MS });
    await advance(MINUTE_MS);
    expect(readings).toHaveLength(1);
    await advance(bounds.credentialWaitMsMax);
    expect(readings).toHaveLength(2);
  });
});

describe('a credential that a provider refuses', () => {
  test('is read again at once, but at most every few seconds', async () => {
    const { secret, answer, advance, readings } = makeWorld();
    await answer('first');
    secret.onRefused();
    expect(readings).toHaveLength(1);
    await advance(bounds.credentialReloadMsLeast);
    secret.onRefused();
    secret.onRefused();
    expect(readings.map((reading) => reading.isFresh)).toEqual([false, true]);
    await answer('second');
    secret.onRefused();
    expect([secret.reveal(), readings.length]).toEqual(['second', 2]);
  });
});

describe('a credential', () => {
  test('hides its present text and the one before, which messages may still use', async () => {
    const { secret, answer, advance } = makeWorld();
    await answer('first', { rereadMs: MINUTE_MS, parts: ['first', 'input'] });
    const parts = secret.parts();
    await advance(MINUTE_MS);
    await answer('first', { rereadMs: MINUTE_MS, parts: ['first', 'input'] });
    expect(secret.parts()).toBe(parts);
    await advance(MINUTE_MS);
    await answer('second', { rereadMs: MINUTE_MS });
    expect(secret.parts()).toEqual(['second', 'first', 'input']);
  });

  test('is another one once its key is another, but not once its token is refreshed', async () => {
    const { secret, answer, advance } = makeWorld();
    expect(() => secret.identity()).not.toThrow();
    await answer('token', { use: 'bearer', livesMs: 10 * MINUTE_MS });
    const identity = secret.identity();
    await advance(5 * MINUTE_MS);
    await answer('token of later', { use: 'bearer', livesMs: 10 * MINUTE_MS });
    expect(secret.identity()).toBe(identity);
    await advance(5 * MINUTE_MS);
    await answer('key');
    expect(secret.identity()).toBe('key');
  });

  test('that is no longer configured has no timer, and can still be read by messages that have it', async () => {
    const { secret, answer, timersLeft, advance } = makeWorld();
    await answer('first', { livesMs: 10 * MINUTE_MS });
    expect(timersLeft()).toBe(1);
    secret.close();
    expect(timersLeft()).toBe(0);
    await advance(10 * MINUTE_MS);
    const waiting = secret.ready();
    await answer('second', { livesMs: 10 * MINUTE_MS });
    await waiting;
    expect([secret.reveal(), timersLeft()]).toEqual(['second', 0]);
  });

  test('of a source that never answers fails when the service stops, without a report', async () => {
    const { secret, stopped, states } = makeWorld();
    const waiting = secret.ready() as Promise<void>;
    stopped.abort();
    await expect(waiting).rejects.toThrow('there was no answer');
    expect(states).toEqual([]);
  });
});
