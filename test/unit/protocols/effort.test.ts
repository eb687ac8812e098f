// Efforts and thinking of Chat Completions: what a provider is sent is what a front reads from it.

import { expect, test } from 'bun:test';
import { EFFORTS } from '../../../src/model-facts/model-facts.ts';
import { effortMembers, readChatEffort, writeChatEffort } from '../../../src/protocols/effort.ts';
import { detailOf, openReasoning, SignedJson, sealReasoning, thinkingOf } from '../../../src/protocols/thinking.ts';
import type { JsonObject } from '../../../src/wire/wire.ts';

const messageOf = (chat: JsonObject) => effortMembers(readChatEffort(chat), null, '', new Map());

const NAMED = EFFORTS.filter((effort) => effort !== 'none' && effort !== 'minimal').map((effort) => ({
  output_config: { effort },
  thinking: { type: 'adaptive' },
}));
const OFF = { thinking: { type: 'disabled' } };
const ON = { thinking: { type: 'adaptive' } };
const BUDGET = { thinking: { type: 'enabled', budget_tokens: 5_000 } };

test.each([
  ['reasoning_effort', [...NAMED, OFF]],
  ['thinking', [...NAMED, OFF, ON]],
  ['reasoning', [...NAMED, OFF, ON, BUDGET]],
] as const)('an effort that is written as %s is read as the same one', (form, messages) => {
  for (const message of messages) expect(messageOf(writeChatEffort(form, message, EFFORTS))).toEqual(message);
});

test('details of thinking are read as the blocks of which they were made', () => {
  const blocks = [
    { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'x' },
    { type: 'thinking', thinking: '', signature: 'c2ln' },
  ];
  const read = thinkingOf({ reasoning_details: blocks.map(detailOf) }, 'messages.0');
  expect(read.map(({ block }) => block)).toEqual(blocks);
});

test('sealed reasoning is opened for its model alone', () => {
  const details = [{ type: 'reasoning.text', text: 'Hm.', index: 0 }];
  const signed = new SignedJson();
  expect(openReasoning(sealReasoning('m', details), 'm', signed)).toEqual(details);
  expect(openReasoning(sealReasoning('m', details), 'n', signed)).toEqual([]);
  expect(openReasoning(sealReasoning('m', []), 'm', signed)).toEqual([]);
});
