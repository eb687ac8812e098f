// The plan of a message: the hold before its prompt is counted.

import { expect, test } from 'bun:test';
import { resolveModel } from '../../../src/catalog/catalog.ts';
import { measureFor, planMessage } from '../../../src/gateway/plan-message.ts';
import { anthropic } from '../../../src/providers/anthropic/anthropic.ts';
import { convertMessageBody } from '../../../src/providers/anthropic/convert-request.ts';
import { type Protocol, parseMessageRequest, readFeatures } from '../../../src/wire/wire.ts';
import { catalogOf } from '../catalog/support.ts';
import { makeAttempt } from '../providers/make-attempt.ts';

test('a hold covers the descriptions of names that Claude refuses', async () => {
  const catalog = catalogOf({
    providers: { p: { kind: 'anthropic', base_url: 'https://p.example', api_key: 'k' } },
    models: { m: { price: { input: '1', output: '2' }, routes: [{ provider: 'p', model: 'claude-sonnet-4-5' }] } },
    groups: { default: { models: ['*'] } },
  });
  const offer = resolveModel(catalog, { account: 1, groups: ['default'], keyModels: null }, 'm');
  const names = Array.from({ length: 3_000 }, (_, index) => String.fromCodePoint(0x4e00 + index));
  const properties = Object.fromEntries(names.map((name) => [name, {}]));
  const tools = [{ name: 'f', input_schema: { type: 'object', properties } }];
  const body = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }], tools };
  const boundOf = async (protocol: Protocol) => {
    const request = parseMessageRequest(new TextEncoder().encode(JSON.stringify(body)), protocol);
    const terms = {
      features: readFeatures(request, null),
      settings: { outputTrancheTokens: 1, outputFloorTokens: 1 },
      providers: [anthropic],
      passthroughs: [],
    };
    const { inputBound } = planMessage(request, offer, terms, await measureFor(request, offer));
    const attempt = makeAttempt('http://127.0.0.1:1', body, { request, upstreamModel: 'claude-sonnet-4-5' });
    return { inputBound, sent: Buffer.byteLength(convertMessageBody(attempt)) };
  };
  const { inputBound, sent } = await boundOf('chat-completions');
  expect(sent).toBeGreaterThan(80_000);
  expect(inputBound).toBeGreaterThanOrEqual(sent);
  expect((await boundOf('messages')).inputBound).toBeLessThan(30_000); // unchanged
});
