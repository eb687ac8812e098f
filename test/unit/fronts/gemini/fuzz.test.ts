// Any request is accepted or refused, and never causes an internal error. Any message gives the same response streamed
// and whole, and its calls survive the round trip with their thinking.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { TurnpikeError } from '../../../../src/errors.ts';
import { AnswerStream } from '../../../../src/fronts/answer-stream.ts';
import { ChunkWriter } from '../../../../src/fronts/gemini/chunk-writer.ts';
import { convertMessage } from '../../../../src/fronts/gemini/convert-message.ts';
import { type JsonObject, parseMessageRequest, unfoldMessage } from '../../../../src/wire/wire.ts';
import { chunksOf } from './chunks.ts';
import { type Json, result, translate, turnsOf } from './read-gemini.ts';

const anything = fc.jsonValue({ maxDepth: 3 });
const nearly = <Value>(right: fc.Arbitrary<Value>) => fc.oneof({ weight: 60, arbitrary: right }, anything);
const words = fc.oneof(fc.constantFrom('', 'f', 'image/png', 'https://a.example/b', 'dHVybnBpa2UxW10='), fc.string());
/** An object that has the first fields, may have the others, and may have them by their other names. */
const record = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  nearly(
    fc
      .record(fields, { requiredKeys: Object.keys(fields).slice(0, 2) })
      .chain((one) =>
        fc
          .boolean()
          .map((isSnake) =>
            isSnake
              ? Object.fromEntries(
                  Object.entries(one).map(([key, value]) => [
                    key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
                    value,
                  ]),
                )
              : one,
          ),
      ),
  );
/** One object may stand in place of a list. */
const listOf = (arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 8, arbitrary: nearly(fc.array(arbitrary, { maxLength: 4 })) }, { weight: 1, arbitrary });

const types = nearly(fc.constantFrom('image/png', 'application/pdf', 'text/plain'));
const media = {
  inlineData: record({ mimeType: types, data: words, displayName: words }),
  fileData: record({ mimeType: types, fileUri: nearly(fc.constant('https://a.example/b')) }),
};
const part = fc.oneof(
  { weight: 30, arbitrary: record({ text: words }) },
  record({ inlineData: media.inlineData }),
  record({ fileData: media.fileData }),
  record({ thought: anything, text: words }),
  record({ functionCall: record({ id: words, name: words, args: nearly(fc.object()) }), thoughtSignature: words }),
  record({
    functionResponse: record({
      id: words,
      name: words,
      response: nearly(fc.object()),
      parts: listOf(record({ inlineData: media.inlineData })),
    }),
  }),
);
const content = record({ role: fc.constantFrom('user', 'model', 'function', ''), parts: listOf(part) });
const request = fc.record(
  {
    contents: listOf(content),
    systemInstruction: content,
    tools: listOf(record({ functionDeclarations: listOf(record({ name: words, parameters: anything })) })),
    toolConfig: record({
      functionCallingConfig: record({
        mode: nearly(fc.constantFrom('AUTO', 'ANY', 'NONE')),
        allowedFunctionNames: listOf(words),
      }),
    }),
    generationConfig: record({
      maxOutputTokens: nearly(fc.integer()),
      temperature: nearly(fc.double()),
      stopSequences: listOf(words),
      responseMimeType: fc.constantFrom('text/plain', 'application/json'),
      responseSchema: anything,
      thinkingConfig: record({
        thinkingBudget: nearly(fc.integer()),
        thinkingLevel: nearly(fc.constantFrom('LOW', 'HIGH')),
        includeThoughts: anything,
      }),
    }),
    safetySettings: anything,
    ['__proto__']: anything,
  },
  { requiredKeys: ['contents'] },
);

test('a request of any form is accepted or refused with a 400 that names its field', () => {
  let readCount = 0;
  fc.assert(
    fc.property(request, (body) => {
      try {
        const { message, native } = translate(body);
        parseMessageRequest(new TextEncoder().encode(JSON.stringify(message)));
        readCount++;
        expect(JSON.parse(native?.text ?? '')).toHaveProperty('contents');
      } catch (thrown) {
        if (!(thrown instanceof TurnpikeError)) throw thrown;
        expect(thrown.status).toBe(400);
        expect(thrown.message).toMatch(/^[^:]{1,300}: |^[\w.]+\..{1,64}: /s);
      }
    }),
    { numRuns: 300 },
  );
  expect(readCount).toBeGreaterThan(0); // about 18
});

