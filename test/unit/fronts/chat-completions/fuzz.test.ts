// Any request is accepted or refused, and never causes an internal error. Any message gives the same response
// streamed and whole, and survives the round trip.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { TurnpikeError } from '../../../../src/errors.ts';
import { convertMessage } from '../../../../src/fronts/chat-completions/convert-message.ts';
import { type JsonObject, parseMessageRequest, unfoldMessage } from '../../../../src/wire/wire.ts';
import { chunksOf, foldChunks } from './chunks.ts';
import { bytesOf, messagesOf, readBytes, streamWith, termsOf, user } from './read-as-messages.ts';

const anything = fc.jsonValue({ maxDepth: 3 });
const rarely = <Value>(odd: fc.Arbitrary<Value>) => fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, odd);
const nearly = <Value>(right: fc.Arbitrary<Value>) => fc.oneof({ weight: 60, arbitrary: right }, anything);
/** An object that always has the first field, and may have the others. */
const record = (model: Record<string, fc.Arbitrary<unknown>>) =>
  nearly(fc.record(model, { requiredKeys: Object.keys(model).slice(0, 2) }));
const BLOCKS = ['image', 'document', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking'];
const words = fc.oneof(
  fc.constantFrom('', 'hello', 'data:image/png;base64,AAAA', 'https://a.example/b', '{"a":1}'),
  fc.string(),
);
const listOf = (arbitrary: fc.Arbitrary<unknown>) => nearly(fc.array(arbitrary, { maxLength: 4 }));

const source = record({ type: fc.constantFrom('base64', 'url', 'file'), media_type: words, data: words, url: words });
const part = record({
  type: nearly(fc.constantFrom('text', 'image_url', 'file', 'refusal', 'input_audio', ...BLOCKS)),
  text: nearly(words),
  image_url: fc.oneof(words, record({ url: nearly(words) })),
  file: record({ file_data: words, file_id: words, filename: words }),
  refusal: nearly(words),
  cache_control: record({ type: words }),
  ...{
    source,
    id: words,
    name: words,
    input: record({ x: anything }),
    tool_use_id: words,
    content: fc.oneof(words, listOf(words)),
  },
  ...{ thinking: words, signature: words, data: words, is_error: fc.boolean() },
});
const call = record({
  id: nearly(words),
  type: nearly(fc.constantFrom('function', 'custom')),
  custom: record({ name: words, input: words }),
  function: record({ name: nearly(words), arguments: nearly(words) }),
});
const message = record({
  role: nearly(fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function')),
  content: fc.oneof(words, listOf(part)),
  tool_calls: listOf(call),
  function_call: rarely(record({ name: words, arguments: nearly(words) })),
  tool_call_id: nearly(words),
  reasoning_details: listOf(
    record({ type: nearly(fc.constantFrom('reasoning.text', 'reasoning.encrypted')), text: words, data: words }),
  ),
  reasoning_content: words,
});
const choices = ['auto', 'none', 'required', { type: 'function', function: { name: 'f' } }];
const request = record({
  model: nearly(fc.constant('m')),
  messages: listOf(message),
  tools: listOf(
    record({
      type: fc.constantFrom('function', 'custom'),
      function: record({ name: words, parameters: anything }),
      custom: record({ name: words, format: anything }),
      name: words,
      input_schema: anything,
    }),
  ),
  system: rarely(fc.oneof(words, listOf(part))),
  tool_choice: nearly(fc.constantFrom(...choices)),
  functions: rarely(listOf(record({ name: words, parameters: anything }))),
  function_call: rarely(fc.constantFrom('auto', 'none', { name: 'f' })),
  stop: fc.oneof(words, listOf(words)),
  max_tokens: nearly(fc.integer()),
  temperature: nearly(fc.double({ min: 0, max: 2, noNaN: true })),
  response_format: record({
    type: fc.constantFrom('json_schema', 'json_object'),
    json_schema: record({ schema: anything }),
  }),
  reasoning_effort: nearly(fc.constantFrom('none', 'low')),
  stream_options: nearly(fc.constant(null)),
  user: nearly(words),
  n: nearly(fc.constant(1)),
  ['__proto__']: anything,
});

const item = record({
  role: nearly(fc.constantFrom('system', 'user', 'assistant')),
  content: fc.oneof(words, listOf(record({ type: fc.constantFrom('input_text', 'output_text'), text: words }))),
});
const calledItem = record({
  type: fc.constantFrom('function_call', 'function_call_output', 'custom_tool_call', 'reasoning'),
  call_id: words,
  ...{ name: words, arguments: words, input: words, output: words },
});
/** A body of Responses at this path. */
const itemRequest = record({
  model: nearly(fc.constant('m')),
  input: fc.oneof(words, listOf(fc.oneof(item, calledItem))),
  instructions: rarely(words),
  tools: listOf(record({ type: fc.constantFrom('function', 'custom'), name: words, function: anything })),
  tool_choice: nearly(fc.constantFrom(...choices)),
  max_output_tokens: rarely(fc.integer()),
  max_tokens: rarely(fc.integer()),
  store: fc.boolean(),
  stop: rarely(listOf(words)),
});

test.each([
  ['this protocol', request],
  ['Responses', itemRequest],
])('a request of %s of any form is accepted or refused with a 400 that names its field', (_, requests) => {
  let readCount = 0;
  fc.assert(
    fc.property(requests, (body) => {
      try {
        const bytes = new TextEncoder().encode(readBytes(bytesOf(JSON.stringify(body))));
        readCount++;
        parseMessageRequest(bytes);
      } catch (thrown) {
        if (!(thrown instanceof TurnpikeError)) throw thrown;
        expect(thrown.status).toBe(400);
        expect(thrown.message).toMatch(/^[\w.-]+: /);
      }
    }),
    { numRuns: 1_500 },
  );
  expect(readCount).toBeGreaterThan(50);
});

const block = fc.oneof(
  fc.record({ type: fc.constant('text'), text: fc.string({ minLength: 1 }) }),
  fc.record({ type: fc.constant('thinking'), thinking: fc.string(), signature: fc.string({ minLength: 1 }) }),
  fc.record({ type: fc.constant('redacted_thinking'), data: fc.string() }),
  fc.record({
    type: fc.constant('tool_use'),
    id: fc.stringMatching(/^[\w-]{1,20}$/),
    name: fc.string({ minLength: 1 }),
    input: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.jsonValue({ maxDepth: 2 })),
  }),
);
/** The blocks with distinct ids, as in a message. */
const withIdsOfTheirOwn = <Block extends object>(blocks: Block[]): Block[] =>
  blocks.map((one, place) => ('id' in one ? { ...one, id: `${one.id}-${place}` } : one));
const anyMessage = fc.record({
  id: fc.constant('msg_1'),
  model: fc.string(),
  content: fc.array(block, { maxLength: 6 }).map(withIdsOfTheirOwn),
  stop_reason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens'),
  usage: fc.record({ input_tokens: fc.nat(), cache_read_input_tokens: fc.nat(), output_tokens: fc.nat() }),
});
/** The value after a JSON round trip, which has no negative zero. */
const throughJson = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value));

