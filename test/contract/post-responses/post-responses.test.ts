// Responses over a provider of another kind: the same money as for the equivalent message, the end only once it is billed,
// and errors in the format of these clients.

import { afterAll, describe, expect, test } from 'bun:test';
import { TurnpikeError } from '../../../src/errors.ts';
import { countText } from '../../support/count-text.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { eventsOf, lastResponse } from '../../unit/fronts/responses/read-response.ts';
import { EVENTS, startControlled, streamOf } from '../post-messages/controlled-service.ts';
import { afterReading, expectMoney, expectNoTrace, GOOD, sharedWorld } from '../post-messages/world.ts';
import { expectError, expectLastError, postResponse } from './responses-world.ts';

const world = await sharedWorld({ settings: { body_bytes_max: 4_096 } });
afterAll(() => world.stop());

const usage = { input_tokens: 25, output_tokens: 12, total_tokens: 37 };
const said = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello there, world!' }] }];

describe('an answer', () => {
  test('is a response, and costs the same as the equivalent message', async () => {
    world.upstream.play(scripts.good());
    const caller = await world.makeKey();
    const response = await postResponse(world, caller.secret);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ object: 'response', status: 'completed', output: said, usage });
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed', stream: false }]);
  });

  test('that is streamed has the same response at its end', async () => {
    world.upstream.play(scripts.good());
    const caller = await world.makeKey();
    const text = await (await postResponse(world, caller.secret, { stream: true })).text();
    expect(lastResponse(text)).toMatchObject({ object: 'response', status: 'completed', output: said, usage });
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed', stream: true }]);
  });

  test('is repeated for the same idempotency key, and billed once', async () => {
    world.upstream.play(scripts.good());
    const caller = await world.makeKey();
    const headers = { 'idempotency-key': 'once' };
    const [first, second] = [
      await postResponse(world, caller.secret, {}, { headers }),
      await postResponse(world, caller.secret, {}, { headers }),
    ];
    const outputs = [
      ((await first.json()) as { output: unknown }).output,
      ((await second.json()) as { output: unknown }).output,
    ];
    expect(outputs[1]).toEqual(outputs[0]);
    await expectMoney(world, caller, [GOOD]);
  });
});

/** A service whose settlements wait for `settle`. */
const settling = (settle: () => Promise<void>, settings = {}) =>
  startControlled({
    answer: async () => streamOf(EVENTS),
    gateOver: (gate) => ({
      batches: () => gate.batches(),
      submit: async (bundle) => {
        if (bundle.operations[0]?.kind === 'settle') await settle();
        return gate.submit(bundle);
      },
    }),
    settings,
  });

describe('the end of a stream', () => {
  test('is sent only once the message is billed', async () => {
    const { promise: mayBill, resolve: bill } = Promise.withResolvers<void>();
    await using service = await settling(() => mayBill);
    const response = await postResponse(service, await service.makeKey(), { model: 'm', stream: true });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    while (text.split(': ping\n\n').length < 3) text += Buffer.from((await reader.read()).value ?? []).toString();
    expect(text).toContain('"delta":"Hello"');
    expect(text).not.toMatch(/response\.completed|"input_tokens"/);
    bill();
    for (let read = await reader.read(); !read.done; read = await reader.read())
      text += Buffer.from(read.value).toString();
    expect(eventsOf(text).at(-1)?.type).toBe('response.completed');
  });

  test('is an error if the message can no longer be billed', async () => {
    const full = () => Promise.reject(new TurnpikeError('store_unavailable', 'The disk is full.'));
    await using service = await settling(full, { settle_wait_seconds: 1 });
    const response = await postResponse(service, await service.makeKey(), { model: 'm', stream: true });
    await expectLastError(response, 'store_unavailable', 'server_error');
  });

  test('is an error if the provider breaks off', async () => {
    world.upstream.play(scripts.halfStream());
    const caller = await world.makeKey();
    await expectLastError(
      await postResponse(world, caller.secret, { stream: true }),
      'upstream_failed',
      'server_error',
    );
    await expectMoney(world, caller, [{ outcome: 'upstream_cut' }]);
  });

  test('is an error when the money runs out, and no more output is sent', async () => {
    world.upstream.play(scripts.slowStream(1, { text: 'word '.repeat(20_000), pieces: 500 }));
    const caller = await world.makeKey({ credit: '0.02' });
    const response = await postResponse(world, caller.secret, { stream: true, max_output_tokens: 30_000 });
    await expectLastError(response, 'insufficient_user_quota', 'insufficient_quota');
    await expectMoney(world, caller, [{ outcome: 'quota_cut', written_off: '0' }], '0.02');
  });

  test('is an error for a revoked key, and the output so far is billed', async () => {
    const abortedBefore = world.upstream.abortedCount;
    world.upstream.play(scripts.pingsOnly(10, { text: 'x'.repeat(160), pieces: 4 }));
    const caller = await world.makeKey();
    const begun = await postResponse(world, caller.secret, { stream: true, max_output_tokens: 1_000 });
    const response = await afterReading(begun, (text) => text.split('x'.repeat(40)).length > 2);
    await world.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
    await expectLastError(response, 'key_disabled', 'invalid_prompt');
    await world.upstream.aborted(abortedBefore + 1);
    await expectMoney(world, caller, [
      { outcome: 'service_cut', usage_source: 'estimated', output_tokens: countText('x'.repeat(80)) },
    ]);
  });

  test('is billed as reported after the client disconnected, which gets the same answer when it retries', async () => {
    world.upstream.play(scripts.slowStream(20));
    const caller = await world.makeKey();
    const leaving = new AbortController();
    const headers = { 'idempotency-key': 'left' };
    const response = await postResponse(world, caller.secret, { stream: true }, { headers, signal: leaving.signal });
    await (response.body as ReadableStream<Uint8Array>).getReader().read();
    leaving.abort();
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'client_gone' }]);
    const text = await (await postResponse(world, caller.secret, { stream: true }, { headers })).text();
    expect(lastResponse(text)).toMatchObject({ status: 'completed', output: said, usage });
  });
});

