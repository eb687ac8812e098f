// Vertex AI: addresses, credentials, Gemini's differences there, clients of Gemini, errors, and the connection test.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import {
  type Attempt,
  type ProviderEndpoint,
  probeProvider,
  providerKinds,
  type WholeReply,
} from '../../../../src/providers/providers.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import { type NativeBody, scanJson } from '../../../../src/wire/wire.ts';
import { type Script, scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { faultOf, makeAttempt } from '../make-attempt.ts';

type Json = Record<string, unknown>;

const vertex = providerKinds.get('vertex') ?? expect.unreachable();
const upstream = await startScriptedUpstream(scripts.html(500));
afterAll(() => upstream.close());
beforeEach(() => {
  upstream.requests.length = 0;
});

const PLACE = '/v1/projects/our-project/locations/europe-west1/publishers';
const json =
  (body: unknown, status = 200): Script =>
  (answer) =>
    answer.send(status, { 'content-type': 'application/json' }, JSON.stringify(body));
const claude = json({ type: 'message', role: 'assistant', content: [], usage: {} });
const gemini = json({
  candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
});

class Token extends Secret {
  override get use() {
    return 'bearer' as const;
  }
}

const endpoint: ProviderEndpoint = {
  name: 'google',
  kind: 'vertex',
  baseUrl: upstream.url,
  project: 'our-project',
  region: 'europe-west1',
  credential: new Token('ya29.our-token-0123456789'),
};

function attemptOf(upstreamModel: string, changes: Partial<Attempt> = {}, members: Json = {}): Attempt {
  const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], ...members };
  return makeAttempt(upstream.url, body, { provider: endpoint, upstreamModel, ...changes });
}

const sentBody = () => JSON.parse(upstream.requests[0]?.body ?? '') as Json;

test.each([
  ['claude-opus-4-5@20251101', null, '/anthropic/models/claude-opus-4-5@20251101:rawPredict'],
  ['publishers/anthropic/models/claude-opus-4-5', null, '/anthropic/models/claude-opus-4-5:rawPredict'],
  ['our-model', 'messages', '/anthropic/models/our-model:rawPredict'],
  ['gemini-3.6-flash', null, '/google/models/gemini-3.6-flash:generateContent'],
  ['google/gemini-3.6-flash', null, '/google/models/gemini-3.6-flash:generateContent'],
  ['../../secret', 'gemini', '/google/models/secret:generateContent'],
])('%s with the protocol %p is called at its publisher', async (model, protocol, path) => {
  upstream.play(path.startsWith('/anthropic') ? claude : gemini);
  await vertex.submit(attemptOf(model, { protocol }));
  expect(upstream.requests[0]?.path).toBe(PLACE + path);
});

test('models of other publishers, and other protocols, are refused without a request', async () => {
  for (const model of ['meta/llama-4', 'mistral-large-2411', 'publishers/deepseek-ai/models/deepseek-v3'])
    expect(await faultOf(vertex.submit(attemptOf(model)))).toMatchObject({
      kind: 'not_found',
      message: 'the kind vertex has only the models of Anthropic and Google',
    });
  expect((await faultOf(vertex.submit(attemptOf('x', { protocol: 'converse' })))).kind).toBe('not_found');
  expect(upstream.requests).toEqual([]);
});

test('a token is sent as a bearer, a key in the header of Google, and neither version nor workspace', async () => {
  upstream.play(claude);
  const selectors = [{ name: 'workspace-id', value: 'w' }];
  await vertex.submit(attemptOf('claude-x', { version: '2026-10-21', selectors }));
  expect(upstream.requests[0]?.headers).toMatchObject({ authorization: 'Bearer ya29.our-token-0123456789' });
  for (const name of ['anthropic-version', 'anthropic-workspace-id'])
    expect(upstream.requests[0]?.headers).not.toContainKey(name);
  const provider = { ...endpoint, credential: new Secret('AIzaOurKey0123456789') };
  await vertex.submit(attemptOf('claude-x', { provider }));
  expect(upstream.requests[1]?.headers).toMatchObject({ 'x-goog-api-key': 'AIzaOurKey0123456789' });
});

test('headers follow the model where its betas differ', async () => {
  upstream.play(claude);
  const betas = 'context-1m-2025-08-07,fast-mode-2026-02-01';
  await vertex.submit(attemptOf('claude-x', { betas }));
  await vertex.submit(attemptOf('claude-x', { betas: 'fast-mode-2026-02-01' }));
  expect(upstream.requests.map(({ headers }) => headers['anthropic-beta'])).toEqual([
    'context-1m-2025-08-07',
    undefined,
  ] as string[]);
});

