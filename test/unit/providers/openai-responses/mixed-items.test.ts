// However the pieces of the provider's items are interleaved, and whatever arrives only at the end, the message is
// the same as without streaming.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { foldAnswer } from '../../../../src/providers/compose-message.ts';
import { ChunkConverter, convertAnswer } from '../../../../src/providers/openai-responses/convert-chunk.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { fold, TERMS } from './convert-fixture.ts';

const texts = fc.array(fc.string({ minLength: 1, unit: 'grapheme' }), { minLength: 1, maxLength: 3 });
const items: fc.Arbitrary<JsonObject> = fc.oneof(
  texts.map((parts) => ({ type: 'message', content: parts.map((text) => ({ type: 'output_text', text })) })),
  fc.record({ parts: texts, sealed: fc.string() }).map(({ parts, sealed }) => ({
    type: 'reasoning',
    id: 'rs',
    summary: parts.map((text) => ({ type: 'summary_text', text })),
    encrypted_content: sealed,
  })),
  fc
    .record({ id: fc.stringMatching(/^call_\w{4}$/), input: fc.dictionary(fc.string(), fc.integer()) })
    .map(({ id, input }) => ({ type: 'function_call', call_id: id, name: 'look', arguments: JSON.stringify(input) })),
);

/** How an item is sent: a number of characters of each part at a time, or only its end. */
interface Sending {
  item: JsonObject;
  characters: number;
  saysDone: boolean;
}
const sendings: fc.Arbitrary<Sending> = fc.record({
  item: items,
  characters: fc.constantFrom(0, 1, 3, 1_000),
  saysDone: fc.boolean(),
});

function eventsOf({ item, characters, saysDone }: Sending, output_index: number): JsonObject[] {
  const pieces = (type: string, whole: string, text: string, members: JsonObject): JsonObject[] => {
    const deltas = characters === 0 ? [] : (text.match(new RegExp(`[^]{1,${characters}}`, 'g')) ?? []);
    const done = saysDone ? [{ type: `${type}.done`, output_index, ...members, [whole]: text }] : [];
    return [...deltas.map((delta) => ({ type: `${type}.delta`, output_index, ...members, delta })), ...done];
  };
  const parts = (item['content'] ?? item['summary'] ?? []) as { text: string }[];
  const [type, place] =
    item['type'] === 'message'
      ? ['response.output_text', 'content_index']
      : ['response.reasoning_summary_text', 'summary_index'];
  const begun = item['type'] === 'function_call' ? { ...item, arguments: '' } : { type: item['type'] as string };
  return [
    { type: 'response.output_item.added', output_index, item: begun },
    ...parts.flatMap(({ text }, index) => pieces(type as string, 'text', text, { [place as string]: index })),
    ...(item['type'] === 'function_call'
      ? pieces('response.function_call_arguments', 'arguments', item['arguments'] as string, {})
      : []),
    { type: 'response.output_item.done', output_index, item },
  ];
}

/** One of the possible orders of events: items begin in order, and the events of each item are in order. */
function mix(queues: JsonObject[][], choices: readonly number[]): JsonObject[] {
  const mixed: JsonObject[] = [];
  let begun = 0;
  for (let turn = 0; queues.some((queue) => queue.length > 0); turn++) {
    const open = queues.slice(0, begun).filter((queue) => queue.length > 0);
    const choice = choices[turn % choices.length] ?? 0;
    if (begun < queues.length && (open.length === 0 || choice % 3 === 0)) {
      mixed.push((queues[begun] as JsonObject[]).shift() as JsonObject);
      begun++;
    } else mixed.push((open[choice % open.length] as JsonObject[]).shift() as JsonObject);
  }
  return mixed;
}

test('interleaved items become the same message as whole ones', () => {
  const choices = fc.array(fc.nat(20), { minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(fc.array(sendings, { maxLength: 5 }), choices, (sent, chosen) => {
      const output = sent.map(({ item }) => item);
      const response = { status: 'completed', model: 'm', output, usage: { input_tokens: 1, output_tokens: 2 } };
      const converter = new ChunkConverter(TERMS);
      const chunks = [...mix(sent.map(eventsOf), chosen), { type: 'response.completed', response }];
      const events = chunks.flatMap((chunk) => converter.add(chunk));
      expect(events.filter(({ name }) => name === 'message_start')).toHaveLength(1);
      const { model: _, ...streamed } = fold(events);
      const { model: __, ...whole } = foldAnswer(convertAnswer(response, TERMS)).message;
      expect(streamed).toEqual(whole);
    }),
    { numRuns: 500 },
  );
});
