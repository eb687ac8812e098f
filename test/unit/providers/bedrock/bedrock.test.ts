// The kind bedrock as a service: addresses, credentials, the choice of the protocol, token counts, and the connection test.

import { afterAll, expect, test } from 'bun:test';
import { bedrock } from '../../../../src/providers/bedrock/bedrock.ts';
import { bedrockAbilities, thinksByDefault } from '../../../../src/providers/bedrock/families.ts';
import { type Attempt, type ProviderEndpoint, probeProvider } from '../../../../src/providers/providers.ts';
import { signRequest } from '../../../../src/providers/sign-request.ts';
import { Secret, type SecretUse } from '../../../../src/secrets/secrets.ts';
import { type Script, scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { bedrockClaudeDriver } from '../conformance/bedrock-wire.ts';
import { bytesOf } from '../conformance/driver.ts';
import { faultOf, makeAttempt, readAll, readToFault } from '../make-attempt.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret/key', sessionToken: 'TOKEN/+=' };

class AwsSecret extends Secret {
  refusals = 0;
  override get use(): SecretUse {
    return 'aws';
  }
  override onRefused(): void {
    this.refusals++;
  }
}

const upstream = await startScriptedUpstream(scripts.html(500));
afterAll(() => upstream.close());

const endpointWith = (credential: Secret | null): ProviderEndpoint => ({
  name: 'bedrock',
  kind: 'bedrock',
  baseUrl: upstream.url,
  region: 'eu-central-1',
  credential,
});

function attemptAt(upstreamModel: string, body: object = {}, changes: Partial<Attempt> = {}): Attempt {
  const messages = [{ role: 'user', content: 'Hi' }];
  const attempt = makeAttempt('', { model: 'm', max_tokens: 9, messages, ...body });
  return { ...attempt, provider: endpointWith(new Secret('ABSKours')), upstreamModel, ...changes };
}

const refusal =
  (status: number, type: string, message: string): Script =>
  (answer) =>
    answer.send(status, { 'content-type': 'application/json', 'x-amzn-errortype': type }, JSON.stringify({ message }));

/** The next request to the upstream, which refuses it. */
async function sentFor(attempt: Attempt) {
  upstream.play(refusal(400, 'ValidationException', 'no'));
  await faultOf(bedrock.submit(attempt));
  return upstream.requests.at(-1) ?? expect.unreachable();
}

test.each([
  ['anthropic.claude-v1:0', undefined, '/model/anthropic.claude-v1%3A0/invoke'],
  ['us-gov.anthropic.claude-v1:0', null, '/model/us-gov.anthropic.claude-v1%3A0/invoke'],
  ['global.anthropic.claude-opus-4-6', null, '/model/global.anthropic.claude-opus-4-6/invoke'],
  ['anthropic.claude-v1:0', 'converse', '/model/anthropic.claude-v1%3A0/converse'],
  ['amazon.nova-pro-v1:0', null, '/model/amazon.nova-pro-v1%3A0/converse'],
  ['notanthropic.claude', null, '/model/notanthropic.claude/converse'],
  [
    'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc',
    'messages',
    '/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3Aapplication-inference-profile%2Fabc/invoke',
  ],
  [
    'arn:aws:bedrock:eu-central-1::foundation-model/anthropic.claude-v1:0',
    null,
    '/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A%3Afoundation-model%2Fanthropic.claude-v1%3A0/invoke',
  ],
])('the model %s with the protocol %p is sent to %s', async (model, protocol, path) => {
  expect((await sentFor(attemptAt(model, {}, { protocol: protocol ?? null }))).path).toBe(path);
  const streamed = await sentFor(attemptAt(model, { stream: true }, { protocol: protocol ?? null }));
  expect(streamed.path).toBe(
    path.replace('/invoke', '/invoke-with-response-stream').replace(/\/converse$/, '/converse-stream'),
  );
});

test('a key of Bedrock is sent as a bearer token, and keys of AWS sign without being sent', async () => {
  const { headers } = await sentFor(attemptAt('amazon.nova-pro-v1:0'));
  expect(headers['authorization']).toBe('Bearer ABSKours');
  const signed = await sentFor(
    attemptAt('amazon.nova-pro-v1:0', {}, { provider: endpointWith(new AwsSecret(JSON.stringify(KEYS))) }),
  );
  expect(signed.headers['authorization']).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
  );
  expect(JSON.stringify(signed)).not.toContain('secret/key');
  expect(signed.headers['x-amz-security-token']).toBe(KEYS.sessionToken);
});

