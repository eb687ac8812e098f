// Browsers: every preflight is answered, and the page can read every response below /v1, including errors and
// streams.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectErrorEvent, expectMoney, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());
const origin = 'https://app.example.com';

test.each(['/v1/messages', '/messages', '/v1/messages/count_tokens', '/v1/models', '/v1/nothing'])(
  'the preflight of %s needs no key, and allows what it requests',
  async (path) => {
    const requestedHeaders = 'authorization, x-api-key, content-type, anthropic-version, x-stainless-lang';
    const response = await fetch(`${world.url}${path}`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': requestedHeaders,
        'access-control-request-private-network': 'true',
      },
    });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe('');
    const headers = Object.fromEntries(response.headers);
    expect(headers['access-control-allow-origin']).toBe(origin);
    expect(headers['access-control-allow-headers']).toBe(requestedHeaders);
    expect(headers['access-control-allow-methods']).toContain('POST');
    expect(Number(headers['access-control-max-age'])).toBeGreaterThan(0);
    expect(headers['access-control-allow-private-network']).toBe('true');
    expect(headers['access-control-allow-credentials']).toBeUndefined();
    expect(headers['vary']).toContain('origin');
    expect(headers['request-id']).toStartWith('req_');
  },
);

test('the admin API is not readable by a page of another origin, and its preflight is refused', async () => {
  for (const method of ['OPTIONS', 'GET']) {
    const response = await fetch(`${world.url}/api/v1/accounts`, { method, headers: { origin } });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(response.headers.get('access-control-allow-headers')).toBeNull();
  }
});

test('a page can read every kind of response, with the headers that control a client', async () => {
  const caller = await world.makeKey({}, { rpm: 4 });
  const post = (body: unknown, secret = caller.secret) => world.post(secret, body, { headers: { origin } });
  world.upstream.play(scripts.good());
  const answers = [
    await post(bodyOf()),
    await post(bodyOf({ stream: true })),
    await post('no JSON'),
    await post(bodyOf({ model: 'none' })),
    await post(bodyOf(), 'sk-tp-wrong'),
    await fetch(`${world.url}/v1/nothing`, { headers: { origin } }),
    await fetch(`${world.url}/v1/messages`, { headers: { origin } }),
  ];
  world.upstream.play(scripts.overloaded());
  answers.push(await post(bodyOf()), await post(bodyOf({ stream: true })), await post(bodyOf()));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 400, 401, 404, 405, 529, 529, 429]);
  for (const { headers } of answers) {
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(headers.get('vary')).toContain('origin');
    const exposed = (headers.get('access-control-expose-headers') ?? '').split(', ');
    for (const name of ['request-id', 'retry-after', 'x-should-retry', 'anthropic-ratelimit-requests-remaining'])
      expect(exposed).toContain(name);
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('request-id')).toStartWith('req_');
  }
  await Promise.all(answers.map((answer) => answer.text()));
  await expectMoney(world, caller, [{ status: 529 }, { status: 529 }, { status: 200 }, { status: 200 }]);
});

test('a page can read a broken stream up to its error', async () => {
  world.upstream.play(scripts.resetMidStream());
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ stream: true }), { headers: { origin } });
  expect(response.headers.get('access-control-allow-origin')).toBe(origin);
  await expectErrorEvent(response, 'api_error', 'upstream_failed');
  await expectMoney(world, caller, [{ outcome: 'upstream_cut' }]);
});

test('a response to a request without an origin allows any origin', async () => {
  const response = await fetch(`${world.url}/v1/models`);
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
});
