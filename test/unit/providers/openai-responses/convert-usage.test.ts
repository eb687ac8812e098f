// The provider's usage as counts of the Messages protocol: exact, nothing counted twice, nothing invented.

import { expect, test } from 'bun:test';
import { RESPONSES_COUNTS, readCounts } from '../../../../src/protocols/token-counts.ts';
import { makeUsage } from '../../../../src/providers/running-usage.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';

const convertUsage = (value: JsonObject) => makeUsage(readCounts(value, RESPONSES_COUNTS));

test('never has more cached tokens than the prompt', () => {
  const details = { cached_tokens: 1_000_000, cache_write_tokens: 50 };
  expect(convertUsage({ input_tokens: 100, output_tokens: 5, input_tokens_details: details })).toEqual({
    input_tokens: 50,
    cache_creation_input_tokens: 50,
    cache_read_input_tokens: 0,
    output_tokens: 5,
    disbelieved_cached_tokens: 1_000_000,
  });
});

test('zeros in place of unknown counts are ignored', () => {
  expect(convertUsage({ input_tokens: 0, output_tokens: 0, total_tokens: 0 })).toEqual({});
  expect(convertUsage({ input_tokens: 0, output_tokens: 7 })).toEqual({ output_tokens: 7 });
  expect(convertUsage({ input_tokens: 7, output_tokens: 0 })).toMatchObject({ input_tokens: 7, output_tokens: 0 });
});

test('counts reasoning as part of the output, even if it was reported separately', () => {
  const reported = (total_tokens: number) =>
    convertUsage({
      input_tokens: 10,
      output_tokens: 20,
      total_tokens,
      output_tokens_details: { reasoning_tokens: 7 },
    });
  expect(reported(30)).toMatchObject({ output_tokens: 20 });
  expect(reported(37)).toMatchObject({ output_tokens: 27 });
});
