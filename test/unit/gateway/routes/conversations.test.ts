// Which turns belong to one conversation, and that they use the same target.

import { expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { Conversations } from '../../../../src/gateway/conversations.ts';
import { type JsonObject, parseMessageRequest } from '../../../../src/wire/wire.ts';
import { makeTarget } from './make-target.ts';

const request = (body: JsonObject) =>
  parseMessageRequest(new TextEncoder().encode(JSON.stringify({ model: 'm', max_tokens: 9, ...body })));
const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const first = request({ messages: [user('hello')] });
const second = request({ messages: [user('hello'), assistant('hi'), user('and?')] });
const [a, b] = [makeTarget('a'), makeTarget('b')];

function lots() {
  let drawn = 0;
  return new Conversations(() => (drawn++ % 2 === 0 ? 0.25 : 0.75));
}

test('a first turn without a session is placed at random, and the next turn follows it', () => {
  const conversations = lots();
  const opened = conversations.find(1, 1, first);
  expect([opened.drawOf('a'), opened.drawOf('a'), opened.kept]).toEqual([0.25, 0.75, null]);
  opened.keep(b);
  expect(conversations.find(1, 1, second).kept).toBe('b');
  expect(conversations.find(1, 2, second).kept).toBeNull();
  expect(conversations.find(1, 1, first).kept).toBeNull();
});

test('a later turn of an unknown conversation is placed by hash, equally on every node', () => {
  const lot = lots().find(1, 1, second).drawOf('a');
  expect(lots().find(1, 1, second).drawOf('a')).toBe(lot);
  expect(lots().find(1, 1, second).drawOf('b')).not.toBe(lot);
});

test('a session is placed by its key and name from its first turn, whatever its text', () => {
  const inSession = (session: string, words: string) =>
    request({ messages: [user(words)], metadata: { user_id: session } });
  const drawOf = (key: number, session: string, words: string) =>
    lots().find(1, key, inSession(session, words)).drawOf('a');
  expect(drawOf(1, 's', 'hello')).toBe(drawOf(1, 's', 'other words'));
  expect(drawOf(1, 's', 'hello')).not.toBe(drawOf(1, 't', 'hello'));
  expect(drawOf(1, 's', 'hello')).not.toBe(drawOf(2, 's', 'hello'));
});

test('a session whose target failed stays on its new target', () => {
  const conversations = lots();
  const turn = request({ messages: [user('x')], metadata: { user_id: 's' } });
  conversations.find(1, 1, turn).keep(a);
  expect(conversations.find(1, 1, turn).kept).toBe('a');
});

test('block contents are recognized, and malformed ones are harmless', () => {
  const conversations = lots();
  const content = [
    { type: 'text', text: 'hel' },
    { type: 'text', text: 'lo' },
  ];
  conversations.find(1, 1, request({ messages: [{ role: 'user', content }] })).keep(a);
  expect(
    conversations.find(1, 1, request({ messages: [{ role: 'user', content }, assistant('hi'), user('and?')] })).kept,
  ).toBe('a');
  const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' };
  const image = request({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
  expect(conversations.find(1, 1, image).kept).toBeNull();
});

test('remembered conversations are bounded; the oldest are evicted first', () => {
  const conversations = lots();
  const turn = (session: number) => request({ messages: [user('x')], metadata: { user_id: `s${session}` } });
  for (let session = 0; session <= bounds.conversationsRememberedMax; session++)
    conversations.find(1, 1, turn(session)).keep(a);
  expect(conversations.find(1, 1, turn(0)).kept).toBeNull();
  expect(conversations.find(1, 1, turn(1)).kept).toBe('a');
});

test('conversations of one account evict none of another', () => {
  const conversations = lots();
  const turn = (session: number) => request({ messages: [user('x')], metadata: { user_id: `s${session}` } });
  conversations.find(1, 1, turn(0)).keep(a);
  for (let session = 0; session <= bounds.conversationsRememberedMax; session++)
    conversations.find(2, session % 100, turn(session)).keep(b);
  expect(conversations.find(1, 1, turn(0)).kept).toBe('a');
});

test('conversations with the same first words keep their targets from the second turn on', () => {
  const conversations = lots();
  const turn = (said: string) => [user('hello'), assistant('hi'), user(said)];
  conversations.find(1, 1, request({ messages: turn('one') })).keep(a);
  conversations.find(1, 1, first).keep(b); // another conversation begins
  conversations.find(1, 1, request({ messages: turn('two') })).keep(b);
  const later = (said: string) => request({ messages: [...turn(said), assistant('yes'), user('more')] });
  expect(conversations.find(1, 1, later('one')).kept).toBe('a');
  expect(conversations.find(1, 1, later('two')).kept).toBe('b');
});

test('conversations that begin with the same few-shot examples are distributed', () => {
  const drawOf = (said: string) =>
    lots()
      .find(1, 1, request({ messages: [user('an example'), assistant('its answer'), user(said)] }))
      .drawOf('a');
  expect(drawOf('one')).not.toBe(drawOf('two'));
});

test('a session with two models keeps a target for each', () => {
  const conversations = lots();
  const turn = (model: string) => request({ model, messages: [user('x')], metadata: { user_id: 's' } });
  conversations.find(1, 1, turn('large')).keep(a);
  conversations.find(1, 1, turn('small')).keep(b);
  expect(conversations.find(1, 1, turn('large')).kept).toBe('a');
});

test('only a bounded prefix of session names and texts is hashed', () => {
  const conversations = lots();
  const long = 'x'.repeat(bounds.conversationNameCharactersMax);
  const session = (end: string) => request({ messages: [user('x')], metadata: { user_id: long + end } });
  conversations.find(1, 1, session('one')).keep(a);
  expect(conversations.find(1, 1, session('two')).kept).toBe('a');
  const parts = (end: string) => [long, end].map((text) => ({ type: 'text', text }));
  const turn = (end: string, ...more: JsonObject[]) =>
    request({ messages: [{ role: 'user', content: parts(end) }, ...more] });
  conversations.find(1, 1, turn('one')).keep(b);
  expect(conversations.find(1, 1, turn('two', assistant('hi'), user('and?'))).kept).toBe('b');
});
