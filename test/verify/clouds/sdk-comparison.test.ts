// The official SDKs of the clouds and our providers send the same message to the same upstream: what ours sends is the same,
// but for the differences that are written here, each with its reason.

import { afterAll, describe, expect, test } from 'bun:test';
import { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk';
import { AnthropicFoundry } from '@anthropic-ai/foundry-sdk';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { OAuth2Client } from 'google-auth-library';
import { type Attempt, providerKinds } from '../../../src/providers/providers.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import { type RecordedRequest, type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { frameOf } from '../../unit/providers/conformance/bedrock-wire.ts';
import { makeAttempt, readAll } from '../../unit/providers/make-attempt.ts';

type Json = Record<string, unknown>;

const TOKEN = 'ya29.a-token-of-the-test-0123456789';
const KEY = 'a-key-of-the-test-0123456789';
const MODEL = 'claude-sonnet-4-5@20250929';
const BETAS = ['context-management-2025-06-27', 'interleaved-thinking-2025-05-14'];

const usage = { input_tokens: 3, output_tokens: 2 };
const whole = { id: 'msg_1', type: 'message', role: 'assistant', model: MODEL, content: [], usage };
const streamed = [
  { type: 'message_start', message: whole },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
  { type: 'message_stop' },
];
const chunkOf = (event: object) =>
  frameOf(
    { ':message-type': 'event', ':event-type': 'chunk', ':content-type': 'application/json' },
    JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64') }),
  );
const answering: Script = (answer, { path, body }) => {
  if (path.endsWith('/invoke-with-response-stream')) {
    answer.begin(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    for (const event of streamed) void answer.write(chunkOf(event));
    return answer.end();
  }
  const isStream = (JSON.parse(body) as Json)['stream'] === true;
  const json = { 'content-type': 'application/json' };
  if (/count[_-]tokens/.test(path)) return answer.send(200, json, '{"input_tokens":3}');
  if (!isStream) return answer.send(200, json, JSON.stringify(whole));
  const text = streamed.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  answer.send(200, { 'content-type': 'text/event-stream' }, text);
};
const upstream = await startScriptedUpstream(answering);
afterAll(() => upstream.close());

/** A conversation with tools, thinking, a cached prefix and fields of the beta API. */
const message = {
  max_tokens: 1_000,
  system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } }],
  thinking: { type: 'adaptive' },
  tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } }],
  context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
  messages: [
    { role: 'user', content: 'Grüße — 日本' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'c2VhbGVk' },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'A cat.' }] },
  ],
};
const counted = (({ max_tokens: _, context_management: __, ...rest }) => rest)(message);

interface Cloud {
  provider: Attempt['provider'];
  /** Absent: MODEL. */
  model?: string;
  /** The SDK does not count. */
  hasNoCount?: true;
  /** The official SDK. */
  sdk: {
    beta: {
      messages: { create(body: never): PromiseLike<unknown>; countTokens(body: never): PromiseLike<unknown> };
    };
  };
}

const authClient = new OAuth2Client();
authClient.setCredentials({ access_token: TOKEN, expiry_date: Date.now() + 3_600_000 });

/** A credential that is sent as a token. */
class Token extends Secret {
  override get use() {
    return 'bearer' as const;
  }
}

/** Keys of AWS, which sign requests. */
class Keys extends Secret {
  override get use() {
    return 'aws' as const;
  }
}
const AWS = { accessKeyId: 'AKIAEXAMPLE000000000', secretAccessKey: 'a-secret-of-the-test-0123456789' };

const clouds: Readonly<Record<string, Cloud>> = {
  bedrock: {
    provider: {
      name: 'amazon',
      kind: 'bedrock',
      baseUrl: upstream.url,
      region: 'eu-central-1',
      credential: new Keys(JSON.stringify(AWS)),
    },
    model: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    hasNoCount: true,
    sdk: new AnthropicBedrock({
      baseURL: upstream.url,
      awsRegion: 'eu-central-1',
      awsAccessKey: AWS.accessKeyId,
      awsSecretKey: AWS.secretAccessKey,
      apiKey: null,
      maxRetries: 0,
    }) as unknown as Cloud['sdk'],
  },
  vertex: {
    provider: {
      name: 'google',
      kind: 'vertex',
      baseUrl: upstream.url,
      project: 'a-project',
      region: 'us-east5',
      credential: new Token(TOKEN),
    },
    sdk: new AnthropicVertex({
      baseURL: `${upstream.url}/v1`,
      projectId: 'a-project',
      region: 'us-east5',
      authClient: authClient as never, // of another version of the library
      maxRetries: 0,
    }) as unknown as Cloud['sdk'],
  },
  'foundry, with a key': {
    provider: { name: 'azure', kind: 'foundry', baseUrl: upstream.url, credential: new Secret(KEY) },
    sdk: new AnthropicFoundry({
      baseURL: `${upstream.url}/anthropic/`,
      apiKey: KEY,
      maxRetries: 0,
    }) as unknown as Cloud['sdk'],
  },
  'foundry, with a token of Entra': {
    provider: { name: 'azure', kind: 'foundry', baseUrl: upstream.url, credential: new Token(TOKEN) },
    sdk: new AnthropicFoundry({
      baseURL: `${upstream.url}/anthropic/`,
      azureADTokenProvider: async () => TOKEN,
      maxRetries: 0,
    }) as unknown as Cloud['sdk'],
  },
};

