// The tokenizer's thread: its start, its end when idle, its death. Where the vocabulary does not matter, a thread that counts words stands in.

import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { bounds } from '../../../src/config/config.ts';
import { workerScript } from '../../../src/threads/threads.ts';
import { type EndedCount, Tokenizer, TokenizerThread, unpackSlice } from '../../../src/tokenizer/tokenizer.ts';
import { packSlice } from '../../../src/tokenizer/tokenizer-thread.ts';

const counting = new URL('./word-worker.ts', import.meta.url);
const missing = new URL('./no-such-file.ts', import.meta.url);
const MODEL = 'gpt-5.1';

function open(script: URL, sliceMsMax?: () => number, idleMs?: number) {
  const deaths: string[] = [];
  const ended: EndedCount[] = [];
  const thread = new TokenizerThread(script, (cause) => deaths.push(cause), sliceMsMax, idleMs);
  const tokenizer = new Tokenizer(thread, (count) => ended.push(count));
  const count = (...texts: string[]) => tokenizer.count({ account: 1, model: MODEL, texts });
  return { thread, tokenizer, deaths, ended, count, [Symbol.dispose]: () => tokenizer.close() };
}

describe('the thread', () => {
  const opened = open(workerScript('tokenizer-worker'));
  afterAll(() => opened.tokenizer.close());

  test('starts with the first count, and counts as the library does', async () => {
    expect(opened.thread.isRunning).toBe(false);
    const texts = ['The answer is good.', '网关验证请求', '<|endoftext|>', 'x'.repeat(100_000)];
    const expected = texts.slice(0, 3).map((text) => countTokens(text, { disallowedSpecial: new Set() }));
    expect(await opened.count(...texts.slice(0, 3))).toBe(expected.reduce((sum, one) => sum + one, 0));
    expect(await opened.count(...texts)).toBeGreaterThan(10_000);
    expect(opened.thread.isRunning).toBe(true);
    expect(opened.ended.map(({ result }) => result)).toEqual(['counted', 'counted']);
  });

  test.skipIf(process.platform !== 'linux')('has a lower priority than the main thread', async () => {
    await opened.count('text');
    const priorities = readdirSync('/proc/self/task').map((task) => {
      const after = readFileSync(`/proc/self/task/${task}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      return Number(after[16]);
    });
    expect(priorities).toContain(5);
  });

  test('ends when it is idle, and starts again', async () => {
    using opened = open(counting, undefined, 20);
    expect(await opened.count('The answer')).toBe(2);
    while (opened.thread.isRunning) await Bun.sleep(5);
    expect(await opened.count('The answer')).toBe(2);
    expect(opened.deaths).toEqual([]);
  });

  test('fails only the count that it dies of', async () => {
    using opened = open(counting);
    expect(await opened.count('The answer')).toBe(2);
    expect(await Promise.all([opened.count('die'), opened.count('The answer')])).toEqual([null, 2]);
    expect(opened.deaths).toHaveLength(1);
    expect(opened.ended.map(({ result }) => result)).toEqual(['counted', 'failed', 'counted']);
  });

  test('is replaced when it hangs', async () => {
    let sliceMsMax: number = bounds.tokenizerSliceMsMax;
    using opened = open(counting, () => sliceMsMax);
    expect(await opened.count('The answer')).toBe(2);
    sliceMsMax = 100;
    const hanging = opened.count('hang');
    await Promise.resolve(); // it is asked
    sliceMsMax = bounds.tokenizerSliceMsMax;
    expect(await Promise.all([hanging, opened.count('The answer')])).toEqual([null, 2]);
    expect(opened.deaths).toEqual(['the thread does not respond']);
  });

  test('that does not start fails its counts, and is not started for each of them', async () => {
    using opened = open(missing);
    expect(await Promise.all([opened.count('a'), opened.count('b'), opened.count('c')])).toEqual([null, null, null]);
    expect(opened.deaths).toHaveLength(1);
  });

  test('gets texts as bytes, and reads the same texts', () => {
    const slice = {
      vocabulary: 'o200k',
      hasSingleDigits: true,
      scripts: { Han: 0.8 },
      texts: ['', 'text', '\ufefftext', '网关😀', '', '\ud83d'],
    } as const;
    const packed = packSlice(slice);
    expect(packed.bytes.byteLength).toBe(4 + 7 + 10 + 3);
    expect(unpackSlice(packed)).toEqual({ ...slice, texts: ['', 'text', '\ufefftext', '网关😀', '', '\ufffd'] });
  });
});

describe('a closed tokenizer', () => {
  test('counts nothing, and ends counts in progress with null', async () => {
    const opened = open(workerScript('tokenizer-worker'));
    const counting = opened.count('text '.repeat(1_000_000));
    opened.tokenizer.close();
    expect([await counting, await opened.count('text')]).toEqual([null, null]);
    expect(opened.thread.isRunning).toBe(false);
    expect(opened.deaths).toEqual([]);
  });
});
