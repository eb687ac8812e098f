// Bodies that are not declared as JSON, and compressed ones.

import { afterAll, expect, test } from 'bun:test';
import { bodyOf, expectError, expectNoTrace, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());
const caller = await world.makeKey();

test.each([
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonx',
  'json',
  '',
])('a body declared as "%s" is content_type_unsupported', async (type) => {
  const response = await world.post(caller.secret, bodyOf(), { headers: { 'content-type': type } });
  await expectError(response, 415, 'invalid_request_error', 'content_type_unsupported', /application\/json/);
});

test.each(['gzip', 'br', 'deflate', 'zstd', 'x-unknown'])(
  'a body in %s is refused, whatever it contains',
  async (encoding) => {
    const text = JSON.stringify(bodyOf());
    const body = encoding === 'gzip' ? Bun.gzipSync(text) : text;
    const response = await world.post(caller.secret, '', { body, headers: { 'content-encoding': encoding } });
    await expectError(response, 415, 'invalid_request_error', 'content_type_unsupported', /uncompressed/);
  },
);

test('nothing was sent to a provider, and nothing was charged', async () => {
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller);
});
