// A whole response of another protocol becomes one message, or a fault of its provider.

import { expect, test } from 'bun:test';
import { foldAnswer, MessageComposer } from '../../../src/providers/compose-message.ts';
import { ProviderFault } from '../../../src/providers/providers.ts';
import { makeEvent } from '../../../src/wire/wire.ts';

test('a response that is nested too deeply to be written is a fault of its provider', () => {
  const composer = new MessageComposer({ id: 'msg_1', model: 'm' });
  const input = `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`;
  const events = [...composer.beginTool('toolu_1', 'f'), ...composer.toolInput(input)];
  expect(() => foldAnswer([...events, ...composer.finish('tool_use', null, {})])).toThrow(ProviderFault);
});

test('a call whose input is an empty text has no arguments', () => {
  const composer = new MessageComposer({ id: 'msg_1', model: 'm' });
  const begun = composer.beginTool('toolu_1', 'f');
  const delta = { type: 'input_json_delta', partial_json: '' };
  const event = makeEvent({ type: 'content_block_delta', index: 0, delta });
  const { message } = foldAnswer([...begun, event, ...composer.finish('tool_use', null, {})]);
  expect(message['content']).toEqual([{ type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }]);
});
