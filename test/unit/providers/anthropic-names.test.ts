// Names in answers of Claude that are put back: they cannot make an answer longer than any other may be.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { convertEvents, requireMessage } from '../../../src/providers/anthropic/anthropic.ts';
import { ProviderFault } from '../../../src/providers/providers.ts';
import { type JsonObject, makeEvent } from '../../../src/wire/wire.ts';

const NAME = '$'.repeat(256);
const names = {
  tools: new Map(),
  properties: new Map([['f', { sent: new Map([[NAME, '_']]), own: new Map([['_', NAME]]) }]]),
};
const block = { type: 'tool_use', id: 'a', name: 'f', input: { _: 1 } };

function tooLong(run: () => unknown): void {
  expect(run).toThrow(ProviderFault);
  expect(run).toThrow('the answer of the provider is too long');
}

test('a whole answer with the client’s names is as long as any other may be', () => {
  const read = (calls: number) => {
    const value: JsonObject = { type: 'message', content: Array(calls).fill(block) };
    return requireMessage({ value, text: JSON.stringify(value), upstreamRequestId: null }, { names });
  };
  expect(read(2).text).toBe(
    JSON.stringify({ type: 'message', content: Array(2).fill({ ...block, input: { [NAME]: 1 } }) }),
  );
  tooLong(() => read(Math.ceil(bounds.upstreamBodyBytesMax / NAME.length)));
});

test('an event with the client’s names is as long as any other may be', () => {
  const converter = convertEvents(null, { names });
  const take = (event: JsonObject & { type: string }) => {
    const { name, json } = makeEvent(event);
    return converter.take({ name, text: json });
  };
  take({ type: 'content_block_start', index: 0, content_block: { ...block, input: {} } });
  const delta = (partial_json: string) =>
    ({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json } }) as const;
  expect(take(delta('{"_":1,'))).toMatchObject([{ value: { delta: { partial_json: `{"${NAME}":1,` } } }]);
  tooLong(() => take(delta('"_":1,'.repeat(Math.ceil(bounds.upstreamEventBytesMax / NAME.length)))));
});
