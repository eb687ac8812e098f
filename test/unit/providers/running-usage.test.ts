// Counts of an answer while it streams: they never fall, and each reaches the gateway with an event.

import { describe, expect, test } from 'bun:test';
import type { ReportedCounts } from '../../../src/protocols/token-counts.ts';
import { MessageComposer } from '../../../src/providers/compose-message.ts';
import { RunningUsage } from '../../../src/providers/running-usage.ts';
import type { StreamEvent } from '../../../src/wire/wire.ts';

const NONE: ReportedCounts = {
  prompt: null,
  tools: null,
  cacheRead: null,
  cacheWrite: null,
  output: null,
  thinking: null,
  soundInput: null,
  soundOutput: null,
  total: null,
  others: {},
};

function begin(...reports: Partial<ReportedCounts>[]) {
  const composer = new MessageComposer({ id: 'msg_1', model: 'm' });
  const running = new RunningUsage(composer);
  for (const report of reports) running.take([{ ...NONE, ...report }], false);
  const carried = (events: StreamEvent[] = []) => {
    running.carry(events);
    return events;
  };
  return { composer, running, carried };
}

describe('a count', () => {
  test('that falls, or falls to zero, stays, and is named as contradicted unless it is zero', () => {
    const { running, carried } = begin({ prompt: 1_500, output: 10 }, { prompt: 0, output: 15 }, { prompt: 7 });
    expect(running.usage).toMatchObject({ input_tokens: 1_500, output_tokens: 15 });
    expect(carried().at(-1)?.usage).toMatchObject({
      input_tokens: 1_500,
      output_tokens: 15,
      contradicted: ['input_tokens'],
    });
    expect(begin({ prompt: 1_500 }, { prompt: 0 }).carried().at(-1)?.usage).not.toHaveProperty('contradicted');
  });

  test('of cached tokens is the latest share of the prompt, and omitted ones change nothing', () => {
    const { running } = begin({ prompt: 100, cacheRead: 0 }, { prompt: 100, cacheRead: 90 }, { prompt: 100 });
    expect(running.usage).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 90 });
    const { running: corrected } = begin({ prompt: 100, cacheRead: 90 }, { prompt: 100, cacheRead: 0 });
    expect(corrected.usage).toMatchObject({ input_tokens: 100, cache_read_input_tokens: 0 });
  });

  test('before more content is the least of the output, but not its end', () => {
    const { running } = begin({ prompt: 10, output: 5 });
    running.take([], true);
    expect(running.finish()).toEqual({ input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 });
    expect(running.usage).toMatchObject({ output_tokens: 5 });
  });

  test('of thinking alone does not tell the whole output', () => {
    const { running } = begin({ prompt: 10, thinking: 30 });
    expect(running.finish()).not.toHaveProperty('output_tokens');
    expect(running.usage).toMatchObject({ output_tokens: 30 });
  });
});

describe('what no event has yet', () => {
  test('begins the message, then comes with a ping, and only if something changed', () => {
    const { running, carried } = begin({ prompt: 10, output: 1 });
    expect(carried()).toMatchObject([{ name: 'message_start', usage: { input_tokens: 10, output_tokens: 1 } }]);
    expect(carried()).toEqual([]);
    running.take([{ ...NONE, prompt: 10, output: 1 }], false);
    expect(carried()).toEqual([]);
    running.take([{ ...NONE, prompt: 10, output: 2 }], false);
    expect(carried()).toMatchObject([{ name: 'ping', json: '{"type":"ping"}', usage: { output_tokens: 2 } }]);
  });

  test('comes with the last event of its read, whose text stays', () => {
    const { composer, carried } = begin({ prompt: 10, output: 1 });
    const events = [...composer.start({}), ...composer.text('Hi')];
    const sent = events.map(({ json }) => json);
    expect(carried(events).at(-1)?.usage).toMatchObject({ output_tokens: 1 });
    expect(events.map(({ json }) => json)).toEqual(sent);
  });
});

describe('the service tier', () => {
  test('that a piece tells goes with the next event, before any count', () => {
    const { running, carried, composer } = begin();
    running.add({ speed: 'standard' });
    expect(carried()).toEqual([]); // it is no reason for an event
    const begun = composer.start({});
    expect(carried(begun).at(-1)?.usage).toEqual({ speed: 'standard' });
    running.add({ speed: 'standard' });
    expect(carried([...begun])).toEqual(begun);
    running.add({ service_tier: 'flex' });
    expect(carried([...begun]).at(-1)?.usage).toEqual({ service_tier: 'flex' });
  });
});
