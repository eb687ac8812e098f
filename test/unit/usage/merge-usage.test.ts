// Evidence only rises: what a provider has counted once is billed, whatever it says later.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { MessageCounter, NOTHING_COUNTED } from '../../../src/usage/usage.ts';
import { type JsonObject, makeEvent } from '../../../src/wire/wire.ts';

const LIMITS = { held: { inputTokens: 9_000, outputTokens: 9_000, webSearches: 0 }, outputTokensMax: 10_000 };

function bill(...usages: JsonObject[]) {
  const counter = new MessageCounter();
  const [first = {}, ...later] = usages;
  counter.observe(makeEvent({ type: 'message_start', message: { content: [], usage: first } }));
  for (const usage of later)
    counter.observe(makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }));
  counter.observe(makeEvent({ type: 'message_stop' }));
  return counter.bill('answered', LIMITS, false, NOTHING_COUNTED);
}

test('a prompt whose count falls to zero at the end is billed as first counted', () => {
  const { counts, contradicted } = bill(
    { input_tokens: 2_000, output_tokens: 1 },
    { input_tokens: 0, output_tokens: 40 },
  );
  expect(counts).toMatchObject({ input: 2_000, output: 40 });
  expect(contradicted).toEqual(['input_tokens']);
});

test('output whose count falls is billed as counted before', () => {
  const { counts, contradicted } = bill(
    { input_tokens: 5, output_tokens: 1 },
    { output_tokens: 500 },
    { output_tokens: 7 },
  );
  expect(counts.output).toBe(500);
  expect(contradicted).toEqual(['output_tokens']);
});

test('cache reads that a provider reports late lower the uncached part of the same prompt', () => {
  const { counts, contradicted } = bill(
    { input_tokens: 2_000 },
    { input_tokens: 100, cache_read_input_tokens: 1_900, output_tokens: 1 },
  );
  expect(counts).toMatchObject({ input: 100, cacheRead: 1_900 });
  expect(contradicted).toEqual([]);
});

test('cache writes do not become cheaper tokens later', () => {
  const { counts } = bill(
    { input_tokens: 0, cache_creation_input_tokens: 2_000 },
    { input_tokens: 2_000, cache_creation_input_tokens: 0, output_tokens: 1 },
  );
  expect(counts).toMatchObject({ input: 0, cacheWrite5m: 2_000 });
});

const count = fc.option(fc.nat(3_000), { nil: undefined });
const usage = fc
  .record({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
  })
  .map(
    (members) => Object.fromEntries(Object.entries(members).filter(([, tokens]) => tokens !== undefined)) as JsonObject,
  );

test('in any order of counts, the sum of the prompt, its cache writes and the output are at least each one reported', () => {
  const numberOf = (counts: JsonObject, name: string) => (counts[name] as number | undefined) ?? 0;
  fc.assert(
    fc.property(fc.array(usage, { minLength: 1, maxLength: 6 }), (usages) => {
      const { counts } = bill(...usages, { output_tokens: 0 });
      const prompt = counts.input + counts.cacheRead + counts.cacheWrite5m + counts.cacheWrite1h;
      for (const reported of usages) {
        const sum =
          numberOf(reported, 'input_tokens') +
          numberOf(reported, 'cache_read_input_tokens') +
          numberOf(reported, 'cache_creation_input_tokens');
        expect(prompt).toBeGreaterThanOrEqual(sum);
        expect(counts.cacheWrite5m).toBeGreaterThanOrEqual(numberOf(reported, 'cache_creation_input_tokens'));
        expect(counts.output).toBeGreaterThanOrEqual(numberOf(reported, 'output_tokens'));
      }
    }),
  );
});
