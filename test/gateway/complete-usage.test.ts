// A caller reads counts at the beginning and at the end of every message, whatever its provider said.

import { describe, expect, test } from 'bun:test';
import { completeEvents, completeText } from '../../src/gateway/complete-usage.ts';
import { type JsonObject, makeEvent, NO_TOKENS } from '../../src/wire/wire.ts';

const estimate = () => ({ ...NO_TOKENS, input: 11, output: 7 });
const start = (usage: JsonObject | null) => makeEvent({ type: 'message_start', message: { id: 'msg_1', usage } });
const delta = (usage: JsonObject | null) =>
  makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
const usageOf = ({ value }: { value: JsonObject }) => value['usage'] ?? (value['message'] as JsonObject)['usage'];

describe('usage that a provider did not report', () => {
  test('stands in the events of a stream as it was estimated', () => {
    const events = completeEvents([start({}), delta({})], estimate);
    const counts = { input_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    expect(events.map(usageOf)).toEqual([
      { ...counts, output_tokens: 0 },
      { ...counts, output_tokens: 7 },
    ]);
    expect(events.map(({ json }) => JSON.parse(json))).toEqual(events.map(({ value }) => value));
  });

  test('never takes the place of a count that was reported, not even of zero', () => {
    const reported = [start({ input_tokens: 0, output_tokens: 1 }), delta({ output_tokens: 0 }), delta(null)];
    expect(completeEvents(reported, estimate)).toBe(reported);
    const [partly] = completeEvents([delta({ input_tokens: 3, cache_read_input_tokens: 2 })], estimate);
    expect(partly && usageOf(partly)).toMatchObject({ input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 7 });
  });

  test('stands in the place of null, too', () => {
    const [told] = completeEvents([delta({ input_tokens: null, output_tokens: null })], estimate);
    expect(told && usageOf(told)).toMatchObject({ input_tokens: 11, output_tokens: 7 });
  });

  test('stands in a whole message, whose text is else as it came', () => {
    const message = { id: 'msg_1', usage: { input_tokens: 5 } };
    expect(JSON.parse(completeText(message, '{}', estimate))).toMatchObject({
      id: 'msg_1',
      usage: { input_tokens: 5, output_tokens: 7 },
    });
    const whole = { usage: { input_tokens: 5, output_tokens: 0 } };
    expect(completeText(whole, 'as it came', estimate)).toBe('as it came');
    expect(completeText({ usage: null }, 'as it came', estimate)).toBe('as it came');
  });
});
