// Answers of every kind of provider, generated: however they are cut and mixed, the client has what was said, counted
// once, streamed or whole. GENERATED_RUNS says how many of each, GENERATED_SEED which.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Driver, Shown } from './driver.ts';
import { drivers } from './drivers.ts';
import { type Answered, answerOf } from './exchange.ts';
import { comparable } from './read-events.ts';
import { anySaying, callsOf, type Saying, STOP_SEQUENCE } from './saying.ts';

const RUNS = Number(process.env['GENERATED_RUNS'] ?? 60);
const SEED = Number(process.env['GENERATED_SEED'] ?? 20_261_120);

const STOPS = { end: 'end_turn', length: 'max_tokens', refusal: 'refusal', sequence: 'stop_sequence' } as const;

function stopOf(driver: Driver, saying: Saying): { stopReason: string; stopSequence: string | null } {
  if (saying.end === 'end' && callsOf(saying).length > 0) return { stopReason: 'tool_use', stopSequence: null };
  if (saying.end !== 'sequence') return { stopReason: STOPS[saying.end], stopSequence: null };
  return driver.tellsSequence
    ? { stopReason: 'stop_sequence', stopSequence: STOP_SEQUENCE }
    : { stopReason: 'end_turn', stopSequence: null };
}

function expectAnswer(driver: Driver, saying: Saying, { message }: Answered): void {
  const isVerbatim = driver.kind === 'anthropic';
  expect(comparable(message.blocks, isVerbatim)).toEqual(comparable(driver.shown(saying), isVerbatim));
  expect(message.usage).toEqual(driver.tells(saying.counted));
  const { stopReason, stopSequence } = message;
  expect({ stopReason, stopSequence }).toEqual(stopOf(driver, saying));
}

/** The inputs of tools, byte by byte: what comes in pieces is the text that the model wrote. */
const inputsOf = (blocks: readonly Shown[]) => blocks.flatMap((one) => (one.type === 'tool_use' ? [one.input] : []));

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('gives its client what was said, in order and counted once, streamed and whole', async () => {
    await fc.assert(
      fc.asyncProperty(anySaying, fc.nat(), async (drawn, seed) => {
        const saying = driver.fit(drawn);
        const streamed = await answerOf(driver, {}, saying, { isStreamed: true, seed });
        expectAnswer(driver, saying, streamed);
        if (driver.kind !== 'gemini') expect(inputsOf(streamed.message.blocks)).toEqual(inputsOf(driver.shown(saying)));
        const whole = await answerOf(driver, {}, saying, { isStreamed: false, seed });
        expectAnswer(driver, saying, whole);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});
