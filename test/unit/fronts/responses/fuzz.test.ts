// Requests of any form, and answers of any content: translated, or refused with the field's path.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { TurnpikeError } from '../../../../src/errors.ts';
import { AnswerStream } from '../../../../src/fronts/answer-stream.ts';
import { type JsonObject, parseMessageRequest, unfoldMessage } from '../../../../src/wire/wire.ts';
import { lastResponse, translate } from './read-response.ts';

const anything = fc.jsonValue({ maxDepth: 2 });
/** The value, or now and then anything. */
const nearly = (value: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 9, arbitrary: value }, { weight: 1, arbitrary: anything });
const record = (shape: Record<string, fc.Arbitrary<unknown>>) => nearly(fc.record(shape, { requiredKeys: [] }));
const listOf = (value: fc.Arbitrary<unknown>) => nearly(fc.array(value, { maxLength: 4 }));
const words = fc.constantFrom(
  '',
  'a',
  'f',
  '{}',
  '{"a":1}',
  '[',
  'data:image/png;base64,aGk=',
  'https://example.org/a',
);

const part = record({
  type: nearly(
    fc.constantFrom(
      ...['input_text', 'output_text', 'refusal', 'input_image', 'input_file'],
      ...['text', 'image_url', 'file', 'tool_use', 'tool_result'],
    ),
  ),
  text: nearly(words),
  refusal: nearly(words),
  image_url: nearly(words),
  file_data: words,
  file_id: nearly(fc.constant(null)),
});
const tool = record({
  type: nearly(fc.constantFrom('function', 'custom', 'namespace', 'tool_search', 'web_search')),
  name: nearly(fc.constantFrom('f', 'g')),
  execution: fc.constantFrom('client', 'server'),
  parameters: nearly(fc.constant({ type: 'object' })),
  tools: listOf(record({ type: nearly(fc.constant('function')), name: nearly(fc.constantFrom('f', 'g')) })),
});
const item = record({
  type: nearly(
    fc.constantFrom(
      ...['message', 'reasoning', 'function_call', 'custom_tool_call', 'function_call_output', 'tool_search_call'],
      ...['tool_search_output', 'additional_tools', 'configuration_update', 'web_search_call', 'item_reference'],
    ),
  ),
  role: nearly(fc.constantFrom('user', 'assistant', 'system', 'developer', 'tool')),
  tool_calls: listOf(
    record({ id: nearly(words), type: words, function: record({ name: nearly(words), arguments: nearly(words) }) }),
  ),
  tool_call_id: nearly(words),
  id: fc.constantFrom('rs_1', 'msg_1'),
  content: fc.oneof(words, listOf(part)),
  call_id: nearly(words),
  name: nearly(words),
  namespace: words,
  arguments: nearly(words),
  input: nearly(words),
  output: nearly(fc.oneof(words, listOf(part))),
  encrypted_content: fc.oneof(words, fc.constantFrom('turnpike.responses.1.thinking.YQ.b', 'turnpike.responses.1.x')),
  tools: listOf(tool),
  reasoning: record({ effort: nearly(fc.constant('low')) }),
});
const request = record({
  model: nearly(fc.constant('m')),
  input: nearly(fc.oneof(words, fc.array(item, { maxLength: 5 }))),
  instructions: nearly(words),
  tools: listOf(tool),
  tool_choice: nearly(fc.constantFrom('auto', 'none', { type: 'function', name: 'f' })),
  reasoning: record({ effort: nearly(fc.constantFrom('none', 'high')), summary: words }),
  text: record({ format: record({ type: nearly(fc.constant('json_schema')), schema: anything }) }),
  max_output_tokens: nearly(fc.nat()),
  include: listOf(words),
  later: anything,
  ['__proto__']: anything,
});

test('a request of any form is accepted or refused with a 400 that names its field', () => {
  let readCount = 0;
  fc.assert(
    fc.property(request, (body) => {
      try {
        const { message, native } = translate(JSON.stringify(body));
        readCount++;
        const sent = JSON.parse(native?.text ?? '{}');
        expect(JSON.stringify(sent)).not.toMatch(/"(?:file_id|later|web_search|item_reference)"/);
        expect([...(native?.members.keys() ?? [])]).toEqual(Object.keys(sent));
        parseMessageRequest(new TextEncoder().encode(JSON.stringify(message)));
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
    name: fc.constantFrom('f', 'patch', 'tool_search'),
    input: fc.dictionary(fc.constantFrom('input', 'a'), fc.jsonValue({ maxDepth: 2 })),
  }),
);
const anyMessage = fc.record({
  id: fc.constant('msg_1'),
  model: fc.string(),
  content: fc.array(block, { maxLength: 6 }),
  stop_reason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens'),
  usage: fc.record({ input_tokens: fc.nat(), cache_read_input_tokens: fc.nat(), output_tokens: fc.nat() }),
});

test('an answer of any content is the same whole and streamed, and its thinking comes back as it was', () => {
  const tools = [
    { type: 'custom', name: 'patch' },
    { type: 'tool_search', execution: 'client', parameters: {} },
  ];
  const asked = { model: 'm', input: 'Hi', tools, reasoning: { summary: 'auto' } };
  fc.assert(
    fc.property(anyMessage, (message) => {
      const { answer } = translate(asked);
      const whole = JSON.parse(answer.message(message as unknown as JsonObject));
      const events = unfoldMessage(message as unknown as JsonObject);
      expect(lastResponse(new AnswerStream(answer).take(events))).toEqual(whole);
      const input = [{ role: 'user', content: 'Hi' }, ...whole.output];
      const { messages } = translate({ ...asked, input }).message as { messages: { content: JsonObject[] }[] };
      const thoughts = (blocks: readonly object[]) =>
        blocks.filter((one) => ['thinking', 'redacted_thinking'].includes((one as JsonObject)['type'] as string));
      expect(thoughts(messages[1]?.content ?? [])).toEqual(thoughts(message.content));
    }),
    { numRuns: 300 },
  );
});
