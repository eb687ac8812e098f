// Unknown paths get JSON in the standard error format, never a web page or a redirect.

import { afterAll, expect, test } from 'bun:test';
import { expectError, expectErrorBody, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

test.each(['/v1/complete', '/v1', '/v2/messages', '/v1/messages/x', '/index.html', '/V1/MESSAGES'])(
  '%s is route_not_found for every method, with or without a key',
  async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await fetch(`${world.url}${path}`, { method, redirect: 'manual' });
      await expectError(response, 404, 'not_found_error', 'route_not_found');
    }
  },
);

test.each([['/v1/messages/cache_touch', 'Touching a cache']])('%s says what is not offered', async (path, start) => {
  const response = await fetch(`${world.url}${path}`, { method: 'POST' });
  expect(await expectError(response, 404, 'not_found_error', 'route_not_found')).toStartWith(`${start} `);
});

test.each(['/api/nothing', '/console/nothing.js', '/console/auth/nothing'])(
  '%s is not readable by a page of another origin',
  async (path) => {
    const response = await fetch(`${world.url}${path}`, { headers: { origin: 'https://a.example' } });
    expect(response.status).toBe(404);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expectErrorBody((await response.json()) as Json, response.headers.get('request-id') as string);
  },
);

test.each(['/', '/api/hello'])('a connection test of a client at %s is answered without a key', async (path) => {
  for (const method of ['HEAD', 'GET']) expect((await fetch(`${world.url}${path}`, { method })).status).toBe(200);
});