test('betas of the client do not reach Gemini, also after Claude has received them', async () => {
  const betas = 'context-1m-2025-08-07';
  upstream.play(claude, gemini, json({ totalTokens: 7 }), json({ predictions: [] }));
  await vertex.submit(attemptOf('claude-x', { betas }));
  await vertex.submit(attemptOf('gemini-3.6-flash', { betas }));
  await vertex.countTokens(attemptOf('gemini-3.6-flash', { betas }));
  const members = { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }], embeddings: {} };
  await vertex.uses?.embeddings?.(attemptOf('text-embedding-005', { betas }, members)).catch(() => null);
  expect(upstream.requests.map(({ headers }) => headers['anthropic-beta'])).toEqual([
    betas,
    undefined,
    undefined,
    undefined,
  ] as string[]);
});

test('calls of Gemini have no ids, and a token count has no wrapper', async () => {
  const messages = [
    { role: 'user', content: 'Look' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_gemini_abc', name: 'look', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_gemini_abc', content: 'A cat.' }] },
  ];
  const members = { messages, tools: [{ name: 'look', input_schema: { type: 'object' } }] };
  upstream.play(gemini);
  await vertex.submit(attemptOf('gemini-3.6-flash', {}, members));
  expect(upstream.requests[0]?.body).not.toContain('abc');
  upstream.play(json({ totalTokens: 7 }));
  expect(await vertex.countTokens(attemptOf('gemini-3.6-flash', {}, members))).toBe(7);
  expect(upstream.requests[1]?.path).toEndWith('/gemini-3.6-flash:countTokens');
  expect(Object.keys(JSON.parse(upstream.requests[1]?.body ?? '') as Json)).toEqual(['contents', 'tools']);
});

test('a request of a client of Gemini is passed on as it is, with a role for every content', async () => {
  const ownOf = (text: string): NativeBody => ({ kind: 'gemini', text, members: scanJson(text) });
  const sentFor = async (text: string) => {
    upstream.play(gemini);
    const attempt = attemptOf('gemini-3.6-flash');
    await vertex.submit({ ...attempt, request: { ...attempt.request, native: ownOf(text) } });
    return upstream.requests.pop()?.body;
  };
  const withRole = '{ "contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":9}}';
  expect(await sentFor(withRole)).toBe(withRole);
  expect(
    await sentFor('{"contents":[{"parts":[{"text":"Hi"}]}],"generationConfig":{"seed":12345678901234567890}}'),
  ).toBe(
    '{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"seed":12345678901234567890,"maxOutputTokens":9}}',
  );
});

test('a token count of Gemini has only the members that Vertex AI counts', async () => {
  const tools = [{ name: 'look', input_schema: { type: 'object' } }];
  const members = { system: 'Be kind.', tools, tool_choice: { type: 'any' } };
  upstream.play(json({ totalTokens: 7 }));
  await vertex.countTokens(attemptOf('gemini-3.6-flash', {}, members));
  expect(Object.keys(sentBody())).toEqual(['contents', 'systemInstruction', 'tools']);

  const contents = '"contents":[{"role":"user","parts":[{"text":"Hi"}]}]';
  const counted = `${contents},"system_instruction":{"parts":[{"text":"Be kind."}]},"generationConfig":{"seed":12345678901234567890}`;
  const text = `{${counted},"toolConfig":{},"safetySettings":[],"cached_content":"c","labels":{}}`;
  const native: NativeBody = { kind: 'gemini', text, members: scanJson(text) };
  const attempt = attemptOf('gemini-3.6-flash');
  await vertex.countTokens({ ...attempt, request: { ...attempt.request, native } });
  expect(upstream.requests[1]?.body).toBe(`{${counted}}`);
});

test('embeddings use predict', async () => {
  const prediction = { embeddings: { values: [0.5], statistics: { token_count: 2 } } };
  upstream.play(json({ predictions: [prediction, prediction] }));
  const content = ['a', 'b'].map((text) => ({ type: 'text', text }));
  const members = { messages: [{ role: 'user', content }], embeddings: { dimensions: 1 } };
  const attempt = attemptOf('text-embedding-005', {}, members);
  const reply = (await vertex.uses?.embeddings?.(attempt)) as WholeReply;
  expect(upstream.requests[0]?.path).toEndWith('/google/models/text-embedding-005:predict');
  expect(sentBody()).toEqual({
    instances: [{ content: 'a' }, { content: 'b' }],
    parameters: { outputDimensionality: 1 },
  });
  expect(reply.message['usage']).toMatchObject({ input_tokens: 4 });
  expect((await faultOf(vertex.uses?.embeddings?.(attemptOf('claude-x')) as Promise<unknown>)).kind).toBe('rejected');
});

