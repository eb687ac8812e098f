// A whole answer of another protocol as one message, or a fault of its provider.

import { expect, test } from 'bun:test';
import { MessageComposer } from '../../src/providers/compose-message.ts';
import { foldAnswer } from '../../src/providers/fold-answer.ts';
import { ProviderFault } from '../../src/providers/providers.ts';

test('an answer that is nested deeper than can be written is a fault of its provider', () => {
  const composer = new MessageComposer({ id: 'msg_1', model: 'm' });
  const input = `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`;
  const events = [...composer.beginTool('toolu_1', 'f'), ...composer.toolInput(input)];
  expect(() => foldAnswer([...events, ...composer.finish('tool_use', null, {})])).toThrow(ProviderFault);
});
