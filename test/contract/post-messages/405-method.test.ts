// A request with an unsupported method gets the list of supported ones.

import { afterAll, expect, test } from 'bun:test';
import { expectError, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

test.each([
  ['/v1/messages', 'GET', 'POST, OPTIONS'],
  ['/messages', 'PUT', 'POST, OPTIONS'],
  ['/v1/messages', 'DELETE', 'POST, OPTIONS'],
  ['/v1/messages/count_tokens', 'GET', 'POST, OPTIONS'],
  ['/v1/models', 'POST', 'GET, HEAD, OPTIONS'],
  ['/v1/models/plain', 'DELETE', 'GET, HEAD, OPTIONS'],
])('%s refuses %s and allows %s', async (path, method, allow) => {
  const response = await fetch(`${world.url}${path}`, { method });
  expect(response.headers.get('allow')).toBe(allow);
  await expectError(response, 405, 'invalid_request_error', 'method_not_allowed');
});
