// The response that a client gets from every kind of provider, guarantee by guarantee, streamed and whole.

import { describe, expect, test } from 'bun:test';
import { providerKinds } from '../../../../src/providers/providers.ts';
import { makeAttempt, readAll } from '../make-attempt.ts';
import { type Driver, type Shown, wireOf } from './driver.ts';
import { drivers } from './drivers.ts';
import { type Answered, answerOf, ask, attemptOf, json, THINKING, takesStops } from './exchange.ts';
import { exactText } from './facts.ts';
import {
  COUNTED,
  call,
  HARD_INPUTS,
  type ModelReply,
  replyOf,
  type Segment,
  STOP_SEQUENCE,
  text,
  thinking,
} from './model-reply.ts';
import { comparable, readEvents, readWhole } from './read-events.ts';

const LOOK = call('toolu_look1', 'look', '{"at": "Zürich"}');
const NOW = call('toolu_now22', 'get_weather', '{}');
const RICH = [thinking('Two of them.'), text('I look.'), LOOK, NOW];

/** The response streamed and whole, which must be the same. */
async function bothOf(driver: Driver, drawn: ModelReply, seed = 3): Promise<[Answered, Answered]> {
  const reply = driver.fit(drawn);
  const streamed = await answerOf(driver, {}, reply, { isStreamed: true, seed });
  const whole = await answerOf(driver, {}, reply, { isStreamed: false, seed });
  expect(comparable(whole.message.blocks, false)).toEqual(comparable(streamed.message.blocks, false));
  const { blocks: _, ...rest } = streamed.message;
  expect(whole.message).toMatchObject(rest);
  return [streamed, whole];
}

