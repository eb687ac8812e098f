// Answers of the media type text/x.enum are one of the schema's texts, from every kind of provider, whole and streamed.

import { describe, expect, test } from 'bun:test';
import { AnswerStream } from '../../../../src/fronts/answer-stream.ts';
import { type JsonObject, unfoldMessage } from '../../../../src/wire/wire.ts';
import { kinds } from '../../providers/conformance/drivers.ts';
import { answerOf } from '../../providers/conformance/exchange.ts';
import { replyOf, text } from '../../providers/conformance/model-reply.ts';
import { candidateOf, chunksOf, textOf } from './chunks.ts';
import { type Json, messageOf, refusalOf, translate } from './read-gemini.ts';

const VALUES = ['sweet', 'sour', 'a "quote" \\ ü'];
const config = (schema: unknown, name = 'responseSchema') => ({
  generationConfig: { responseMimeType: 'text/x.enum', [name]: schema },
});
const request = config({ type: 'STRING', format: 'enum', enum: VALUES });
const wrapped = {
  type: 'object',
  properties: { value: { type: 'string', enum: VALUES } },
  required: ['value'],
  additionalProperties: false,
};
const message = (texts: readonly string[]) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: texts.map((one) => ({ type: 'text', text: one })),
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
});

/** The text of an answer to the request: whole, and streamed in pieces of one character. */
function readings(answer: JsonObject): string[] {
  const { answer: translator } = translate(request);
  return [
    textOf([JSON.parse(translator.message(answer)) as Json]),
    textOf(chunksOf(new AnswerStream(translate(request).answer).take(unfoldMessage(answer)))),
  ];
}

describe.each(kinds.map((driver) => [driver.name, driver] as const))('%s', (_, driver) => {
  test('gets the texts in a schema, and its JSON becomes one of them', async () => {
    const body = { ...messageOf(request), model: 'a-model', max_tokens: 64 };
    for (const isStreamed of [false, true]) {
      const reply = replyOf([text(JSON.stringify({ value: VALUES[2] }))]);
      const { message: read, sent } = await answerOf(driver, { ...body, stream: isStreamed }, reply, { isStreamed });
      // One kind has the schema as JSON in a text.
      expect(sent.body.replaceAll('\\', '')).toContain(JSON.stringify(VALUES).replaceAll('\\', ''));
      const [block] = read.blocks;
      expect(readings(message([(block as { text: string }).text]) as unknown as JsonObject)).toEqual([
        VALUES[2] as string,
        VALUES[2] as string,
      ]);
    }
  });
});

test('the schema is an object with the text, from either name of the schema', () => {
  for (const name of ['responseSchema', 'responseJsonSchema'])
    expect(messageOf(config({ type: 'string', enum: VALUES }, name))).toMatchObject({
      output_config: { format: { type: 'json_schema', schema: wrapped } },
    });
});

test.each([
  ['{"value":"sour"}', 'sour'],
  [' {\n "value" : "sour" }\n', 'sour'],
  ['{"value":""}', ''],
  ['"sour"', 'sour'],
  ['sour', 'sour'],
  ['{"value":"so', 'so'],
  ['{"val', '{"val'],
  ['{"value":7}', '{"value":7}'],
  ['null', 'null'],
])('%s is %s', (written, read) => {
  expect(readings(message([written]) as unknown as JsonObject)).toEqual([read, read]);
});

test('the chunks of a stream have no part of the JSON', () => {
  const events = unfoldMessage(message(['{"value":"sour"}']) as unknown as JsonObject);
  const chunks = chunksOf(new AnswerStream(translate(request).answer).take(events));
  expect(chunks.map((chunk) => candidateOf(chunk).content.parts)).toEqual([[{ text: 'sour' }], [{ text: '' }]]);
});

test.each([
  [{ type: 'STRING' }],
  [{ type: 'STRING', enum: [] }],
  [{ type: 'INTEGER', enum: [1, 2] }],
  [{ type: 'OBJECT', properties: {} }],
])('a schema without texts is refused: %j', (schema) => {
  expect(refusalOf(config(schema))).toBe(
    'invalid_request: generationConfig.responseSchema: with the media type "text/x.enum" it should have an `enum` of texts',
  );
});

test('a request without a schema, and another media type, are refused', () => {
  expect(refusalOf({ generationConfig: { responseMimeType: 'text/x.enum' } })).toBe(
    'invalid_request: generationConfig.responseSchema: Field required',
  );
  expect(refusalOf({ generationConfig: { responseMimeType: 'text/html' } })).toBe(
    "invalid_request: generationConfig.responseMimeType: Input should be 'text/plain', 'application/json' or 'text/x.enum'",
  );
});

test('a provider of the same protocol gets the request as it is', () => {
  const { native } = translate(request);
  expect(JSON.parse(native?.text ?? '')).toMatchObject(request);
});
