// Generated responses of every kind of provider: however they are split and interleaved, the client gets the whole
// content, counted once, streamed or not. GENERATED_RUNS sets the number of each, GENERATED_SEED the seed;
// test/verify/providers runs more.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Driver, type Shown, wireOf } from './driver.ts';
import { drivers } from './drivers.ts';
import { type Answered, answerOf } from './exchange.ts';
import { anyReply, callsOf, type ModelReply, STOP_SEQUENCE } from './model-reply.ts';
import { comparable } from './read-events.ts';

const RUNS = Number(process.env['GENERATED_RUNS'] ?? 25);
const SEED = Number(process.env['GENERATED_SEED'] ?? 20_261_120);

const STOPS = { end: 'end_turn', length: 'max_tokens', refusal: 'refusal', sequence: 'stop_sequence' } as const;

function stopOf(driver: Driver, reply: ModelReply): { stopReason: string; stopSequence: string | null } {
  if (reply.end === 'end' && callsOf(reply).length > 0) return { stopReason: 'tool_use', stopSequence: null };
  if (reply.end !== 'sequence') return { stopReason: STOPS[reply.end], stopSequence: null };
  return driver.reportsSequence
    ? { stopReason: 'stop_sequence', stopSequence: STOP_SEQUENCE }
    : { stopReason: 'end_turn', stopSequence: null };
}

function expectAnswer(driver: Driver, reply: ModelReply, { message }: Answered): void {
  const isVerbatim = driver.speaksMessages;
  expect(comparable(message.blocks, isVerbatim)).toEqual(comparable(driver.shown(reply), isVerbatim));
  expect(message.usage).toEqual(driver.reportedCounts(reply.counted));
  const { stopReason, stopSequence } = message;
  expect({ stopReason, stopSequence }).toEqual(stopOf(driver, reply));
}

/** The inputs of tools, byte by byte: pieces add up to the text that the model wrote. */
const inputsOf = (blocks: readonly Shown[]) => blocks.flatMap((one) => (one.type === 'tool_use' ? [one.input] : []));

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('gives its client the whole content, in order and counted once, streamed and whole', async () => {
    await fc.assert(
      fc.asyncProperty(anyReply, fc.nat(), async (drawn, seed) => {
        const reply = driver.fit(drawn);
        const streamed = await answerOf(driver, {}, reply, { isStreamed: true, seed });
        expectAnswer(driver, reply, streamed);
        if (wireOf(driver) !== 'gemini')
          expect(inputsOf(streamed.message.blocks)).toEqual(inputsOf(driver.shown(reply)));
        const whole = await answerOf(driver, {}, reply, { isStreamed: false, seed });
        expectAnswer(driver, reply, whole);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});
