// Answers whose names the operator hides: model and id are replaced in every protocol, and nothing else changes.

import { expect, test } from 'bun:test';
import { type AnswerNames, showAnswer, showEvents } from '../../../src/gateway/hide-names.ts';
import { makeEvent } from '../../../src/wire/wire.ts';

const names: AnswerNames = { model: 'sold', id: '123' };

test('the beginning of a Messages stream has the name of the catalog and an id of this service, with its usage', () => {
  const message = { id: 'msg_bdrk_1', type: 'message', model: 'upstream', usage: { input_tokens: 3 } };
  const delta = makeEvent({ type: 'content_block_delta', index: 0 });
  const [start, same] = showEvents([{ ...makeEvent({ type: 'message_start', message }), usage: {} }, delta], names);
  expect(start?.value['message']).toEqual({ ...message, id: 'msg_123', model: 'sold' });
  expect(JSON.parse(start?.json ?? '')).toEqual(start?.value);
  expect(start?.usage).toEqual({});
  expect(same).toBe(delta);
});

test('an event without charges is the one that came if no name is hidden, and one with charges loses only these', () => {
  const usage = { output_tokens: 3, cost: 0.5, cost_details: { a: 1 }, is_byok: false };
  const tool = { type: 'tool_use', id: 't', name: 'pay', input: { cost: 5 } };
  const start = makeEvent({ type: 'content_block_start', index: 0, content_block: tool });
  const delta = makeEvent({ type: 'message_delta', delta: {}, usage: { output_tokens: 3 } });
  const native = { ...delta, native: [{ name: 'message', text: '{"delta":"\\"cost\\": 5"}' }] };
  const same = [start, delta, native];
  expect(showEvents(same, null)).toBe(same);
  const charged = makeEvent({ type: 'message_delta', delta: {}, usage });
  expect(showEvents([charged], null)).toEqual([delta]);
  const message = { type: 'message', content: [tool], usage };
  expect(showAnswer({ text: JSON.stringify(message), message }, null).message).toEqual({
    type: 'message',
    content: [tool],
    usage: { output_tokens: 3 },
  });
});

test('chunks of a provider of the client’s protocol lose its names and its charges, and no digit of other numbers', () => {
  const chunk =
    '{"id":"gen-1","object":"chat.completion.chunk","model":"up/stream","provider":"Azure","n":12345678901234567890,"usage":{"prompt_tokens":3,"cost":0.5}}';
  const event = {
    ...makeEvent({ type: 'message_stop' }),
    native: [
      { name: 'message', text: chunk },
      { name: 'message', text: '[DONE]' },
    ],
  };
  expect(showEvents([event], names)[0]?.native).toEqual([
    {
      name: 'message',
      text: '{"id":"chatcmpl-123","object":"chat.completion.chunk","model":"sold","n":12345678901234567890,"usage":{"prompt_tokens":3}}',
    },
    { name: 'message', text: '[DONE]' },
  ]);
});

test('whole answers of Responses, Gemini and Messages are renamed, each with ids of its protocol', () => {
  const renamed = (value: object) => JSON.parse(showAnswer({ text: JSON.stringify(value), message: null }, names).text);
  expect(renamed({ id: 'resp_1', object: 'response', model: 'up' })).toEqual({
    id: 'resp_123',
    object: 'response',
    model: 'sold',
  });
  expect(renamed({ responseId: 'x', modelVersion: 'up' })).toEqual({ responseId: '123', modelVersion: 'sold' });
  const message = { id: 'msg_vrtx_1', type: 'message', model: 'up' };
  const answer = showAnswer({ text: JSON.stringify(message), message }, names);
  expect(answer.message).toEqual({ id: 'msg_123', type: 'message', model: 'sold' });
  expect(JSON.parse(answer.text)).toEqual(answer.message);
});

test('each of the two is replaced alone if only it is hidden', () => {
  const text = '{"id":"gen-1","object":"chat.completion","model":"up","provider":"Azure"}';
  const of = (some: AnswerNames) => JSON.parse(showAnswer({ text, message: null }, some).text);
  expect(of({ model: 'sold', id: null })).toMatchObject({ id: 'gen-1', model: 'sold', provider: 'Azure' });
  expect(of({ model: null, id: '123' })).toEqual({ id: 'chatcmpl-123', object: 'chat.completion', model: 'up' });
});