test("Google's errors in a stream of Claude are faults, also in a list, and name no project", async () => {
  const error = (code: number, status: string, message: string) => ({ error: { code, status, message } });
  for (const [body, kind] of [
    [error(429, 'RESOURCE_EXHAUSTED', 'Quota.'), 'rate_limited'],
    [[error(503, 'UNAVAILABLE', 'Busy.')], 'overloaded'],
    [error(400, 'INVALID_ARGUMENT', 'Bad in projects/our-project/locations/x'), 'rejected'],
  ] as const) {
    upstream.play((answer) =>
      answer.send(200, { 'content-type': 'text/event-stream' }, `data: ${JSON.stringify(body)}\n\n`),
    );
    const reply = await vertex.submit(attemptOf('claude-x', {}, { stream: true }));
    if (reply.form !== 'stream') expect.unreachable();
    const fault = await faultOf(reply.events.next());
    expect(fault.kind).toBe(kind);
    expect(fault.message).not.toContain('our-project');
    upstream.play(json(body));
    expect((await faultOf(vertex.submit(attemptOf('claude-x')))).kind).toBe(kind);
  }
});

test('a feature that an organization policy does not allow is refused for this request only', async () => {
  const policy = 'Organization Policy constraint constraints/vertexai.allowedPartnerModelFeatures violated';
  const named = `${policy} for projects/our-project in organizations/123456789.`;
  const told = 'attempting to use a disallowed Gen AI feature `web_search`.';
  for (const message of [named, told]) {
    const body = { error: { code: 400, status: 'FAILED_PRECONDITION', message } };
    const event = `data: ${JSON.stringify(body)}\n\n`;
    upstream.play(json(body, 400), json([body], 400), json(body), (answer) =>
      answer.send(200, { 'content-type': 'text/event-stream' }, event),
    );
    const faults = [];
    for (let sent = 0; sent < 3; sent += 1) faults.push(await faultOf(vertex.submit(attemptOf('claude-x'))));
    const reply = await vertex.submit(attemptOf('claude-x', {}, { stream: true }));
    if (reply.form !== 'stream') expect.unreachable();
    faults.push(await faultOf(reply.events.next()));
    for (const fault of faults) {
      expect(fault).toMatchObject({
        kind: 'rejected',
        status: 400,
        errorType: 'invalid_request_error',
        isUnsupported: true,
      });
      for (const secret of ['our-project', '123456789']) expect(fault.message).not.toContain(secret);
    }
  }
  const disabled = 'Project is not allowed to use Publisher Model.';
  upstream.play(json({ error: { code: 400, status: 'FAILED_PRECONDITION', message: disabled } }, 400));
  expect(await faultOf(vertex.submit(attemptOf('claude-x')))).toMatchObject({
    kind: 'credentials',
    isUnsupported: false,
  });
});

describe('the connection test', () => {
  const refused = json({ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'model: Field required' } }, 400);
  const missing = json({ error: { code: 404, status: 'NOT_FOUND', message: 'Publisher Model not found.' } }, 404);
  const denied = (message: string) => json({ error: { code: 403, status: 'PERMISSION_DENIED', message } }, 403);
  const probe = (changes: Partial<ProviderEndpoint> = {}) => probeProvider(vertex, { ...endpoint, ...changes }, 5_000);

  test('sends counts without a prompt, of Gemini where a region has no Claude', async () => {
    upstream.play(refused);
    expect(await probe()).toMatchObject({ ok: true, message: expect.stringContaining('accepts the credential') });
    upstream.play(missing, refused);
    expect(await probe()).toMatchObject({ ok: true });
    expect(upstream.requests.map(({ path, body }) => [path.slice(PLACE.length), body])).toEqual([
      ['/anthropic/models/count-tokens:rawPredict', '{}'],
      ['/anthropic/models/count-tokens:rawPredict', '{}'],
      ['/google/models/gemini-2.5-flash:countTokens', '{}'],
    ]);
  });

  test.each([
    [missing, /the region europe-west1 has neither Claude nor Gemini/],
    [denied("Permission 'aiplatform.endpoints.predict' denied on resource."), /lacks the role Vertex AI User/],
    [denied('Vertex AI API has not been used in project 123 before or it is disabled.'), /API is not enabled/],
    [denied('Project not found or deleted'), /the project does not exist/],
  ] as [Script, RegExp][])('tells what is wrong', async (script, words) => {
    upstream.play(script);
    const { ok, message } = await probe();
    expect(ok).toBe(false);
    expect(message).toMatch(words);
  });

  test('tells that a region does not exist', async () => {
    const { message } = await probe({ baseUrl: 'http://no-such-region.invalid' });
    expect(message).toMatch(/the region europe-west1 may be wrong/);
  });
});
