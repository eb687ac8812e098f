// Text completions: the message that a prompt becomes, and the answer, whole and streamed, cut at stop sequences.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { TurnpikeError } from '../../../../src/errors.ts';
import { AnswerStream } from '../../../../src/fronts/answer-stream.ts';
import { CHAT_FIELDS, REFUSED_FIELDS } from '../../../../src/fronts/completions/completion-fields.ts';
import { completions } from '../../../../src/fronts/completions/completions.ts';
import { StopCutter } from '../../../../src/fronts/completions/cut-at-stops.ts';
import { type JsonObject, parseMessageRequest, unfoldMessage } from '../../../../src/wire/wire.ts';
import { translateBytes } from '../translate-bytes.ts';

type Json = Record<string, unknown>;

const translate = (members: Json) =>
  translateBytes(completions, new TextEncoder().encode(JSON.stringify({ model: 'm', prompt: 'Once', ...members })));
const messageOf = (members: Json) => translate(members).message as Json;

test('a prompt is the message of the user, and only known fields are read', () => {
  const settings = { max_tokens: 7, temperature: 0, top_p: 0.5, seed: 1, stream: true };
  const ignored = { tools: [{}], system: 'a', response_format: { type: 'json_object' }, messages: [], logprobs: null };
  const expected = {
    model: 'm',
    ...settings,
    stop_sequences: ['END', '\n'],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Once' }] }],
    metadata: { user_id: 'ann' },
  };
  for (const prompt of ['Once', ['Once']])
    expect(messageOf({ prompt, ...settings, stop: ['END', '\n'], user: 'ann', echo: false, ...ignored })).toEqual(
      expected,
    );
});

test('a suffix makes both texts one message, with an instruction for what is between them', () => {
  expect(messageOf({ prompt: 'a\n', suffix: '\n b' })).toEqual({
    model: 'm',
    system: [{ type: 'text', text: expect.stringContaining('between <before> and <after>') }],
    messages: [{ role: 'user', content: [{ type: 'text', text: '<before>a\n</before>\n<after>\n b</after>' }] }],
  });
  expect(messageOf({ prompt: '', suffix: 'b' })['messages']).toMatchObject([
    { content: [{ text: '<before></before>\n<after>b</after>' }] },
  ]);
  expect(messageOf({ suffix: null })).toEqual(messageOf({}));
});

const answerOf = (members: Json, message: Json) => {
  const said = {
    id: 'msg_1',
    model: 'u',
    usage: { input_tokens: 3, output_tokens: 2 },
    stop_reason: 'end_turn',
    ...message,
  };
  const { answer } = translate(members);
  const whole = JSON.parse(answer.message(said as JsonObject)) as Json & { choices: Json[] };
  return { whole, streamed: new AnswerStream(answer).take(unfoldMessage(said as JsonObject)) };
};
const text = (words: string) => ({ type: 'text', text: words });

test('an answer is its text, without thinking', () => {
  const content = [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }, text('One '), text('two.')];
  const { whole, streamed } = answerOf({ stream: true, stream_options: { include_usage: true } }, { content });
  const head = { id: 'cmpl-1', object: 'text_completion', created: 0, model: 'u', system_fingerprint: 'fp_0' };
  const usage = expect.objectContaining({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 });
  const choice = { index: 0, logprobs: null };
  expect(whole).toEqual({ ...head, choices: [{ ...choice, text: 'One two.', finish_reason: 'stop' }], usage });
  expect(streamed).toEndWith('data: [DONE]\n\n');
  expect(
    streamed
      .split('\n\n')
      .slice(0, -2)
      .map((event) => JSON.parse(event.slice('data: '.length))),
  ).toEqual([
    { ...head, choices: [{ ...choice, text: 'One ', finish_reason: null }] },
    { ...head, choices: [{ ...choice, text: 'two.', finish_reason: null }] },
    { ...head, choices: [{ ...choice, text: '', finish_reason: 'stop' }] },
    { ...head, choices: [], usage },
  ]);
});

test('an answer ends before a stop sequence of white space', () => {
  const { whole, streamed } = answerOf(
    { stop: ['\n\n', '\t'] },
    { content: [text('a\n'), text('\nb')], stop_reason: 'max_tokens' },
  );
  expect(whole.choices).toMatchObject([{ text: 'a', finish_reason: 'stop' }]);
  expect(streamed).not.toContain('b"');
  expect(streamed).toContain('"text":"a"');
  expect(streamed).toContain('"finish_reason":"stop"');
});

test('a text that arrives in any pieces is cut where it would be cut whole', () => {
  const characters = fc.string({ unit: fc.constantFrom('a', ' ', '\n'), maxLength: 12 });
  const stop = fc.string({ unit: fc.constantFrom(' ', '\n'), minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 6 }), fc.array(stop, { maxLength: 3 }), (pieces, stops) => {
      const cutter = new StopCutter(stops);
      const kept = pieces.map((piece) => cutter.take(piece)).join('') + cutter.end();
      const whole = pieces.join('');
      const places = stops.map((one) => whole.indexOf(one)).filter((place) => place >= 0);
      expect(kept).toBe(places.length === 0 ? whole : whole.slice(0, Math.min(...places)));
      expect(cutter.isCut).toBe(places.length > 0);
    }),
    { seed: 20_261_129 },
  );
});

test('a request of any form is accepted or refused with a 400 that names its field', () => {
  const anything = fc.jsonValue({ maxDepth: 2 });
  const nearly = <Value>(right: fc.Arbitrary<Value>) => fc.oneof({ weight: 20, arbitrary: right }, anything);
  const words = fc.oneof(fc.string(), fc.constantFrom('\n', ' ', 'a'));
  const request = fc.record(
    {
      model: nearly(fc.constant('m')),
      prompt: nearly(fc.oneof(words, fc.array(words, { maxLength: 2 }))),
      suffix: nearly(words),
      stop: nearly(fc.oneof(words, fc.array(words, { maxLength: 3 }))),
      ...{ echo: nearly(fc.constant(false)), n: nearly(fc.constant(1)), logprobs: nearly(fc.constant(null)) },
      ...{ max_tokens: nearly(fc.integer()), stream_options: nearly(fc.constant(null)), user: nearly(words) },
    },
    { requiredKeys: ['model', 'prompt'] },
  );
  let readCount = 0;
  fc.assert(
    fc.property(request, (body) => {
      try {
        const { message } = translateBytes(completions, new TextEncoder().encode(JSON.stringify(body)));
        readCount++;
        parseMessageRequest(new TextEncoder().encode(JSON.stringify(message)), 'completions');
      } catch (thrown) {
        if (!(thrown instanceof TurnpikeError)) throw thrown;
        expect(thrown.status).toBe(400);
        expect(thrown.message).toMatch(/^[\w.-]+: /);
      }
    }),
    { numRuns: 1_000 },
  );
  expect(readCount).toBeGreaterThan(50);
});

const page = readFileSync(join(import.meta.dir, '..', '..', '..', '..', 'docs', 'completions.md'), 'utf8');
const namesIn = (line: string) => [...line.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '');

test('the documentation names the fields that are read, and those that are refused', () => {
  const refused = page.split('\n\n').find((paragraph) => paragraph.startsWith('**Refused**')) ?? '';
  expect(namesIn(refused).sort()).toEqual([...Object.keys(REFUSED_FIELDS), 'logprobs'].sort());
  const [row = ''] = page.split('\n').filter((line) => line.startsWith('| `max_tokens`'));
  const read = namesIn(row.split(' | ')[0] ?? '');
  expect([...read, 'model'].sort()).toEqual([...CHAT_FIELDS].sort());
});
