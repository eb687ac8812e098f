// A body that is no JSON: refused before anything is taken, to a caller who is known.

import { afterAll, expect, test } from 'bun:test';
import { expectError, expectNoTrace, startWorld } from './world.ts';

const world = await startWorld();
afterAll(() => world.stop());
const caller = await world.makeKey();

const GOOD_JSON = '{"model":"plain","max_tokens":8,"messages":[{"role":"user","content":"hello"}]}';

test.each([
  ['empty', ''],
  ['a word', 'hello'],
  ['cut off', GOOD_JSON.slice(0, -1)],
  ['with something after its end', `${GOOD_JSON}x`],
  ['with a comma too many', GOOD_JSON.replace('}]', ',}]')],
  ['in single quotes', GOOD_JSON.replaceAll('"', "'")],
  ['with a comment', `/* hi */${GOOD_JSON}`],
  ['a form', 'model=plain&max_tokens=8'],
])('a body that is %s is invalid_json', async (_words, body) => {
  await expectError(await world.post(caller.secret, body), 400, 'invalid_request_error', 'invalid_json', /JSON/);
});

test('a body that is not UTF-8 is refused, never mended', async () => {
  const bytes = Buffer.from(GOOD_JSON.replace('hello', 'h\u00e9llo'), 'latin1');
  const response = await world.post(caller.secret, '', { body: bytes });
  await expectError(response, 400, 'invalid_request_error', 'invalid_json', /UTF-8/);
});

test('nothing was sent on, and nothing was charged', async () => {
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller);
});
