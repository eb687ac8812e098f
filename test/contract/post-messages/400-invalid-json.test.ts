// A body that is not valid JSON is refused after the key check and before anything is reserved.

import { afterAll, expect, test } from 'bun:test';
import { expectError, expectNoTrace, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());
const caller = await world.makeKey();

const GOOD_JSON = '{"model":"plain","max_tokens":8,"messages":[{"role":"user","content":"hello"}]}';

test.each([
  ['that is empty', ''],
  ['that is a word', 'hello'],
  ['that is cut off', GOOD_JSON.slice(0, -1)],
  ['that is followed by more text', `${GOOD_JSON}x`],
  ['with an extra comma', GOOD_JSON.replace('}]', ',}]')],
  ['that is in single quotes', GOOD_JSON.replaceAll('"', "'")],
  ['with a comment', `/* hi */${GOOD_JSON}`],
  ['that is a form', 'model=plain&max_tokens=8'],
])('a body %s is invalid_json', async (_words, body) => {
  await expectError(await world.post(caller.secret, body), 400, 'invalid_request_error', 'invalid_json', /JSON/);
});

test('a body that is not UTF-8 is refused, never repaired', async () => {
  const bytes = Buffer.from(GOOD_JSON.replace('hello', 'h\u00e9llo'), 'latin1');
  const response = await world.post(caller.secret, '', { body: bytes });
  await expectError(response, 400, 'invalid_request_error', 'invalid_json', /UTF-8/);
});

test('nothing was sent to a provider, and nothing was charged', async () => {
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller);
});
