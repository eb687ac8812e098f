// A credential that a provider repeats in its response is removed.

import { expect, test } from 'bun:test';
import { anthropic } from '../../../src/providers/anthropic/anthropic.ts';
import { redactCredential } from '../../../src/providers/hide-credential.ts';
import { apiProvider } from '../../../src/providers/http-api.ts';
import { ProviderFault } from '../../../src/providers/provider.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import { encodeEvent, makeEvent } from '../../../src/wire/wire.ts';
import { faultOf, makeAttempt } from './make-attempt.ts';

const CREDENTIAL = 'token+of/an.operator~0123456789';
const secret = new Secret(CREDENTIAL);

test('a text loses the credential in plain and in base64, at every offset of the encoded text', () => {
  for (const before of ['', 'u', 'us', 'user:', 'Basic user:'])
    for (const encoding of ['base64', 'base64url'] as const) {
      const encoded = Buffer.from(`${before}${CREDENTIAL}:more`).toString(encoding);
      const redacted = redactCredential(`no access for ${encoded}`, secret);
      expect(redacted).toContain('[redacted]');
      expect(redacted.replace(/^no access for /, '').length).toBeLessThan(encoded.length - 20);
    }
  expect(redactCredential(`no "${CREDENTIAL}" here`, secret)).toBe('no "[redacted]" here');
  expect(redactCredential('nothing of it', secret)).toBe('nothing of it');
});

test('a credential that is too short to be one changes no text', () => {
  expect(redactCredential('a short text of words', new Secret('o'))).toBe('a short text of words');
  expect(redactCredential('a text', null)).toBe('a text');
});

const fault = new ProviderFault('rejected', `messages.0: ${CREDENTIAL}`, {
  status: 400,
  retryAfterMs: 7,
  errorType: `error_${CREDENTIAL}`,
  upstreamRequestId: CREDENTIAL,
});
const hidden = {
  kind: 'rejected',
  message: 'messages.0: [redacted]',
  status: 400,
  retryAfterMs: 7,
  errorType: 'error_[redacted]',
  upstreamRequestId: '[redacted]',
};

const talkative = apiProvider(
  'talkative',
  {
    url: ({ baseUrl }) => baseUrl,
    headers: () => {
      throw fault;
    },
    mapFault: () => fault,
    modelsPath: '/models',
    messagePath: null,
    readModels: () => null,
  },
  {
    send: async ({ request }) => {
      if (!request.stream) throw fault;
      return new Response();
    },
    read: async () => ({
      form: 'stream',
      events: { next: () => Promise.reject(fault) },
      upstreamRequestId: `req-${CREDENTIAL}`,
    }),
    countTokens: () => Promise.reject(fault),
  },
);

test('every kind of provider failure loses the credential, and no other text', async () => {
  const made = makeAttempt('http://127.0.0.1:9', {
    model: 'm',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'a' }],
  });
  const attempt = { ...made, provider: { ...made.provider, credential: secret } };
  await expect(talkative.submit(attempt)).rejects.toMatchObject(hidden);
  await expect(talkative.countTokens(attempt)).rejects.toMatchObject(hidden);
  await expect(talkative.probe?.(attempt.provider, attempt.signal)).rejects.toMatchObject(hidden);
  const reply = await talkative.submit({ ...attempt, request: { ...attempt.request, stream: true } });
  expect(reply.upstreamRequestId).toBe('req-[redacted]');
  if (reply.form === 'stream') await expect(reply.events.next()).rejects.toMatchObject(hidden);
});

test('a fault within a stream loses the credential', async () => {
  const event = { type: 'error', error: { type: 'api_error', message: `no access for ${CREDENTIAL}` } };
  using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(encodeEvent(makeEvent(event)), { headers: { 'content-type': 'text/event-stream' } }),
  });
  const body = { model: 'm', max_tokens: 1, stream: true, messages: [{ role: 'user', content: 'a' }] };
  const made = makeAttempt(server.url.origin, body);
  const reply = await anthropic.submit({
    ...made,
    provider: { ...made.provider, credential: secret },
  });
  if (reply.form !== 'stream') throw new Error(reply.form);
  for (const _read of ['first', 'repeated']) {
    const { message } = await faultOf(reply.events.next());
    expect(message).toContain('no access for [redacted]');
    expect(message).not.toContain(CREDENTIAL);
  }
});