const input = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.jsonValue({ maxDepth: 2 }));
const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string({ minLength: 1 }) }),
  fc.record({ type: fc.constant('thinking'), thinking: fc.string(), signature: fc.string({ minLength: 1 }) }),
  fc.record({ type: fc.constant('redacted_thinking'), data: fc.string() }),
  fc.record({ type: fc.constant('tool_use'), id: fc.stringMatching(/^[\w-]{1,20}$/), name: fc.constant('f'), input }),
);
const anyMessage = fc
  .record({
    type: fc.constant('message'),
    id: fc.constant('msg_1'),
    model: fc.string(),
    content: fc
      .array(block, { maxLength: 6 })
      .map((blocks) => blocks.map((one, place) => ('id' in one ? { ...one, id: `${one.id}-${place}` } : one))),
    stop_reason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens'),
    usage: fc.record({ input_tokens: fc.nat(), cache_read_input_tokens: fc.nat(), output_tokens: fc.nat() }),
  })
  .map((said) => JSON.parse(JSON.stringify(said)) as JsonObject); // without negative zero

interface Candidate {
  content: { parts?: Json[] };
  finishReason?: string;
}
const candidatesOf = (chunks: readonly Json[]) => chunks.map((chunk) => (chunk['candidates'] as Candidate[])[0]);

/** Neighbouring texts of a kind are one, as clients show them; the last chunk of a stream may have none. */
function joinTexts(parts: readonly Json[]): Json[] {
  const joined: Json[] = [];
  for (const one of parts) {
    const last = joined.at(-1);
    const isSame =
      typeof one['text'] === 'string' && typeof last?.['text'] === 'string' && last['thought'] === one['thought'];
    if (isSame) joined[joined.length - 1] = { ...last, ...one, text: `${last['text']}${one['text']}` };
    else joined.push(one);
  }
  return joined.filter(({ text }) => text !== '');
}

test('a streamed message gives the same response as a whole one', () => {
  const origins = { messages: [], system: [], tools: [], fields: new Map() };
  fc.assert(
    fc.property(anyMessage, fc.boolean(), (said, isList) => {
      const writer = new ChunkWriter({ includesThoughts: true, isEnum: false, origins }, isList);
      const stream = new AnswerStream({ origins, writer: () => writer });
      const written = stream.take(unfoldMessage(said)) + stream.last();
      const chunks = isList ? (JSON.parse(written) as Json[]) : chunksOf(written);
      const whole = JSON.parse(convertMessage(said, { includesThoughts: true, isEnum: false })) as Json;
      const [candidate] = candidatesOf([whole]);
      const parts = candidatesOf(chunks).flatMap((one) => one?.content.parts ?? []);
      expect(joinTexts(parts)).toEqual(joinTexts(candidate?.content.parts ?? []));
      expect(candidatesOf(chunks).at(-1)?.finishReason).toBe(candidate?.finishReason as string);
      expect(chunks.at(-1)?.['usageMetadata']).toEqual(whole['usageMetadata']);
    }),
    { numRuns: 150 },
  );
});

test('a response that is sent back has each call, with the thinking before it, whatever else the client returns', () => {
  fc.assert(
    fc.property(anyMessage, fc.boolean(), (said, returnsThoughts) => {
      const answer = JSON.parse(convertMessage(said, { includesThoughts: true, isEnum: false })) as Json;
      const parts = (candidatesOf([answer])[0]?.content.parts ?? []).filter(
        (one) => returnsThoughts || !('thought' in one),
      );
      const calls = parts.filter((one) => 'functionCall' in one);
      const answers = calls.map((one) => result('f', {}, { id: (one['functionCall'] as Json)['id'] }));
      const back = (turnsOf({ role: 'model', parts }, { parts: [...answers, { text: 'a' }] })[0]?.['content'] ??
        []) as Json[];
      const blocks = said['content'] as Json[];
      const isSaid = ({ type, text }: Json) => type === 'tool_use' || (type === 'text' && /\S/.test(String(text)));
      const lastCall = blocks.findLastIndex(({ type }) => type === 'tool_use');
      const lastText = blocks.findLastIndex(({ type, text }) => type === 'text' && text !== '');
      const isKept = lastText > lastCall && blocks.slice(lastCall + 1).some(isSaid);
      // Thinking that neither a call nor a text follows is not needed again, and not carried.
      const end = isKept ? lastText : lastCall;
      const expected = blocks.filter(({ type }, place) => type !== 'text' && (type === 'tool_use' || place < end));
      if (end >= 0) expect(back.filter(({ type }) => type !== 'text')).toEqual(expected);
      if (end >= 0) expect(isSaid(back.at(-1) ?? {})).toBe(true);
    }),
    { numRuns: 150 },
  );
});
