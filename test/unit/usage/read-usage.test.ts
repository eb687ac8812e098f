// A provider's usage is read without trust, and no number in it is dropped silently.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bounds } from '../../../src/config/config.ts';
import { mergeUsage } from '../../../src/usage/merge-usage.ts';
import { type PartialUsage, readUsage } from '../../../src/usage/read-usage.ts';
import type { JsonObject, JsonValue } from '../../../src/wire/wire.ts';

const nothing = {
  input: null,
  output: null,
  cacheRead: null,
  cacheWrite: null,
  cacheWrite5m: null,
  cacheWrite1h: null,
  thinking: null,
  soundInput: null,
  soundOutput: null,
  webSearches: null,
  tier: null,
  compactions: null,
  disbelieved: [],
  unknown: [],
  contradicted: [],
};

test('every count of the protocol is read', () => {
  const usage = {
    input_tokens: 1,
    output_tokens: 2,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 9,
    cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 5 },
    output_tokens_details: { thinking_tokens: 1 },
    server_tool_use: { web_search_requests: 6, web_fetch_requests: 7 },
    service_tier: 'standard',
    inference_geo: null,
    speed: 'fast',
  };
  expect(readUsage(usage)).toEqual({
    ...nothing,
    input: 1,
    output: 2,
    cacheRead: 3,
    cacheWrite: 9,
    cacheWrite5m: 4,
    cacheWrite1h: 5,
    thinking: 1,
    webSearches: 6,
    tier: 'fast',
  });
});

test('absent and null are not zero, and zero is not absent', () => {
  expect(readUsage(undefined)).toEqual(nothing);
  expect(readUsage({ input_tokens: null, cache_creation: null, server_tool_use: null })).toEqual(nothing);
  expect(readUsage({ input_tokens: 0, output_tokens: 0 })).toEqual({ ...nothing, input: 0, output: 0 });
});

test('an impossible count is ignored and reported', () => {
  for (const odd of [-1, 1.5, bounds.usageTokensMax + 1, 1e300, '12', true, {}] as JsonValue[]) {
    expect(readUsage({ output_tokens: odd, input_tokens: 4 })).toEqual({
      ...nothing,
      input: 4,
      disbelieved: ['output_tokens'],
    });
  }
  expect(readUsage({ output_tokens: bounds.usageTokensMax }).output).toBe(bounds.usageTokensMax);
});

test('an unknown number is reported, also when nested', () => {
  const usage = {
    input_tokens: 1,
    video_tokens: 0,
    audio: { tokens: 3, kind: 'a' },
    cache_creation: { ephemeral_9h: 1 },
  };
  expect(readUsage(usage).unknown).toEqual(['video_tokens', 'audio.tokens', 'cache_creation.ephemeral_9h']);
});

test('summaries created by the provider are read separately, and other models are reported', () => {
  const usage = {
    iterations: [
      { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500, cache_creation_input_tokens: 0 },
      { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
      { type: 'advisor_message', input_tokens: 5, output_tokens: 5 },
    ],
  };
  const read = readUsage(usage);
  expect(read.compactions).toMatchObject({ input: 180_000, output: 3_500, cacheWrite: 0, cacheRead: null });
  expect(read.unknown).toEqual(['iterations.advisor_message']);
});

test('summaries are added up, with cache writes of any split', () => {
  const { compactions, disbelieved } = readUsage({
    iterations: [
      { type: 'compaction', input_tokens: 7, cache_creation: { ephemeral_5m_input_tokens: 5 } },
      { type: 'compaction', output_tokens: 2, cache_read_input_tokens: 1, cache_creation_input_tokens: 4 },
      { type: 'compaction', input_tokens: -1 },
    ],
  });
  expect(compactions).toEqual({
    input: 7,
    output: 2,
    cacheRead: 1,
    cacheWrite: 9,
    cacheWrite5m: 5,
    cacheWrite1h: null,
  });
  expect(disbelieved).toEqual(['input_tokens']);
});

test('summaries that no message can have are not billed, and are reported', () => {
  const { usageTokensMax: most, usageIterationsMax } = bounds;
  const many = (count: number, iteration: JsonObject) => ({
    iterations: Array.from({ length: count }, () => ({ type: 'compaction', ...iteration })),
  });
  expect(readUsage(many(2, { input_tokens: most / 2 })).compactions?.input).toBe(most);
  expect(readUsage(many(usageIterationsMax, { output_tokens: 1 })).compactions?.output).toBe(usageIterationsMax);
  const incredible = [
    many(3, { input_tokens: most / 2 }),
    many(2, { input_tokens: most / 2, output_tokens: 1 }),
    many(1, { cache_creation_input_tokens: most, cache_read_input_tokens: 1 }),
    many(usageIterationsMax + 1, { output_tokens: 1 }),
  ];
  for (const usage of incredible) expect(readUsage(usage)).toEqual({ ...nothing, disbelieved: ['iterations'] });
});

test('a prompt whose parts together are larger than any is not billed, in one report or in several', () => {
  const { usageTokensMax: most } = bounds;
  const whole = readUsage({ input_tokens: most, cache_read_input_tokens: 1, output_tokens: 5 });
  expect(whole).toEqual({ ...nothing, output: 5, disbelieved: ['input_tokens'] });
  const parts = [{ cache_creation_input_tokens: most }, { input_tokens: most, output_tokens: 5 }, { input_tokens: 1 }];
  const [first, ...others] = parts.map(readUsage) as [PartialUsage, ...PartialUsage[]];
  const merged = others.reduce(mergeUsage, first);
  expect(merged).toMatchObject({ input: null, cacheWrite: most, output: 5, disbelieved: ['input_tokens'] });
  const compaction = (counts: JsonObject) => readUsage({ iterations: [{ type: 'compaction', ...counts }] });
  const compactions = mergeUsage(
    compaction({ cache_creation_input_tokens: most }),
    compaction({ output_tokens: most }),
  );
  expect(compactions.compactions).toMatchObject({ cacheWrite: most, output: null });
});

test('for any input, reading does not throw, and gives counts or nulls', () => {
  const names = fc.constantFrom(
    'input_tokens',
    'output_tokens',
    'cache_creation',
    'iterations',
    'server_tool_use',
    '__proto__',
  );
  fc.assert(
    fc.property(fc.oneof(fc.dictionary(names, fc.jsonValue()), fc.jsonValue()), (value) => {
      const { input, output } = readUsage(value as JsonValue);
      for (const count of [input, output]) expect(count === null || (Number.isInteger(count) && count >= 0)).toBe(true);
    }),
  );
});

test('counts that a converter lists as contradicted are named, within bounds', () => {
  const names = Array.from({ length: 50 }, (_, place) => `${place}`.padEnd(100, 'x'));
  expect(readUsage({ contradicted: ['input_tokens', 7, null] }).contradicted).toEqual(['input_tokens']);
  const { contradicted } = readUsage({ contradicted: names });
  expect([contradicted.length, contradicted[0]?.length]).toEqual([32, 64]);
  expect(readUsage({ contradicted: 'input_tokens' }).contradicted).toEqual([]);
});
