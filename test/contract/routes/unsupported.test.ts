// A route whose kind cannot take a request is passed over: a conversation does not fail because it moved.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, sharedWorld } from '../post-messages/world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());
const { secret } = await world.makeKey();
const price = { input: '3', output: '15' };
const provider = (url: string, more: object = {}) => ({ base_url: url, private_network: true, api_key: 'k', ...more });
const cloud = { kind: 'vertex', project: 'our-project', region: 'us-east5' };
const toVendor = { provider: 'vendor', model: 'claude-theirs' };
const toCloud = { provider: 'cloud', model: 'claude-there' };
await world.admin('POST', '/apply', {
  document: {
    providers: {
      vendor: provider(world.upstream.url, { kind: 'anthropic' }),
      cloud: provider(world.second.url, cloud),
    },
    models: {
      'vendor-first': { price, routes: [toVendor, { ...toCloud, priority: 1 }] },
      'cloud-first': { price, routes: [toCloud, { ...toVendor, priority: 1 }] },
      'cloud-only': { price, routes: [toCloud] },
    },
  },
});

beforeEach(() => world.reset());

/** The kind vertex reads no addresses. */
const picture = { type: 'image', source: { type: 'url', url: 'https://pictures.example.com/cat.png' } };
const send = (model: string) => world.post(secret, bodyOf({ model, messages: [{ role: 'user', content: [picture] }] }));

test('the next route answers', async () => {
  expect((await send('cloud-first')).status).toBe(200);
  expect([world.upstream.requests.length, world.second.requests.length]).toEqual([1, 0]);
});

test('after a failure, that failure is the error, and not the refusal of the other kind', async () => {
  world.upstream.play(scripts.overloaded());
  await expectError(await send('vendor-first'), 529, 'overloaded_error', 'upstream_overloaded');
  expect(world.second.requests).toHaveLength(0);
});

test('without another route, the refusal is the error', async () => {
  const path = /^messages\.0\.content\.0\.source\.type: /;
  await expectError(await send('cloud-only'), 400, 'invalid_request_error', 'upstream_rejected', path);
});