const shownOf = (blocks: readonly Shown[]) => comparable(blocks, false);

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('returns thinking, text and several calls as one well-formed message, the same streamed and whole', async () => {
    const reply = driver.fit(replyOf(RICH));
    for (let seed = 1; seed <= 5; seed++) {
      const [{ message }] = await bothOf(driver, reply, seed);
      expect(shownOf(message.blocks)).toEqual(shownOf(driver.shown(reply)));
      expect(message.stopReason).toBe('tool_use');
    }
  });

  test('never shows [DONE], or anything else outside of the Messages protocol', async () => {
    const [streamed] = await bothOf(driver, replyOf([text('Hi.')]));
    expect(JSON.stringify(streamed.message)).not.toContain('DONE');
  });

  test('returns a tool input as the model wrote it: every digit, every escape, empty text', async () => {
    const inputsIn = ({ message }: Answered) =>
      message.blocks.flatMap((block) => (block.type === 'tool_use' ? [block.input] : []));
    for (const input of HARD_INPUTS) {
      const [streamed, whole] = await bothOf(driver, replyOf([call('toolu_hard1', 'look', input)]));
      expect(inputsIn(whole).map(exactText)).toEqual([exactText(input)]);
      // A protocol that sends it as text keeps it byte by byte; Gemini sends it as JSON of its own.
      const isText = wireOf(driver) !== 'gemini';
      expect(inputsIn(streamed).map(isText ? String : exactText)).toEqual([isText ? input : exactText(input)]);
    }
  });

  test('returns an empty object for a tool called without input', async () => {
    if (wireOf(driver) !== 'openai' && wireOf(driver) !== 'openai-responses') return; // only these protocols send it as a text, which may be empty
    const empty = replyOf([call('toolu_none1', 'look', '')]);
    for (const isStreamed of [true, false]) {
      const { message } = await answerOf(driver, {}, driver.fit(empty), { isStreamed });
      expect(message.blocks).toMatchObject([{ type: 'tool_use', input: '{}' }]);
    }
  });

  test('shows thinking that its provider shows by default, even if the client did not request it, because it is paid for', async () => {
    const reply = driver.fit(replyOf([thinking('By itself.'), text('Hi.')]));
    for (const isStreamed of [true, false]) {
      const { message } = await answerOf(driver, { thinking: null }, reply, { isStreamed });
      expect(shownOf(message.blocks)).toEqual(shownOf(driver.shown(reply)));
    }
  });

  test('does not treat a response that was cut within a tool input as a fault', async () => {
    if (wireOf(driver) !== 'openai' && wireOf(driver) !== 'openai-responses') return; // other protocols send no partial input
    for (const [end, reason] of [
      ['length', 'max_tokens'],
      ['refusal', 'refusal'],
    ] as const) {
      const cut = driver.fit(replyOf([text('I look.'), call('toolu_half1', 'look', '{"at": "Zür')], { end }));
      const streamed = await answerOf(driver, {}, cut, { isStreamed: true });
      expect(streamed.message).toMatchObject({ stopReason: reason, blocks: [{}, { input: '{"at": "Zür' }] });
      // A whole response cannot have a partial object: the tool has an empty input or is missing.
      const whole = await answerOf(driver, {}, cut, { isStreamed: false });
      expect(whole.message.stopReason).toBe(reason);
      for (const input of whole.message.blocks.slice(1)) expect(input).toMatchObject({ input: '{}' });
    }
  });

  test('counts every token once: cache reads and writes are separate', async () => {
    const [{ message }] = await bothOf(driver, replyOf([text('Hi.')]));
    expect(message.usage).toEqual(driver.reportedCounts(driver.fit(replyOf([])).counted));
    const { input_tokens, cache_read_input_tokens, output_tokens } = message.usage;
    expect([input_tokens, cache_read_input_tokens, output_tokens]).toEqual([
      COUNTED.input,
      COUNTED.cacheRead,
      COUNTED.output,
    ]);
  });

  test('returns the stop reason, and the stop sequence if the kind reports it', async () => {
    const stopOf = async (segments: readonly Segment[], end: ModelReply['end']) => {
      const [{ message }] = await bothOf(driver, replyOf(segments, { end }));
      return [message.stopReason, message.stopSequence];
    };
    expect(await stopOf([text('Hi.')], 'end')).toEqual(['end_turn', null]);
    expect(await stopOf([LOOK], 'end')).toEqual(['tool_use', null]);
    expect(await stopOf([text('Hi.')], 'length')).toEqual(['max_tokens', null]);
    expect(await stopOf([text('Hi.')], 'refusal')).toEqual(['refusal', null]);
    if (!takesStops(driver)) return;
    const met = driver.reportsSequence ? ['stop_sequence', STOP_SEQUENCE] : ['end_turn', null];
    expect(await stopOf([text('Hi.')], 'sequence')).toEqual(met);
  });

  test('streams a whole response to a client that requested a stream', async () => {
    const reply = driver.fit(replyOf(RICH.slice(0, 2)));
    const attempt = attemptOf(driver, { stream: true, thinking: THINKING });
    const { events, fault } = await ask(driver, attempt, () => json(driver.whole(reply)));
    expect(fault).toBeNull();
    expect(shownOf(readEvents(events).blocks)).toEqual(shownOf(driver.shown(reply)));
  });
});

describe('sandbox', () => {
  const sandbox = providerKinds.get('sandbox') ?? expect.unreachable();
  const attemptAt = (model: string, stream: boolean) => {
    const tools = [
      { name: 'look', input_schema: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] } },
    ];
    const messages = [{ role: 'user', content: 'Grüße aus 東京 🗼' }];
    return makeAttempt('', { model, max_tokens: 200, stream, tools, messages }, { upstreamModel: model });
  };

  test.each(['sandbox-echo', 'sandbox-thinking', 'sandbox-tool'])(
    'returns the response of %s as one well-formed message, the same streamed and whole',
    async (model) => {
      const streamed = await sandbox.submit(attemptAt(model, true));
      const whole = await sandbox.submit(attemptAt(model, false));
      if (streamed.form !== 'stream' || whole.form !== 'message') expect.unreachable();
      const streamedMessage = readEvents(await readAll(streamed.events));
      const { blocks, stopReason, usage } = readWhole(whole.text);
      expect(shownOf(streamedMessage.blocks)).toEqual(shownOf(blocks));
      expect(streamedMessage.stopReason).toBe(stopReason);
      expect(streamedMessage.usage).toEqual(usage);
    },
  );
});
