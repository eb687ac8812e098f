// Every error on these paths has Google's format, including errors that arise before the route's own code, and names the
// field as the client wrote it.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { startControlled } from '../post-messages/controlled-service.ts';
import { expectMoney, expectNoTrace, type Json, sharedWorld } from '../post-messages/world.ts';
import { expectGeminiError, postGemini, requestOf } from './gemini-world.ts';

const world = await sharedWorld({ settings: { body_bytes_max: 4_096 } });
afterAll(() => world.stop());

const says = (part: Json) => ({ contents: [{ role: 'user', parts: [part] }] });

test('400: an invalid field is named by its path, whether the service or the provider refused it', async () => {
  const caller = await world.makeKey();
  const refused = async (members: Json, path: string) => {
    const error = await expectGeminiError(await postGemini(world, caller.secret, members), 400, 'invalid_request');
    expect(error).toMatchObject({ status: 'INVALID_ARGUMENT', message: expect.stringContaining(`${path}: `) });
  };
  await refused(says({ text: 7 }), 'contents.0.parts.0.text');
  await refused({ generationConfig: { maxOutputTokens: -2 } }, 'generationConfig.maxOutputTokens');
  await refused({ generationConfig: { temperature: 'hot' } }, 'generationConfig.temperature');
  await refused({ generationConfig: { stopSequences: [1] } }, 'generationConfig.stopSequences');
  await refused({ contents: [] }, 'contents');
  await refused({ toolConfig: { functionCallingConfig: { mode: 'SOME' } } }, 'toolConfig.functionCallingConfig.mode');
  await expectNoTrace(world, caller);
  world.upstream.play(scripts.refusedContent());
  const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
  const both = {
    contents: [{ parts: [{ text: 'a' }] }, { role: 'model', parts: [{ text: 'b' }] }, { parts: [image] }],
  };
  for (const stream of [false, true]) {
    const response = await postGemini(world, caller.secret, both, { stream });
    await expectGeminiError(response, 400, 'upstream_rejected');
  }
  await expectMoney(world, caller, [{ cost: '0' }, { cost: '0' }]);
});

test('400: invalid JSON, insufficient balance, unknown model, missing price, a stored file', async () => {
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const poor = await world.makeKey({ credit: '0.000001' });
  const ask = (members: Json = {}, sending = {}) => postGemini(world, secret, members, sending);
  await expectGeminiError(await ask({}, { body: '{' }), 400, 'invalid_json');
  const unpaid = await expectGeminiError(await postGemini(world, poor.secret), 400, 'insufficient_user_quota');
  expect(unpaid).toMatchObject({ status: 'FAILED_PRECONDITION' });
  const unknown = await expectGeminiError(await ask({}, { model: 'none' }), 400, 'model_not_found');
  expect(unknown).toMatchObject({ status: 'NOT_FOUND' });
  for (const members of [
    { serviceTier: 'PRIORITY' },
    { tools: [{ googleSearch: {} }] },
    { generationConfig: { responseModalities: ['IMAGE'] } },
  ])
    await expectGeminiError(await ask(members), 400, 'feature_not_priced');
  for (const members of [
    { cachedContent: 'cachedContents/1' },
    says({
      fileData: { mimeType: 'application/pdf', fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/1' },
    }),
    says({ fileData: { mimeType: 'image/png', fileUri: 'gs://bucket/1' } }),
  ])
    await expectGeminiError(await ask(members), 400, 'feature_unavailable');
});

test('401, 404, 405, 413, 415: errors outside the route’s own code', async () => {
  const { secret } = await world.makeKey();
  const unknown = await postGemini(world, 'sk-tp-wrong');
  expect(await expectGeminiError(unknown, 401, 'key_invalid')).toMatchObject({ status: 'UNAUTHENTICATED' });
  await expectGeminiError(await postGemini(world, 'sk-tp-wrong', {}, { body: '{' }), 401, 'key_invalid');
  await expectGeminiError(await fetch(`${world.url}/v1beta/models`), 401, 'key_missing');
  await expectGeminiError(await fetch(`${world.url}/v1beta/other`), 404, 'route_not_found');
  for (const base of ['/v1beta', '/v1'])
    await expectGeminiError(
      await postGemini(world, secret, {}, { path: `${base}/models/m:embedContent` }),
      404,
      'route_not_found',
    );
  const headers = { 'x-goog-api-key': secret };
  await expectGeminiError(await fetch(`${world.url}/v1beta/models/none`, { headers }), 404, 'model_not_found');
  const get = await fetch(`${world.url}/v1beta/models/plain:generateContent`, { headers });
  expect(get.headers.get('allow')).toContain('POST');
  await expectGeminiError(get, 405, 'method_not_allowed');
  const large = await postGemini(world, secret, says({ text: 'x'.repeat(5_000) }));
  await expectGeminiError(large, 413, 'body_too_large');
  const plain = await postGemini(world, secret, {}, { headers: { 'content-type': 'text/plain' } });
  await expectGeminiError(plain, 415, 'content_type_unsupported');
});

test('429: the time to wait is in the details, where these clients read it', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey({}, { rpm: 1 });
  await postGemini(world, caller.secret);
  const limited = await postGemini(world, caller.secret);
  const seconds = limited.headers.get('retry-after');
  const error = await expectGeminiError(limited, 429, 'requests_rate_exceeded');
  expect(error).toMatchObject({ status: 'RESOURCE_EXHAUSTED' });
  expect(error['details']).toMatchObject([
    {},
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` },
  ]);
});

test('502 and 529: faults of the provider and of the service', async () => {
  const { secret } = await world.makeKey();
  world.upstream.play(scripts.unauthorized());
  const failed = await postGemini(world, secret);
  expect(failed.headers.get('x-should-retry')).toBe('false');
  expect(await expectGeminiError(failed, 502, 'upstream_credentials')).toMatchObject({ details: { length: 1 } });
  world.upstream.play(scripts.overloaded());
  await expectGeminiError(await postGemini(world, secret), 529, 'upstream_overloaded');
  await using busy = await startControlled({ loopDelayMs: () => 10_000 });
  const shed = await postGemini(busy, 'sk-tp-unknown', {}, { model: 'm' });
  expect(await expectGeminiError(shed, 529, 'overloaded')).toMatchObject({ status: 'UNAVAILABLE' });
});

test('a browser may send a preflight, and a page can read its errors', async () => {
  const preflight = await fetch(`${world.url}/v1beta/models/plain:generateContent`, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-goog-api-key, content-type',
    },
  });
  expect(preflight.headers.get('access-control-allow-headers')).toContain('x-goog-api-key');
  const caller = await world.makeKey({}, { origins: ['https://other.example'] });
  const refused = await postGemini(world, caller.secret, requestOf(), { headers: { origin: 'https://app.example' } });
  expect(refused.headers.get('access-control-allow-origin')).toBe('https://app.example');
  await expectGeminiError(refused, 403, 'origin_not_allowed');
});
