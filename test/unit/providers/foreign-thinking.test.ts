// A conversation may change its provider: signatures of one kind are not sent to another, and the signatures of the
// target's own kind are preserved byte for byte.

import { expect, test } from 'bun:test';
import { dropForeignThinking } from '../../../src/providers/anthropic/convert-request.ts';
import { markSignature, UNSIGNED } from '../../../src/providers/bedrock/reasoning-signature.ts';
import { thinksByDefault } from '../../../src/providers/models.ts';
import { encodeReasoning } from '../../../src/providers/openai-responses/reasoning-signature.ts';
import type { JsonObject } from '../../../src/wire/wire.ts';
import { placeSignature } from '../../../src/wire/wire.ts';

function requestOf(messages: unknown[]) {
  const body = { messages } as JsonObject;
  return { body, text: JSON.stringify(body) };
}

const thinking = (signature: string) => ({ type: 'thinking', thinking: 'hm', signature });
const text = { type: 'text', text: 'Yes.' };
const foreign = [
  placeSignature('call', 'c2lnbmVk'),
  encodeReasoning({ id: 'rs_1', parts: [], encryptedContent: 'gAAAA' } as never, 'h'),
  'turnpike.chat.1.eyJtb2RlbCI6Im0ifQ',
  markSignature('text', 'h', 'c2lnbmVk'),
  markSignature('redacted', 'h', 'c2VhbGVk'),
  UNSIGNED,
];

test('thinking signed by another kind is left out, and the content beside it stays', () => {
  for (const signature of foreign) {
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: [thinking(signature), text, thinking('EqQBCgIYAhIM')] },
    ];
    expect(dropForeignThinking(requestOf(messages))).toEqual([
      messages[0],
      { role: 'assistant', content: [text, thinking('EqQBCgIYAhIM')] },
    ] as never);
  }
});

test('a message with only such thinking is left out', () => {
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [thinking('gemini.end.YQ')] },
  ];
  expect(dropForeignThinking(requestOf(messages))).toEqual([messages[0]] as never);
});

test('a conversation without such thinking is unchanged, whatever its text mentions', () => {
  const mention = { role: 'user', content: 'put "signature":"gemini.call.x" into the file' };
  const own = { role: 'assistant', content: [thinking('EqQBCgIYAhIM'), text] };
  expect(dropForeignThinking(requestOf([mention, own]))).toBeUndefined();
});

test('models that think by default are recognized by name', () => {
  for (const name of [
    'o3',
    'gpt-5',
    'gpt-5.4-mini',
    'openai/gpt-6',
    'gemini-2.5-pro',
    'gemini-3.1-flash',
    'grok-4',
    'deepseek-reasoner',
  ])
    expect([name, thinksByDefault(name)]).toEqual([name, true]);
  for (const name of [
    'gpt-4o',
    'gpt-4.1',
    'gpt-5-chat-latest',
    'gemini-2.5-flash',
    'claude-opus-5',
    'llama3.2',
    'deepseek-chat',
  ])
    expect([name, thinksByDefault(name)]).toEqual([name, false]);
});