test('a signature is what botocore makes of the same request', async () => {
  const headers = await signRequest(
    {
      url: 'https://bedrock-runtime.eu-central-1.amazonaws.com/model/anthropic.claude-v1%3A0/invoke',
      headers: { 'content-type': 'application/json', 'user-agent': 'turnpike' },
      body: '{"a":"ü"}',
    },
    {
      credential: new AwsSecret(JSON.stringify(KEYS)),
      service: 'bedrock',
      region: 'eu-central-1',
      now: new Date('2026-11-26T08:09:10Z'),
    },
  );
  expect(headers['authorization']).toEndWith(
    'Signature=f6211cbc7a55f0a252507debe45afbec58d5500b8ef49c61d03d6b883ebf5025',
  );
});

test('a credential without keys is reported without its text, and one that is refused is notified', async () => {
  for (const text of ['', 'no JSON', '{}', '[]', '{"accessKeyId":"a b","secretAccessKey":"s"}'])
    expect(
      await faultOf(bedrock.submit(attemptAt('m', {}, { provider: endpointWith(new AwsSecret(text)) }))),
    ).toMatchObject({ kind: 'credentials', message: "the provider's credential has no AWS access key" });
  const credential = new AwsSecret(JSON.stringify(KEYS));
  upstream.play(refusal(403, 'ExpiredTokenException', 'The security token included in the request is expired'));
  await faultOf(bedrock.submit(attemptAt('m', {}, { provider: endpointWith(credential) })));
  expect(credential.refusals).toBe(1);
});

test('tokens are counted with the id of the foundation model, or not at all', async () => {
  upstream.play(scripts.json('{"inputTokens":777}'));
  const thinking = { type: 'enabled', budget_tokens: 2_000 };
  expect(await bedrock.countTokens(attemptAt('eu.anthropic.claude-v1:0', { thinking }))).toBe(777);
  const { path, body } = upstream.requests.at(-1) ?? expect.unreachable();
  expect(path).toBe('/model/anthropic.claude-v1%3A0/count-tokens');
  const { input } = JSON.parse(body) as { input: { invokeModel: { body: string } } };
  expect(JSON.parse(Buffer.from(input.invokeModel.body, 'base64').toString())).toMatchObject({
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens: 2_001,
    messages: [{ role: 'user', content: 'Hi' }],
  });
  expect(await bedrock.countTokens(attemptAt('anthropic.claude-v1:0', {}, { protocol: 'converse' }))).toBe(777);
  expect(JSON.parse(upstream.requests.at(-1)?.body ?? '')).toEqual({
    input: { converse: { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] } },
  });
  const arn = 'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abc';
  expect(await bedrock.countTokens(attemptAt(arn, {}, { protocol: 'messages' }))).toBeNull();
  expect(await bedrock.countTokens(attemptAt('amazon.nova-pro-v1:0'))).toBeNull();
  upstream.play(scripts.json('{"inputTokens":-1}'));
  expect((await faultOf(bedrock.countTokens(attemptAt('anthropic.claude-v1:0')))).kind).toBe('failed');
});

const chunk = (text: string) => `chunk ${JSON.stringify({ bytes: Buffer.from(text).toString('base64') })}`;
const streamOf =
  (...events: string[]): Script =>
  async (answer) => {
    answer.begin(200, { 'content-type': 'application/vnd.amazon.eventstream', 'x-amzn-requestid': 'theirs-1' });
    await answer.write(bytesOf(bedrockClaudeDriver, events));
    answer.end();
  };

async function openStream() {
  const reply = await bedrock.submit(attemptAt('anthropic.claude-v1:0', { stream: true }));
  if (reply.form !== 'stream') throw new Error('the response was not streamed');
  return reply;
}

test("Claude's events are passed on byte for byte, without Bedrock's metrics and pings", async () => {
  const start = '{"type":"message_start", "message":{"id":"msg_1","usage":{"input_tokens":1}}}';
  const delta = '{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eq+/=="}}';
  const last = '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":1}}';
  upstream.play(
    streamOf(chunk(start), chunk('{"type":"ping"}'), 'anEventOfTheFuture {}', chunk(delta), chunk(last), chunk('late')),
  );
  const { events, upstreamRequestId } = await openStream();
  expect((await readAll(events)).map(({ json }) => json)).toEqual([start, delta, '{"type":"message_stop"}']);
  expect(upstreamRequestId).toBe('theirs-1');
});