describe('an error', () => {
  test('names the field as the client wrote it, whether the service or the provider refused it', async () => {
    const caller = await world.makeKey();
    const path = 'input.0.content.0.image_url';
    const input = [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] }];
    const stored = [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }];
    const fields: [Record<string, unknown>, string, string][] = [
      [{ max_output_tokens: -2 }, 'invalid_request', 'max_output_tokens'],
      [{ model: null }, 'invalid_request', 'model'],
      [{ store: true }, 'invalid_request', 'store'],
      [{ previous_response_id: 'resp_1' }, 'invalid_request', 'previous_response_id'],
      [{ input: stored }, 'feature_unavailable', 'input.0.content.0.file_id'],
      [{ service_tier: 'flex' }, 'feature_unavailable', 'service_tier'],
      [{ model: 'none' }, 'model_not_found', 'model'],
    ];
    for (const [members, code, param] of fields)
      expect(await expectError(await postResponse(world, caller.secret, members), 400, code)).toMatchObject({ param });
    await expectNoTrace(world, caller);
    world.upstream.play(scripts.refusedContent());
    const refused = await postResponse(world, caller.secret, { instructions: 'x', input });
    expect(await expectError(refused, 400, 'upstream_rejected')).toMatchObject({ param: path });
  });

  test('has the status of all other paths, and the codes by which these clients decide', async () => {
    const { secret } = await world.makeKey();
    const poor = await world.makeKey({ credit: '0.000001' });
    const limited = await world.makeKey({}, { rpm: 1 });
    await expectError(await postResponse(world, 'sk-tp-wrong', {}, { body: '{' }), 401, 'key_invalid');
    await expectError(await postResponse(world, secret, {}, { body: '{' }), 400, 'invalid_json');
    const quota = await postResponse(world, poor.secret);
    const error = await expectError(quota, 400, 'insufficient_quota', 'insufficient_user_quota');
    expect(error).toMatchObject({ type: 'billing_error', param: null });
    await expectError(await fetch(`${world.url}/v1/responses/resp_1`), 404, 'route_not_found');
    await expectError(await fetch(`${world.url}/v1/responses`), 405, 'method_not_allowed');
    const large = await postResponse(world, secret, { input: 'x'.repeat(5_000) });
    await expectError(large, 413, 'body_too_large');
    const plain = await postResponse(world, secret, {}, { headers: { 'content-type': 'text/plain' } });
    await expectError(plain, 415, 'content_type_unsupported');
    world.upstream.play(scripts.good());
    await (await postResponse(world, limited.secret)).text();
    const second = await postResponse(world, limited.secret);
    expect(second.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(second.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    await expectError(second, 429, 'rate_limit_exceeded', 'requests_rate_exceeded');
    world.upstream.play(scripts.unauthorized());
    await expectError(await postResponse(world, secret), 502, 'upstream_credentials');
    world.upstream.play(scripts.overloaded());
    await expectError(await postResponse(world, secret), 529, 'upstream_overloaded');
  });
});

test('Codex gets the list of models in the form that it reads, and others the usual one', async () => {
  const { secret } = await world.makeKey();
  const read = async (query: string) => {
    const headers = { authorization: `Bearer ${secret}` };
    return (await fetch(`${world.url}/v1/models${query}`, { headers })).json() as Promise<Record<string, unknown>>;
  };
  const { models } = (await read('?client_version=0.169.0')) as { models: Record<string, unknown>[] };
  expect(models.map(({ slug }) => slug)).toContain('plain');
  // Without any of these members, Codex ignores the whole list.
  for (const model of models)
    expect(model).toMatchObject({
      display_name: expect.any(String),
      supported_reasoning_levels: expect.any(Array),
      shell_type: 'unified_exec',
      visibility: 'list',
      supported_in_api: true,
      priority: 1,
      support_verbosity: false,
      truncation_policy: { mode: 'tokens', limit: 10_000 },
      experimental_supported_tools: [],
      base_instructions: expect.stringContaining('coding agent'),
    });
  expect(await read('')).toMatchObject({ object: 'list' });
});
