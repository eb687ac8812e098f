// Every error on this path has the format of OpenAI clients, including errors that arise before the route's own code,
// and names the field as the client wrote it.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { startControlled } from '../post-messages/controlled-service.ts';
import { expectMoney, expectNoTrace, sharedWorld } from '../post-messages/world.ts';
import { chatOf, expectChatError, postChat } from './chat-world.ts';

const world = await sharedWorld({ settings: { body_bytes_max: 4_096 } });
afterAll(() => world.stop());

test('400: an invalid field is named by its path, whether the service or the provider refused it', async () => {
  const caller = await world.makeKey();
  const called = { id: 'a', type: 'function', function: { name: 'f', arguments: [] } };
  const path = 'messages.1.tool_calls.0.function.arguments';
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', tool_calls: [called] },
  ];
  const error = await expectChatError(await postChat(world, caller.secret, { messages }), 400, 'invalid_request');
  expect(error).toMatchObject({
    type: 'invalid_request_error',
    param: path,
    message: expect.stringContaining(`${path}: `),
  });
  const limits = await postChat(world, caller.secret, { max_completion_tokens: -2, max_tokens: null });
  expect(await expectChatError(limits, 400, 'invalid_request')).toMatchObject({ param: 'max_completion_tokens' });
  const noModel = await postChat(world, caller.secret, { model: null });
  expect(await expectChatError(noModel, 400, 'invalid_request')).toMatchObject({ param: 'model' });
  await expectNoTrace(world, caller);
});

test('400: errors of the provider use the field paths of the client’s request', async () => {
  world.upstream.play(scripts.refusedContent());
  const caller = await world.makeKey();
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
  const messages = [
    { role: 'system', content: 'x' },
    { role: 'user', content: [image] },
  ];
  for (const stream of [false, true]) {
    const response = await postChat(world, caller.secret, { messages, stream });
    expect(await expectChatError(response, 400, 'upstream_rejected')).toMatchObject({
      message: 'messages.1.content.0.image_url.url: invalid base64 data',
      param: 'messages.1.content.0.image_url.url',
    });
  }
  await expectMoney(world, caller, [{ cost: '0' }, { cost: '0' }]);
});

test('400: invalid JSON, insufficient balance, unknown model, missing price, a stored file', async () => {
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const poor = await world.makeKey({ credit: '0.000001' });
  await expectChatError(await postChat(world, secret, {}, { body: '{' }), 400, 'invalid_json');
  expect(await expectChatError(await postChat(world, poor.secret), 400, 'insufficient_user_quota')).toMatchObject({
    type: 'billing_error',
    param: null,
  });
  expect(await expectChatError(await postChat(world, secret, { model: 'none' }), 400, 'model_not_found')).toMatchObject(
    {
      param: 'model',
    },
  );
  const tier = await postChat(world, secret, { service_tier: 'flex' });
  expect(await expectChatError(tier, 400, 'feature_unavailable')).toMatchObject({ param: 'service_tier' });
  const messages = [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }];
  const stored = await expectChatError(await postChat(world, secret, { messages }), 400, 'feature_unavailable');
  expect(stored).toMatchObject({ param: 'messages.0.content.0.file.file_id' });
});

test('401, 404, 405, 413, 415: errors outside the route’s own code', async () => {
  const { secret } = await world.makeKey();
  const unknown = await postChat(world, 'sk-tp-wrong');
  expect(unknown.headers.get('x-should-retry')).toBe('false');
  expect(await expectChatError(unknown, 401, 'key_invalid')).toMatchObject({ type: 'authentication_error' });
  // An invalid key is reported before any fault of the body.
  await expectChatError(await postChat(world, 'sk-tp-wrong', {}, { body: '{' }), 401, 'key_invalid');
  await expectChatError(await fetch(`${world.url}/v1/chat/completions/chatcmpl-1`), 404, 'route_not_found');
  await expectChatError(await fetch(`${world.url}/chat/other`), 404, 'route_not_found');
  const get = await fetch(`${world.url}/v1/chat/completions`);
  expect(get.headers.get('allow')).toContain('POST');
  await expectChatError(get, 405, 'method_not_allowed');
  const large = await postChat(world, secret, { messages: [{ role: 'user', content: 'x'.repeat(5_000) }] });
  await expectChatError(large, 413, 'body_too_large');
  const plain = await postChat(world, secret, {}, { headers: { 'content-type': 'text/plain' } });
  await expectChatError(plain, 415, 'content_type_unsupported');
});

test('429: the retry time and the remaining limits are in the headers that these clients read', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey({}, { rpm: 1, input_tpm: 60_000, output_tpm: 30_000 });
  const rates = ({ headers }: Response) =>
    ['limit', 'remaining', 'reset'].map((figure) => headers.get(`x-ratelimit-${figure}-requests`));
  const first = await postChat(world, caller.secret);
  expect(rates(first)).toEqual(['1', '0', expect.stringMatching(/^(1m0|[1-5]?\d)s$/)]);
  expect(first.headers.get('x-ratelimit-limit-tokens')).toBe('90000');
  expect(first.headers.get('access-control-expose-headers')).toContain('x-ratelimit-remaining-tokens');
  const limited = await postChat(world, caller.secret);
  expect(rates(limited)).toEqual(['1', '0', expect.stringMatching(/^(1m0|[1-5]?\d)s$/)]);
  expect((await world.post(caller.secret, chatOf())).headers.get('x-ratelimit-limit-requests')).toBeNull();
  expect(limited.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect(limited.headers.get('x-should-retry')).toBeNull();
  expect(await expectChatError(limited, 429, 'requests_rate_exceeded')).toMatchObject({ type: 'rate_limit_error' });
});

test('502 and 529: faults of the provider and of the service', async () => {
  const { secret } = await world.makeKey();
  world.upstream.play(scripts.unauthorized());
  const failed = await postChat(world, secret);
  expect(failed.headers.get('x-should-retry')).toBe('false');
  await expectChatError(failed, 502, 'upstream_credentials');
  world.upstream.play(scripts.overloaded());
  await expectChatError(await postChat(world, secret), 529, 'upstream_overloaded');
  await using busy = await startControlled({ loopDelayMs: () => 10_000 });
  const shed = await postChat(busy, 'sk-tp-unknown', { model: 'm' });
  expect(Number(shed.headers.get('retry-after'))).toBeWithin(1, 6);
  await expectChatError(shed, 529, 'overloaded');
});

test('a browser may send a preflight, and a page can read its errors', async () => {
  const preflight = await fetch(`${world.url}/v1/chat/completions`, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type, x-stainless-os',
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-headers')).toContain('x-stainless-os');
  const caller = await world.makeKey({}, { origins: ['https://other.example'] });
  const refused = await postChat(world, caller.secret, {}, { headers: { origin: 'https://app.example' } });
  expect(refused.headers.get('access-control-allow-origin')).toBe('https://app.example');
  await expectChatError(refused, 403, 'origin_not_allowed');
});
