// Usage of Chat Completions as counts of the Messages protocol: exact, nothing counted twice, nothing invented.

import { describe, expect, test } from 'bun:test';
import { readChatCounts } from '../../../../src/providers/openai/convert-chunk.ts';
import { makeUsage } from '../../../../src/providers/running-usage.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';

const convertUsage = (value: JsonObject) => makeUsage(readChatCounts(value));

describe('usage', () => {
  test('has cache reads and writes separate from the other input', () => {
    const details = { cached_tokens: 600, cache_write_tokens: 300 };
    expect(
      convertUsage({ prompt_tokens: 1000, completion_tokens: 5, total_tokens: 1005, prompt_tokens_details: details }),
    ).toEqual({
      input_tokens: 100,
      cache_creation_input_tokens: 300,
      cache_read_input_tokens: 600,
      output_tokens: 5,
    });
    for (const cached of [{ prompt_cache_hit_tokens: 8 }, { cached_tokens: 8 }, { num_cached_tokens: 8 }])
      expect(convertUsage({ prompt_tokens: 10, completion_tokens: 1, ...cached })).toMatchObject({
        input_tokens: 2,
        cache_read_input_tokens: 8,
      });
  });

  test('ignores counts whose name has another meaning in the Messages protocol', () => {
    const named = { input_tokens: 1000, output_tokens: 70, cache_creation_input_tokens: 300, total_tokens: 1050 };
    const nested = { cache_creation: { ephemeral_1h_input_tokens: 9 }, output_tokens_details: { thinking_tokens: 9 } };
    const details = { cached_tokens: 600, cache_creation_tokens: 300 };
    expect(
      convertUsage({ prompt_tokens: 1000, completion_tokens: 50, prompt_tokens_details: details, ...named, ...nested }),
    ).toEqual({
      input_tokens: 100,
      cache_creation_input_tokens: 300,
      cache_read_input_tokens: 600,
      output_tokens: 50,
    });
  });

  test('in the words of Responses and Messages is the same', () => {
    const counts = {
      input_tokens: 100,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 10,
    };
    expect(convertUsage({ input_tokens: 100, output_tokens: 10 })).toEqual(counts);
    expect(convertUsage({ prompt_tokens: 0, completion_tokens: 0, input_tokens: 100, output_tokens: 10 })).toEqual(
      counts,
    );
    const details = {
      input_tokens_details: { cached_tokens: 40 },
      output_tokens_details: { reasoning_tokens: 4 },
    };
    expect(convertUsage({ input_tokens: 100, output_tokens: 10, total_tokens: 110, ...details })).toEqual({
      ...{ ...counts, input_tokens: 60, cache_read_input_tokens: 40 },
      output_tokens_details: { thinking_tokens: 4 },
    });
    const cached = { cache_read_input_tokens: 30, cache_creation_input_tokens: 20 };
    expect(convertUsage({ input_tokens: 50, output_tokens: 10, ...cached })).toEqual({
      ...{ ...counts, ...cached, input_tokens: 50 },
    });
    for (const odd of [-1, 1.5, '100', 1e300, null])
      expect(convertUsage({ input_tokens: odd, output_tokens: 10 })).toEqual({ output_tokens: 10 });
  });

  test('has a count wherever it is not zero', () => {
    const details = { cached_tokens: 0 };
    expect(
      convertUsage({ prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: details, cached_tokens: 8 }),
    ).toMatchObject({ input_tokens: 2, cache_read_input_tokens: 8 });
  });

  test('never has more cached tokens than the prompt', () => {
    const convert = (cached_tokens: number, cache_write_tokens: number) =>
      convertUsage({
        prompt_tokens: 40,
        completion_tokens: 1,
        prompt_tokens_details: { cached_tokens, cache_write_tokens },
      });
    expect(convert(50, 0)).toMatchObject({ input_tokens: 40, cache_read_input_tokens: 0 });
    expect(convert(50, 50)).toMatchObject({ cache_creation_input_tokens: 40, cache_read_input_tokens: 0 });
    expect(convert(30, 50)).toMatchObject({ cache_creation_input_tokens: 10, cache_read_input_tokens: 30 });
    expect(convert(50, 0)).toHaveProperty('disbelieved_cached_tokens', 50);
  });

  test('has all output of which the total tells, and reasoning that the output cannot contain', () => {
    const convert = (completion_tokens: number, rest: JsonObject) =>
      convertUsage({ prompt_tokens: 100, completion_tokens, ...rest });
    expect(convert(20, { total_tokens: 300 })).toMatchObject({ input_tokens: 100, output_tokens: 200 });
    expect(convert(20, { total_tokens: 110 })).toMatchObject({ input_tokens: 100, output_tokens: 20 });
    expect(convert(0, { total_tokens: 300 })).toMatchObject({ output_tokens: 200 });
    const reasoning = { completion_tokens_details: { reasoning_tokens: 50 } };
    expect(convert(20, reasoning)).toMatchObject({ output_tokens: 70 });
    expect(convert(20, { total_tokens: 120, ...reasoning })).toMatchObject({ output_tokens: 20 });
    expect(convertUsage({ completion_tokens: 20, total_tokens: 300 })).toMatchObject({ input_tokens: 280 });
  });

  test('counts reasoning as part of the output, even if it was reported separately', () => {
    const reported = (total_tokens: number) =>
      convertUsage({
        prompt_tokens: 10,
        completion_tokens: 20,
        total_tokens,
        completion_tokens_details: { reasoning_tokens: 7 },
      });
    expect(reported(30)).toMatchObject({ output_tokens: 20, output_tokens_details: { thinking_tokens: 7 } });
    expect(reported(37)).toMatchObject({ output_tokens: 27, output_tokens_details: { thinking_tokens: 7 } });
  });

  test('is missing if it has no counts: absent, or zeros in place of unknown counts', () => {
    for (const none of [{}, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }])
      expect(convertUsage(none)).toEqual({});
  });

  test('leaves out implausible counts, and keeps an output of zero', () => {
    expect(convertUsage({ prompt_tokens: 10, completion_tokens: -1 })).not.toHaveProperty('output_tokens');
    expect(convertUsage({ prompt_tokens: 1.5, completion_tokens: 3 })).toEqual({ output_tokens: 3 });
    expect(convertUsage({ prompt_tokens: 10, completion_tokens: 0 })).toHaveProperty('output_tokens', 0);
    expect(convertUsage({ prompt_tokens: 0, completion_tokens: 3 })).not.toHaveProperty('input_tokens');
  });

  test('keeps unknown numbers under their own names, and drops those that cost nothing', () => {
    const odd = {
      num_sources_used: 3,
      cost: 0.01,
      total_time: 0.5,
      prompt_tokens_details: { audio_tokens: 4, cached_tokens: 0 },
    };
    expect(convertUsage({ prompt_tokens: 10, completion_tokens: 1, ...odd })).toEqual({
      input_tokens: 10,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 1,
      num_sources_used: 3,
      prompt_tokens_details: { audio_tokens: 4 },
    });
  });
});