test('a streamed message gives the same response as a whole one', () => {
  const terms = termsOf({ stream: true, stream_options: { include_usage: true } });
  fc.assert(
    fc.property(anyMessage, (said) => {
      const written = streamWith(terms).take(unfoldMessage(said as JsonObject));
      const whole = JSON.parse(convertMessage(said as JsonObject, terms, 0));
      const chunks = chunksOf(written);
      expect(foldChunks(chunks)).toEqual(whole.choices[0]);
      expect(chunks.at(-1)?.['usage']).toEqual(whole.usage);
      expect(written).toEndWith('data: [DONE]\n\n');
    }),
    { numRuns: 300 },
  );
});

test('a response that is sent back becomes the message again, its thinking first, its calls last', () => {
  fc.assert(
    fc.property(anyMessage.map(throughJson), (said) => {
      const { choices } = JSON.parse(convertMessage(said as JsonObject, termsOf({}), 0));
      const back = messagesOf([user(), choices[0].message])[1]?.['content'] ?? [];
      const of = (...types: string[]) => said.content.filter(({ type }) => types.includes(type));
      const text = of('text')
        .map((one) => (one as { text: string }).text)
        .join('');
      expect(back as object[]).toEqual([
        ...of('thinking', 'redacted_thinking'),
        ...(text.trim() === '' ? [] : [{ type: 'text', text }]),
        ...of('tool_use'),
      ]);
    }),
    { numRuns: 300 },
  );
});