/** The members of a request that are compared. */
interface Compared {
  method: string;
  path: string;
  headers: Json;
  body: Json;
}

const HEADERS = ['authorization', 'x-api-key', 'api-key', 'anthropic-beta', 'anthropic-version', 'content-type'];

function comparable({ method, path, headers, body }: RecordedRequest): Compared {
  const kept = Object.entries(headers).filter(([name]) => HEADERS.includes(name));
  const members = Object.fromEntries(kept) as Json;
  const betas = String(members['anthropic-beta'] ?? '');
  if (betas !== '') members['anthropic-beta'] = betas.split(',').toSorted();
  // The signature covers the time; who signed, and for what, is the same.
  const signer = /Credential=[^,]+/.exec(String(members['authorization']))?.[0];
  if (signer !== undefined) members['authorization'] = signer;
  return { method, path, headers: members, body: JSON.parse(body) as Json };
}

async function sentBy(send: () => PromiseLike<unknown>): Promise<Compared> {
  upstream.requests.length = 0;
  await send();
  expect(upstream.requests).toHaveLength(1);
  return comparable(upstream.requests[0] as RecordedRequest);
}

/**
 * Brings a request of the SDK into our form. Its differences: it names the version of its own generation, which refuses
 * sampling, while every platform takes the first one with the fields of all; and it marks requests of the beta API in the
 * query, which no server reads.
 */
function expected(kind: string, sent: Compared): Compared {
  const { headers, body, path } = sent;
  if (kind === 'bedrock') {
    // Version and betas are in the body, and repeated in headers that Bedrock does not read. Both forms of the path are one.
    const { 'anthropic-version': _, 'anthropic-beta': __, ...others } = headers;
    // Bedrock is not known to edit contexts for all models: the field, which is a hint, is left out with its beta.
    const { context_management: ___, anthropic_beta: betas, ...members } = body;
    const anthropic_beta = (betas as string[]).filter((beta) => !beta.startsWith('context-management-'));
    const ours = { ...members, anthropic_beta, anthropic_version: 'bedrock-2023-05-31' };
    return { ...sent, path: path.replace('v1:0', 'v1%3A0'), headers: others, body: ours };
  }
  const withVersion = { ...headers, 'anthropic-version': '2023-06-01' };
  return kind === 'vertex'
    ? { ...sent, path, body: { ...body, anthropic_version: 'vertex-2023-10-16' } }
    : { ...sent, path: path.replace('?beta=true', ''), headers: withVersion };
}

describe.each(Object.entries(clouds))('%s', (_name, { provider, sdk, model = MODEL, hasNoCount }) => {
  const kind = providerKinds.get(provider.kind) ?? expect.unreachable();
  const attemptOf = (body: Json) =>
    makeAttempt(upstream.url, { ...body, model }, { provider, betas: BETAS.join(','), version: '2026-10-21' });

  test.each([false, true])('gets the same message as from its SDK (streamed: %p)', async (stream) => {
    const body = { ...message, stream };
    const theirs = await sentBy(async () => {
      const answer = await sdk.beta.messages.create({ ...body, model, betas: BETAS } as never);
      if (stream) for await (const _event of answer as AsyncIterable<unknown>);
    });
    const ours = await sentBy(async () => {
      const reply = await kind.submit(attemptOf(body));
      if (reply.form === 'stream') await readAll(reply.events);
    });
    expect(ours).toEqual(expected(provider.kind, theirs));
  });

  if (hasNoCount) return;
  test('gets the same token count as from its SDK', async () => {
    const theirs = await sentBy(() => sdk.beta.messages.countTokens({ ...counted, model, betas: BETAS } as never));
    const ours = await sentBy(() => kind.countTokens(attemptOf(counted)));
    const { headers } = theirs;
    // The SDK adds the beta of the first counters, which all of them know by now.
    const betas = (headers['anthropic-beta'] as string[]).filter((beta) => !beta.startsWith('token-counting-'));
    expect(ours).toEqual(expected(provider.kind, { ...theirs, headers: { ...headers, 'anthropic-beta': betas } }));
  });
});
