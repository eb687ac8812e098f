// Any sequence of chunks becomes a whole Messages stream, or a fault.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ChunkConverter } from '../../../../src/providers/openai/convert-chunk.ts';
import { convertBody } from '../../../../src/providers/openai/convert-request.ts';
import { chooseProfile } from '../../../../src/providers/openai/profile.ts';
import { ProviderFault } from '../../../../src/providers/providers.ts';
import { type JsonObject, jsonObjects, type StreamEvent } from '../../../../src/wire/wire.ts';
import { attemptAt, fold } from './read-fixture.ts';

const word = fc.constantFrom('', ' ', 'a', '<think>', '</think>', 'b\n', '<thi', 'nk>');
const input = fc.constantFrom('', '{}', '{"a":', '1}', '{"a":1}', 'null', ' ', '}');
const call = fc.record(
  {
    index: fc.constantFrom(0, 1, 2),
    id: fc.constantFrom('', 'call_0', 'call_aaaaaaaa', 'call_bbbbbbbb', 'f.x:0'),
    function: fc.record({ name: fc.constantFrom('', 'f', 'g'), arguments: input }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
const delta = fc.record(
  {
    content: fc.oneof(word, fc.constant(null)),
    reasoning_content: word,
    reasoning: word,
    reasoning_details: fc.constant([{ type: 'reasoning.text', text: 'x', index: 0 }]),
    refusal: fc.constantFrom('', 'no'),
    tool_calls: fc.array(call, { maxLength: 2 }),
  },
  { requiredKeys: [] },
);
const usage = fc.record({ prompt_tokens: fc.integer(), completion_tokens: fc.double() }, { requiredKeys: [] });
const chunk = fc.oneof(
  { weight: 5, arbitrary: delta.map((one) => ({ choices: [{ index: 0, delta: one, finish_reason: null }] })) },
  { weight: 1, arbitrary: usage.map((one) => ({ choices: [], usage: one })) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('stop', 'length', 'tool_calls')
      .map((reason) => ({ choices: [{ delta: {}, finish_reason: reason }] })),
  },
  { weight: 1, arbitrary: fc.jsonValue().map((value) => ({ choices: [value], usage: value, model: value })) },
);

/** The events up to the end, or up to a fault. */
function convert(
  chunks: readonly object[],
  family: 'openai' | 'compatible',
): { events: StreamEvent[]; isWhole: boolean } {
  const attempt = attemptAt(family);
  const converter = new ChunkConverter(attempt, chooseProfile(attempt.provider.baseUrl, 'm'), null);
  const events: StreamEvent[] = [];
  try {
    for (const one of chunks) events.push(...converter.take(one as JsonObject));
    events.push(...converter.finish());
    return { events, isWhole: true };
  } catch (thrown) {
    if (thrown instanceof ProviderFault) return { events, isWhole: false };
    throw thrown;
  }
}

test('any chunks give a fault or a whole stream, with blocks in sequence and an object as every tool’s input', () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 12 }), fc.constantFrom('openai', 'compatible'), (chunks, family) => {
      const { events, isWhole } = convert(chunks, family);
      if (!isWhole) return;
      const isCut = events.at(-2)?.json.includes('"max_tokens"') === true;
      if (isCut) return; // the last tool input may be incomplete
      const content = jsonObjects(fold(events)['content']);
      for (const block of content) {
        expect(block['text']).not.toBe('');
        if (block['type'] === 'tool_use') expect(block['input']).toBeObject();
        if (block['type'] === 'thinking') expect(block['signature']).not.toBe('');
      }
      const ids = content.flatMap(({ id }) => (id === undefined ? [] : [id]));
      expect(new Set(ids).size).toBe(ids.length);
    }),
    { numRuns: 2_000 },
  );
});

