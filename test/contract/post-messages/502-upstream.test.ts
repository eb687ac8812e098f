// The provider fails before its first byte: upstream_failed may be retried, upstream_credentials may not. Faults of
// the operator's configuration are never reported as the client's.

import { afterAll, expect, test } from 'bun:test';
import { eventText, type Script, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, sharedWorld } from './world.ts';

const world = await sharedWorld({
  providers: { nowhere: { kind: 'anthropic', base_url: 'http://127.0.0.1:9', private_network: true } },
  models: { unreachable: { price: { input: '3', output: '15' }, routes: [{ provider: 'nowhere' }] } },
});
afterAll(() => world.stop());

/** Expects the same error streamed and not streamed, and no charge. */
async function expectRefused(script: Script, code: string, model = 'plain'): Promise<string> {
  let message = '';
  for (const stream of [false, true]) {
    world.upstream.play(script);
    const caller = await world.makeKey();
    message = await expectError(await world.post(caller.secret, bodyOf({ model, stream })), 502, 'api_error', code);
    await expectMoney(world, caller, [
      { outcome: 'failed', status: 502, stream, cost: '0', usage_source: 'none', input_tokens: 0, output_tokens: 0 },
    ]);
  }
  return message;
}

test.each<[string, Script]>([
  ['401', scripts.unauthorized()],
  ['402', scripts.error(402, 'billing_error', 'Payment required')],
  ['403', scripts.error(403, 'permission_error', 'Your organization does not have access')],
  ['400 about the operator’s credit', scripts.noCredit()],
  ['400 about the operator’s key', scripts.error(400, 'authentication_error', 'invalid x-api-key')],
])('a provider’s %s is upstream_credentials, without its text', async (_words, script) => {
  const message = await expectRefused(script, 'upstream_credentials');
  expect(message).not.toMatch(/credit|x-api-key|organization|upstream-model|Payment/);
});

test('a provider that does not have the model is upstream_credentials, in words about the model', async () => {
  const message = await expectRefused(
    scripts.error(404, 'not_found_error', 'model: upstream-model'),
    'upstream_credentials',
  );
  expect(message).toStartWith('The provider of this model does not have it');
});

test.each<[string, Script]>([
  ['500', scripts.error(500, 'api_error', 'Internal server error')],
  ['502 as a web page', scripts.html(502)],
  ['418', scripts.error(418, 'teapot', 'short and stout')],
  ['redirect', scripts.redirect('https://elsewhere.example/')],
  ['reset connection', scripts.resetBeforeHead()],
  ['web page with status 200', scripts.html(200)],
  ['JSON without a message', scripts.json('{"hello":"world"}')],
  ['JSON without an object', scripts.json('[]')],
  ['truncated JSON of a message', scripts.json('{"type":"message","content":[')],
])('a provider’s %s is upstream_failed', async (_words, script) => {
  await expectRefused(script, 'upstream_failed');
});

test('an address without a server is upstream_failed', async () => {
  await expectRefused(scripts.good(), 'upstream_failed', 'unreachable');
});

test.each<[string, Script]>([
  ['nothing', scripts.rawStream('')],
  ['garbage', scripts.garbage()],
  ['an error', scripts.rawStream(eventText({ type: 'error', error: { type: 'api_error', message: 'secret' } }))],
])('a stream that contains %s is answered with an error status', async (_words, script) => {
  world.upstream.play(script);
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ stream: true }));
  expect(await expectError(response, 502, 'api_error', 'upstream_failed')).not.toContain('secret');
  await expectMoney(world, caller, [{ outcome: 'failed', cost: '0' }]);
});

test('an error with status 200 is an error', async () => {
  world.upstream.play(scripts.json('{"type":"error","error":{"type":"api_error","message":"oops"}}'));
  const caller = await world.makeKey();
  await expectError(await world.post(caller.secret, bodyOf()), 502, 'api_error', 'upstream_failed');
  await expectMoney(world, caller, [{ outcome: 'failed', cost: '0' }]);
});

test('a message whose connection breaks midway is upstream_failed', async () => {
  world.upstream.play(async (answer) => {
    answer.begin(200, { 'content-type': 'application/json' });
    await answer.write('{"type":"message","content":[{"type":"text","text":"half of it');
    answer.drop();
  });
  const caller = await world.makeKey();
  await expectError(await world.post(caller.secret, bodyOf()), 502, 'api_error', 'upstream_failed');
  await expectMoney(world, caller, [{ outcome: 'failed', cost: '0', usage_source: 'none' }]);
});
