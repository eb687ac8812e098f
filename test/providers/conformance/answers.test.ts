// What a client gets of every kind of provider's answer, guarantee by guarantee, streamed and whole.

import { describe, expect, test } from 'bun:test';
import { providerKinds } from '../../../src/providers/providers.ts';
import { makeAttempt, readAll } from '../make-attempt.ts';
import type { Driver, Shown } from './driver.ts';
import { drivers } from './drivers.ts';
import { type Answered, answerOf, ask, attemptOf, json, THINKING, takesStops } from './exchange.ts';
import { exactText } from './facts.ts';
import { comparable, readEvents, readWhole } from './read-events.ts';
import {
  COUNTED,
  call,
  HARD_INPUTS,
  type Said,
  type Saying,
  STOP_SEQUENCE,
  sayingOf,
  text,
  thinking,
} from './saying.ts';

const LOOK = call('toolu_look1', 'look', '{"at": "Zürich"}');
const NOW = call('toolu_now22', 'get_weather', '{}');
const RICH = [thinking('Two of them.'), text('I look.'), LOOK, NOW];

/** The answer streamed and whole, which must be one and the same. */
async function bothOf(driver: Driver, drawn: Saying, seed = 3): Promise<[Answered, Answered]> {
  const saying = driver.fit(drawn);
  const streamed = await answerOf(driver, {}, saying, { isStreamed: true, seed });
  const whole = await answerOf(driver, {}, saying, { isStreamed: false, seed });
  expect(comparable(whole.message.blocks, false)).toEqual(comparable(streamed.message.blocks, false));
  const { blocks: _, ...rest } = streamed.message;
  expect(whole.message).toMatchObject(rest);
  return [streamed, whole];
}

const shownOf = (blocks: readonly Shown[]) => comparable(blocks, false);

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('tells thinking, text and several calls as one well-formed message, the same streamed and whole', async () => {
    const saying = driver.fit(sayingOf(RICH));
    for (let seed = 1; seed <= 5; seed++) {
      const [{ message }] = await bothOf(driver, saying, seed);
      expect(shownOf(message.blocks)).toEqual(shownOf(driver.shown(saying)));
      expect(message.stopReason).toBe('tool_use');
    }
  });

  test('never shows [DONE], nor anything else that is no part of the Messages protocol', async () => {
    const [streamed] = await bothOf(driver, sayingOf([text('Hi.')]));
    expect(JSON.stringify(streamed.message)).not.toContain('DONE');
  });

  test('gives a tool its input as the model wrote it: every digit, every escape, nothing at all', async () => {
    const inputsIn = ({ message }: Answered) =>
      message.blocks.flatMap((block) => (block.type === 'tool_use' ? [block.input] : []));
    for (const input of HARD_INPUTS) {
      const [streamed, whole] = await bothOf(driver, sayingOf([call('toolu_hard1', 'look', input)]));
      expect(inputsIn(whole).map(exactText)).toEqual([exactText(input)]);
      // Where it comes as a text it is that text, byte by byte; Gemini sends it as JSON of its own.
      const isText = driver.kind !== 'gemini';
      expect(inputsIn(streamed).map(isText ? String : exactText)).toEqual([isText ? input : exactText(input)]);
    }
  });

  test('gives a tool that it called without any input an empty object', async () => {
    if (driver.kind !== 'openai' && driver.kind !== 'openai-responses') return; // only there it is a text, which may be none
    const empty = sayingOf([call('toolu_none1', 'look', '')]);
    for (const isStreamed of [true, false]) {
      const { message } = await answerOf(driver, {}, driver.fit(empty), { isStreamed });
      expect(message.blocks).toMatchObject([{ type: 'tool_use', input: '{}' }]);
    }
  });

  test('shows thinking that its provider shows by itself, also to who did not ask: it is paid for', async () => {
    const saying = driver.fit(sayingOf([thinking('By itself.'), text('Hi.')]));
    for (const isStreamed of [true, false]) {
      const { message } = await answerOf(driver, { thinking: null }, saying, { isStreamed });
      expect(shownOf(message.blocks)).toEqual(shownOf(driver.shown(saying)));
    }
  });

  test('calls it no fault when an answer was cut within the input of a tool', async () => {
    if (driver.kind !== 'openai' && driver.kind !== 'openai-responses') return; // elsewhere no half of an input is sent
    for (const [end, reason] of [
      ['length', 'max_tokens'],
      ['refusal', 'refusal'],
    ] as const) {
      const cut = driver.fit(sayingOf([text('I look.'), call('toolu_half1', 'look', '{"at": "Zür')], { end }));
      const streamed = await answerOf(driver, {}, cut, { isStreamed: true });
      expect(streamed.message).toMatchObject({ stopReason: reason, blocks: [{}, { input: '{"at": "Zür' }] });
      // What is whole has no half an object: the tool has none, or is not there.
      const whole = await answerOf(driver, {}, cut, { isStreamed: false });
      expect(whole.message.stopReason).toBe(reason);
      for (const input of whole.message.blocks.slice(1)) expect(input).toMatchObject({ input: '{}' });
    }
  });

  test('counts every token once: what came from the cache and went there stands by itself', async () => {
    const [{ message }] = await bothOf(driver, sayingOf([text('Hi.')]));
    expect(message.usage).toEqual(driver.tells(driver.fit(sayingOf([])).counted));
    const { input_tokens, cache_read_input_tokens, output_tokens } = message.usage;
    expect([input_tokens, cache_read_input_tokens, output_tokens]).toEqual([
      COUNTED.input,
      COUNTED.cacheRead,
      COUNTED.output,
    ]);
  });

  test('tells why it stopped, and which stop sequence it met where the kind says so', async () => {
    const stopOf = async (said: readonly Said[], end: Saying['end']) => {
      const [{ message }] = await bothOf(driver, sayingOf(said, { end }));
      return [message.stopReason, message.stopSequence];
    };
    expect(await stopOf([text('Hi.')], 'end')).toEqual(['end_turn', null]);
    expect(await stopOf([LOOK], 'end')).toEqual(['tool_use', null]);
    expect(await stopOf([text('Hi.')], 'length')).toEqual(['max_tokens', null]);
    expect(await stopOf([text('Hi.')], 'refusal')).toEqual(['refusal', null]);
    if (!takesStops(driver)) return;
    const met = driver.tellsSequence ? ['stop_sequence', STOP_SEQUENCE] : ['end_turn', null];
    expect(await stopOf([text('Hi.')], 'sequence')).toEqual(met);
  });

  test('streams an answer that came whole to a client that asked for a stream', async () => {
    const saying = driver.fit(sayingOf(RICH.slice(0, 2)));
    const attempt = attemptOf(driver, { stream: true, thinking: THINKING });
    const { events, fault } = await ask(driver, attempt, () => json(driver.whole(saying)));
    expect(fault).toBeNull();
    expect(shownOf(readEvents(events).blocks)).toEqual(shownOf(driver.shown(saying)));
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
    'tells the answer of %s as one well-formed message, the same streamed and whole',
    async (model) => {
      const streamed = await sandbox.submit(attemptAt(model, true));
      const whole = await sandbox.submit(attemptAt(model, false));
      if (streamed.form !== 'stream' || whole.form !== 'message') expect.unreachable();
      const told = readEvents(await readAll(streamed.events));
      const { blocks, stopReason, usage } = readWhole(whole.text);
      expect(shownOf(told.blocks)).toEqual(shownOf(blocks));
      expect(told.stopReason).toBe(stopReason);
      expect(told.usage).toEqual(usage);
    },
  );
});
