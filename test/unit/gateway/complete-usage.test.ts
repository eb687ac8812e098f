// A client gets counts at the beginning and at the end of every message, even if its provider does not report them.

import { describe, expect, test } from 'bun:test';
import { completeEvents, completeMessage } from '../../../src/gateway/message-record.ts';
import { type JsonObject, makeEvent, NO_TOKENS } from '../../../src/wire/wire.ts';

const countsSoFar = () => ({ ...NO_TOKENS, input: 11, output: 7 });
const start = (usage: JsonObject | null) => makeEvent({ type: 'message_start', message: { id: 'msg_1', usage } });
const delta = (usage: JsonObject | null) =>
  makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
const usageOf = ({ value }: { value: JsonObject }) => value['usage'] ?? (value['message'] as JsonObject)['usage'];

describe('usage that the provider did not report', () => {
  test('is filled in with estimates in stream events', () => {
    const events = completeEvents([start({}), delta({})], countsSoFar);
    const counts = { input_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    expect(events.map(usageOf)).toEqual([
      { ...counts, output_tokens: 0 },
      { ...counts, output_tokens: 7 },
    ]);
    expect(events.map(({ json }) => JSON.parse(json))).toEqual(events.map(({ value }) => value));
  });

  test('never replaces a reported count, not even zero', () => {
    const reported = [start({ input_tokens: 0, output_tokens: 1 }), delta({ output_tokens: 0 }), delta(null)];
    expect(completeEvents(reported, countsSoFar)).toBe(reported);
    const [partly] = completeEvents([delta({ input_tokens: 3, cache_read_input_tokens: 2 })], countsSoFar);
    expect(partly && usageOf(partly)).toMatchObject({ input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 7 });
  });

  test('replaces null', () => {
    const [reported] = completeEvents([delta({ input_tokens: null, output_tokens: null })], countsSoFar);
    expect(reported && usageOf(reported)).toMatchObject({ input_tokens: 11, output_tokens: 7 });
  });

  test('is added to a whole message, which is otherwise unchanged', () => {
    const partial = { id: 'msg_1', usage: { input_tokens: 5 } };
    expect(JSON.parse(completeMessage(partial, '{}', countsSoFar).text)).toMatchObject({
      id: 'msg_1',
      usage: { input_tokens: 5, output_tokens: 7 },
    });
    const whole = { usage: { input_tokens: 5, output_tokens: 0 } };
    for (const complete of [whole, { usage: null }])
      expect(completeMessage(complete, 'as it came', countsSoFar)).toEqual({ text: 'as it came', message: complete });
  });
});
