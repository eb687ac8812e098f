// Counts of many accounts at once: turns, shares, time limits.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import type { CountedSlice } from '../../../src/tokenizer/slices.ts';
import { type EndedCount, Tokenizer } from '../../../src/tokenizer/tokenizer.ts';

const SLICE = 'x'.repeat(bounds.tokenizerSliceCharactersMax);

/** A tokenizer whose slices are counted by hand, and whose time passes by hand. */
function openByHand() {
  const asked: { slice: CountedSlice; answer: (tokens: number) => void; fail: (failure: Error) => void }[] = [];
  const ended: EndedCount['result'][] = [];
  const waits = new Set<() => void>();
  const timers = {
    after(_ms: number, callback: () => void) {
      waits.add(callback);
      return () => waits.delete(callback);
    },
    every: () => () => {},
    soon: () => {},
  };
  const slices = {
    count(slice: CountedSlice) {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      asked.push({ slice, answer: resolve, fail: reject });
      return promise;
    },
    close() {},
  };
  const tokenizer = new Tokenizer(slices, ({ result }) => ended.push(result), timers);
  const count = (account: number, ...texts: string[]) => tokenizer.count({ account, model: 'gpt-5', texts });
  /** Answers each slice with one token, until no count waits; returns the texts in order. */
  const answerAll = async () => {
    const order: string[] = [];
    for (;;) {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      const next = asked.shift();
      if (next === undefined) return order;
      order.push(next.slice.texts[0]?.[0] ?? '');
      next.answer(1);
    }
  };
  const passTime = () => {
    for (const callback of waits) callback();
  };
  return { tokenizer, count, asked, ended, waits, answerAll, passTime };
}

describe('accounts', () => {
  test('take turns by slices, whatever one of them asks for', async () => {
    const byHand = openByHand();
    const long = ['a', 'b', 'c'].map((letter) => byHand.count(1, letter.repeat(20 * SLICE.length)));
    const short = byHand.count(2, `z${SLICE}`.slice(1), 'y');
    const order = await byHand.answerAll();
    expect(await Promise.all([...long, short])).toEqual([20, 20, 20, 2]);
    expect(order.indexOf('x')).toBeLessThanOrEqual(2);
    expect(order.indexOf('y')).toBeLessThanOrEqual(4);
  });

  test('beyond a fair share of counts are refused, and others are not', async () => {
    const byHand = openByHand();
    const many = Array.from({ length: bounds.tokenizerCountsMax + 1 }, () => byHand.count(1, 'a'));
    const other = byHand.count(2, 'b');
    await byHand.answerAll();
    const answered = (await Promise.all(many)).filter((tokens) => tokens !== null).length;
    expect([answered >= bounds.tokenizerCountsMax / 2, answered < many.length, await other]).toEqual([true, true, 1]);
    expect(byHand.ended.filter((result) => result === 'refused')).toHaveLength(many.length - answered);
  });

  test('beyond a fair share of text are refused, others are not, and all have room again at the end', async () => {
    const byHand = openByHand();
    const third = 'a'.repeat(bounds.tokenizerCharactersMax / 3);
    const counts = [byHand.count(1, third), byHand.count(1, third), byHand.count(2, third)];
    expect(await counts[1]).toBe(null);
    await byHand.answerAll();
    expect(await counts[2]).toBeGreaterThan(0);
    for (let round = 0; round < 3; round++) {
      const again = byHand.count(1, third);
      await byHand.answerAll();
      expect(await again).toBeGreaterThan(0);
    }
    expect(byHand.waits.size).toBe(0);
  });
});

describe('a count', () => {
  test('that takes too long is null, and asks for no more slices', async () => {
    const byHand = openByHand();
    const late = byHand.count(1, 'a'.repeat(3 * SLICE.length));
    const waiting = byHand.count(2, 'b');
    await Promise.resolve();
    byHand.passTime();
    expect([await late, await waiting]).toEqual([null, null]);
    expect(byHand.ended).toEqual(['late', 'late']);
    expect(await byHand.answerAll()).toEqual(['a']);
    const next = byHand.count(1, 'c');
    await byHand.answerAll();
    expect(await next).toBe(1);
  });

  test('whose slice fails is null, and the next is counted', async () => {
    const byHand = openByHand();
    const [failing, next] = [byHand.count(1, 'a'), byHand.count(1, 'b')];
    await Promise.resolve();
    byHand.asked.shift()?.fail(new Error('the thread died'));
    await byHand.answerAll();
    expect([await failing, await next]).toEqual([null, 1]);
    expect(byHand.ended).toEqual(['failed', 'counted']);
  });

  test('of no text has only the extra tokens', async () => {
    const { tokenizer } = openByHand();
    expect(await tokenizer.count({ account: 1, model: 'gpt-5', texts: ['', ''], extraTokens: 7 })).toBe(7);
  });
});
