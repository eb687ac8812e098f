// Which turns are of one conversation, and that they go one way.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config.ts';
import { Conversations } from '../../../src/gateway/routes/routes.ts';
import { type JsonObject, parseMessageRequest } from '../../../src/wire/wire.ts';
import { makeCandidate } from './make-candidate.ts';

const request = (body: JsonObject) =>
  parseMessageRequest(new TextEncoder().encode(JSON.stringify({ model: 'm', max_tokens: 9, ...body })));
const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });
const first = request({ messages: [user('hello')] });
const second = request({ messages: [user('hello'), assistant('hi'), user('and?')] });
const [a, b] = [makeCandidate('a'), makeCandidate('b')];

function lots() {
  let drawn = 0;
  return new Conversations(() => (drawn++ % 2 === 0 ? 0.25 : 0.75));
}

test('a first turn without a session is drawn by lot, and its next turn goes where it went', () => {
  const conversations = lots();
  const opened = conversations.find(1, first);
  expect([opened.lotOf('a'), opened.lotOf('a'), opened.kept]).toEqual([0.25, 0.75, null]);
  opened.keep(b);
  expect(conversations.find(1, second).kept).toBe('b');
  expect(conversations.find(2, second).kept).toBeNull();
  expect(conversations.find(1, first).kept).toBeNull();
});

test('a later turn that nobody remembers has a lot of its own, the same on every node', () => {
  const lot = lots().find(1, second).lotOf('a');
  expect(lots().find(1, second).lotOf('a')).toBe(lot);
  expect(lots().find(1, second).lotOf('b')).not.toBe(lot);
});

test('a session has its lot from its first turn on, by key and session, whatever is said in it', () => {
  const inSession = (session: string, words: string) =>
    request({ messages: [user(words)], metadata: { user_id: session } });
  const lotOf = (key: number, session: string, words: string) => lots().find(key, inSession(session, words)).lotOf('a');
  expect(lotOf(1, 's', 'hello')).toBe(lotOf(1, 's', 'other words'));
  expect(lotOf(1, 's', 'hello')).not.toBe(lotOf(1, 't', 'hello'));
  expect(lotOf(1, 's', 'hello')).not.toBe(lotOf(2, 's', 'hello'));
});

test('a session whose way failed stays where it went then', () => {
  const conversations = lots();
  const turn = request({ messages: [user('x')], metadata: { user_id: 's' } });
  conversations.find(1, turn).keep(a);
  expect(conversations.find(1, turn).kept).toBe('a');
});

test('contents in blocks are known again, and odd ones break nothing', () => {
  const conversations = lots();
  const content = [
    { type: 'text', text: 'hel' },
    { type: 'text', text: 'lo' },
  ];
  conversations.find(1, request({ messages: [{ role: 'user', content }] })).keep(a);
  expect(
    conversations.find(1, request({ messages: [{ role: 'user', content }, assistant('hi'), user('and?')] })).kept,
  ).toBe('a');
  const source = { type: 'base64', media_type: 'image/png', data: 'aGk=' };
  const image = request({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
  expect(conversations.find(1, image).kept).toBeNull();
});

test('so many are remembered, and the oldest are forgotten first', () => {
  const conversations = lots();
  const turn = (session: number) => request({ messages: [user('x')], metadata: { user_id: `s${session}` } });
  for (let session = 0; session <= bounds.conversationsRememberedMax; session++)
    conversations.find(1, turn(session)).keep(a);
  expect(conversations.find(1, turn(0)).kept).toBeNull();
  expect(conversations.find(1, turn(1)).kept).toBe('a');
});

test('conversations that began with the same words each stay with their way from their second turn on', () => {
  const conversations = lots();
  const turn = (said: string) => [user('hello'), assistant('hi'), user(said)];
  conversations.find(1, request({ messages: turn('one') })).keep(a);
  conversations.find(1, first).keep(b); // another begins
  conversations.find(1, request({ messages: turn('two') })).keep(b);
  const later = (said: string) => request({ messages: [...turn(said), assistant('yes'), user('more')] });
  expect(conversations.find(1, later('one')).kept).toBe('a');
  expect(conversations.find(1, later('two')).kept).toBe('b');
});

test('examples before the first turn part their messages by lot, and not all to one way', () => {
  const lotOf = (said: string) =>
    lots()
      .find(1, request({ messages: [user('an example'), assistant('its answer'), user(said)] }))
      .lotOf('a');
  expect(lotOf('one')).not.toBe(lotOf('two'));
});

test('a session that uses two models keeps a way for each', () => {
  const conversations = lots();
  const turn = (model: string) => request({ model, messages: [user('x')], metadata: { user_id: 's' } });
  conversations.find(1, turn('large')).keep(a);
  conversations.find(1, turn('small')).keep(b);
  expect(conversations.find(1, turn('large')).kept).toBe('a');
});

test('of names and words no more is looked at than its bound, however long they are', () => {
  const conversations = lots();
  const long = 'x'.repeat(bounds.conversationNameCharactersMax);
  const session = (end: string) => request({ messages: [user('x')], metadata: { user_id: long + end } });
  conversations.find(1, session('one')).keep(a);
  expect(conversations.find(1, session('two')).kept).toBe('a');
  const parts = (end: string) => [long, end].map((text) => ({ type: 'text', text }));
  const turn = (end: string, ...more: JsonObject[]) =>
    request({ messages: [{ role: 'user', content: parts(end) }, ...more] });
  conversations.find(1, turn('one')).keep(b);
  expect(conversations.find(1, turn('two', assistant('hi'), user('and?'))).kept).toBe('b');
});