test('line breaks between the tokens of an event become spaces, and those within its strings are a failure', async () => {
  const start = '{"type":"message_start",\r\n"message":\r{"id":"msg_1"}}\n';
  const delta = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\r\\nb"}}';
  upstream.play(streamOf(chunk(start), chunk(delta), chunk('{"type":"content_block_stop","x":"a\rb"}')));
  const { events, fault } = await readToFault((await openStream()).events);
  expect(events.map(({ json }) => json)).toEqual(['{"type":"message_start",  "message": {"id":"msg_1"}} ', delta]);
  expect(fault.kind).toBe('failed');
});

test.each([
  'chunk {"bytes":"%%%"}',
  'chunk {"bytes":7}',
  'chunk {}',
  chunk('[]'),
  chunk('{"type":7}'),
  chunk('{"type":"error","error":{"type":"api_error","message":"no"}}'),
  `chunk {"bytes":"${'['.repeat(10)}"}`,
])('a chunk that holds no event is a failure: %s', async (event) => {
  upstream.play(streamOf(chunk('{"type":"message_start","message":{}}'), event));
  const { events, fault } = await readToFault((await openStream()).events);
  expect(events).toHaveLength(1);
  expect(fault.kind).toBe('failed');
});

test('server-sent events in place of frames are a failure', async () => {
  upstream.play(scripts.rawStream('event: message_start\ndata: {"type":"message_start","message":{}}\n\n'));
  expect((await faultOf(openStream())).kind).toBe('failed');
});

test('the connection test says what is wrong: key, region, permission, address', async () => {
  const probe = async (script: Script) => {
    upstream.play(script);
    return await probeProvider(bedrock, endpointWith(new AwsSecret(JSON.stringify(KEYS))));
  };
  const ok = await probe(refusal(400, 'ValidationException', 'The provided model identifier is invalid.'));
  expect(ok).toMatchObject({ ok: true, status: 400, models: null });
  expect(ok.message).toContain('costs nothing');
  expect(upstream.requests.at(-1)).toMatchObject({
    path: '/model/anthropic.claude-connection-test/converse',
    body: '{}',
  });
  for (const [type, message] of [
    ['UnrecognizedClientException', 'The security token included in the request is invalid.'],
    ['InvalidSignatureException', "Credential should be scoped to a valid region, not 'eu-central-1'."],
    [
      'AccessDeniedException',
      'User: arn:aws:iam::123456789012:user/t is not authorized to perform: bedrock:InvokeModel',
    ],
  ] as const) {
    const failed = await probe(refusal(403, type, message));
    expect(failed).toMatchObject({ ok: false, status: 403, fault: 'credentials' });
    expect(failed.message).toContain(message.slice(-25));
    expect(failed.message).not.toContain('123456789012');
  }
  expect(await probe(scripts.json('{}'))).toMatchObject({ ok: false, fault: 'failed' });
  expect(await probe((answer) => answer.send(404, {}, 'nothing here'))).toMatchObject({
    ok: false,
    fault: 'not_found',
  });
});

test('abilities follow from the name of the model, whatever its region', () => {
  expect(bedrockAbilities('us.anthropic.claude-sonnet-4-5-20250929-v1:0')).toMatchObject({
    documents: true,
    thinks: true,
  });
  expect(bedrockAbilities('eu.amazon.nova-pro-v1:0')).toMatchObject({ images: true, documents: true, thinks: false });
  expect(bedrockAbilities('amazon.nova-micro-v1:0')).toMatchObject({ images: false });
  expect(bedrockAbilities('openai.gpt-oss-120b-1:0')).toMatchObject({
    thinks: true,
    efforts: ['low', 'medium', 'high'],
  });
  expect(bedrockAbilities('arn:aws:bedrock:eu-central-1:1:application-inference-profile/abc')).toBeNull();
  expect(['us.deepseek.r1-v1:0', 'openai.gpt-oss-20b-1:0', 'moonshot.kimi-k2-thinking'].map(thinksByDefault)).toEqual([
    true,
    true,
    true,
  ]);
  expect(['anthropic.claude-opus-4-6', 'amazon.nova-pro-v1:0'].map(thinksByDefault)).toEqual([false, false]);
});