test('all text of a stream is relayed in order, also between the pieces of calls', () => {
  const texts = fc.array(fc.oneof(fc.constantFrom('one ', 'two ', 'three '), fc.constant(null)), { maxLength: 10 });
  fc.assert(
    fc.property(texts, (said) => {
      const pieces = said.map((content, at) =>
        content === null
          ? {
              tool_calls: [
                { index: at, id: `call_aaaaaaa${at}a`, function: { name: 'f', arguments: at % 2 ? '{}' : '' } },
              ],
            }
          : { content },
      );
      const chunks = [...pieces, {}].map((one) => ({
        choices: [{ delta: one, finish_reason: null as string | null }],
      }));
      (chunks.at(-1)?.choices[0] as JsonObject)['finish_reason'] = 'stop';
      const content = jsonObjects(fold(convert(chunks, 'openai').events)['content']);
      expect(content.map(({ text = '' }) => text).join('')).toBe(said.join(''));
      expect(content.filter(({ type }) => type === 'tool_use')).toHaveLength(said.filter((one) => one === null).length);
    }),
    { numRuns: 300 },
  );
});

test('counts from before the last content are not treated as totals', () => {
  const counted = { prompt_tokens: 10, completion_tokens: 0 };
  const usageAfter = (last: JsonObject) =>
    convert(
      [
        { choices: [{ delta: { role: 'assistant', content: '' } }], usage: counted },
        { choices: [{ delta: { content: 'a long answer' } }] },
        { choices: [{ delta: { content: '' }, finish_reason: 'stop' }], ...last },
      ],
      'compatible',
    ).events.at(-2)?.value['usage'];
  expect(usageAfter({})).toEqual({
    input_tokens: 10,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  });
  const last = { ...counted, completion_tokens: 4 };
  expect(usageAfter({ usage: last })).toMatchObject({ output_tokens: 4 });
  const behind = { choices: [{ delta: { role: 'assistant', content: '', name: 'x' } }] };
  const { events } = convert(
    [{ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }], usage: last }, behind],
    'compatible',
  );
  expect(events.at(-2)?.value['usage']).toMatchObject({ output_tokens: 4 });
});

/** Two calls of which the first never ends, followed by these deltas. */
function convertBehindCalls(deltas: readonly object[]): ReturnType<typeof convert> {
  const head = (index: number, input: string) => ({
    index,
    id: `call_${index}aaa`,
    function: { name: 'f', arguments: input },
  });
  const begun = { tool_calls: [head(0, '{"a":"'), head(1, '{')] };
  const chunks = [begun, ...deltas].map((delta) => ({ choices: [{ delta }] }));
  return convert([...chunks, { choices: [{ delta: {}, finish_reason: 'tool_calls' }] }], 'openai');
}

test('the input of a call may arrive in any number of pieces, each of which looks like its end', () => {
  const tool_calls = Array.from({ length: 100_000 }, () => ({ index: 0, function: { arguments: '}' } }));
  const { events, isWhole } = convertBehindCalls([
    { tool_calls },
    { tool_calls: [{ index: 0, function: { arguments: '"}' } }] },
    { tool_calls: [{ index: 1, function: { arguments: '"b":"\\"}"}' } }] },
  ]);
  expect(isWhole).toBe(true);
  expect(fold(events)['content']).toMatchObject([{ input: { a: '}'.repeat(100_000) } }, { input: { b: '"}' } }]);
});

test('text after incomplete calls is held back only up to a bound', () => {
  const { isWhole } = convertBehindCalls([
    ...Array.from({ length: 17 }, () => ({ content: 'x'.repeat(1024 * 1024) })),
    {
      tool_calls: [
        { index: 0, function: { arguments: '"}' } },
        { index: 1, function: { arguments: '}' } },
      ],
    },
  ]);
  expect(isWhole).toBe(false);
});

test('a tool introduced by a message is called by its own name, however long that is', () => {
  const name = `mcp__${'x'.repeat(90)}`;
  const definition = { name, input_schema: { type: 'object' } };
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'system', content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition } }] },
  ];
  const attempt = attemptAt('openai', { messages });
  const profile = chooseProfile(attempt.provider.baseUrl, 'm');
  const [tool] = jsonObjects(convertBody(attempt, profile)['tools']);
  const sent = tool?.['function'] as JsonObject;
  const tool_calls = [{ index: 0, id: 'call_aaaaaaaa', function: { ...sent, arguments: '{}' } }];
  const converter = new ChunkConverter(attempt, profile, null);
  const events = converter.take({ choices: [{ delta: { tool_calls }, finish_reason: 'tool_calls' }] });
  expect(fold([...events, ...converter.finish()])['content']).toMatchObject([{ type: 'tool_use', name }]);
  expect(sent['name']).not.toBe(name);
});
