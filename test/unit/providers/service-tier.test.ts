// Service tiers: the request for the tier with the listed rates, and the names by which providers tell which one they served.

import { expect, test } from 'bun:test';
import {
  CLOUD_TIERS,
  googleTierMember,
  googleTierOfAnswer,
  OPENAI_TIERS,
  requestedTier,
  requestedWord,
  tierMember,
  tierMembers,
  tierWord,
} from '../../../src/protocols/service-tiers.ts';
import { convertBody as convertConverse } from '../../../src/providers/bedrock/convert-request.ts';
import { ownMembers } from '../../../src/providers/gemini/convert-request.ts';
import { convertBody as convertChat } from '../../../src/providers/openai/convert-request.ts';
import { chooseProfile } from '../../../src/providers/openai/profile.ts';
import {
  convertBody as convertResponse,
  isAzureHost,
  tierAt,
} from '../../../src/providers/openai-responses/convert-request.ts';
import { convertOwnBody } from '../../../src/providers/openai-responses/own-protocol.ts';
import type { TierPlace } from '../../../src/providers/provider.ts';
import { type Attempt, providerKinds } from '../../../src/providers/providers.ts';
import { readUsage } from '../../../src/usage/read-usage.ts';
import { isOfUnknownTier } from '../../../src/usage/usage.ts';
import { PRICED_TIERS, SERVICE_TIERS, scanJson, servedTier, tierOf } from '../../../src/wire/wire.ts';
import { makeAttempt } from './make-attempt.ts';

const BODY = { model: 'gpt-4.1', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
const OPENAI = ['https://api.openai.com', 'https://api.openai.com/v1', 'https://eu.api.openai.com/v1'];
const OTHERS = [
  'https://mine.openai.azure.com',
  'https://api.x.ai',
  'http://127.0.0.1:8000',
  'https://api.openai.com.evil.example',
];

test('OpenAI is asked for the tier with the listed rates, and no other host is', () => {
  const tiersAt = (baseUrl: string) => {
    const attempt = makeAttempt(baseUrl, BODY);
    const text = '{"model":"m","input":"Hi","service_tier":"auto"}';
    const own = { protocol: 'openai-responses', text, members: scanJson(text) };
    return [
      convertChat(attempt, chooseProfile(baseUrl, 'gpt-4.1'))['service_tier'],
      convertResponse(attempt)['service_tier'],
      JSON.parse(convertOwnBody(own as never, attempt, 16, tierAt(attempt, isAzureHost)))['service_tier'],
    ];
  };
  for (const baseUrl of OPENAI) expect(tiersAt(baseUrl)).toEqual(['default', 'default', 'default']);
  for (const baseUrl of OTHERS) expect(tiersAt(baseUrl)).toEqual([undefined, undefined, 'auto']);
});

const FAST = { speed: 'fast' };
const FLEX = { service_tier: 'flex' };
const ULTRAFAST = { service_tier: 'ultrafast' };

test.each([
  ['https://api.openai.com/v1', ['priority', 'flex', 'ultrafast']],
  ['https://mine.openai.azure.com', ['priority', 'flex', undefined]],
  ['http://127.0.0.1:8000', [undefined, undefined, undefined]],
])('at %s, OpenAI’s kinds are asked for a tier by the words that the host has', (baseUrl, words) => {
  const own = (attempt: Attempt) => {
    const text = '{"model":"m","input":"Hi","service_tier":"fast"}';
    const body = { protocol: 'openai-responses', text, members: scanJson(text) };
    return JSON.parse(convertOwnBody(body as never, attempt, 16, tierAt(attempt, isAzureHost)))['service_tier'];
  };
  const asked = [FAST, FLEX, ULTRAFAST].map((tier) => makeAttempt(baseUrl, { ...BODY, ...tier }));
  expect(asked.map((attempt) => convertChat(attempt, chooseProfile(baseUrl, 'gpt-4.1'))['service_tier'])).toEqual(
    words,
  );
  expect(asked.map((attempt) => convertResponse(attempt)['service_tier'])).toEqual(words);
  expect(asked.map(own)).toEqual(words.map((word) => word ?? 'fast'));
});

test('Groq, Gemini and Converse are asked for a tier by their words, and none of them for the standard one', () => {
  const groq = (tier: object) => {
    const attempt = makeAttempt('https://api.groq.com', { ...BODY, ...tier });
    return convertChat(attempt, chooseProfile('https://api.groq.com', 'm'))['service_tier'];
  };
  expect([{}, FLEX].map(groq)).toEqual([undefined, 'flex']);
  const google = (tier: object) => ownMembers(makeAttempt('http://upstream', { ...BODY, ...tier }))['serviceTier'];
  expect([{}, FAST, FLEX].map(google)).toEqual([undefined, 'priority', 'flex']);
  const converse = (tier: object) =>
    JSON.parse(convertConverse(makeAttempt('http://upstream', { ...BODY, model: 'amazon.nova-lite-v1:0', ...tier })));
  expect([{}, FAST, FLEX].map((tier) => converse(tier)['serviceTier'])).toEqual([
    undefined,
    { type: 'priority' },
    { type: 'flex' },
  ]);
});

test('Vertex AI is asked for a tier in a header, at each message', async () => {
  const seen: (string | null)[] = [];
  using upstream = Bun.serve({
    port: 0,
    fetch(request) {
      seen.push(request.headers.get('x-vertex-ai-llm-shared-request-type'));
      return Response.json({ candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] });
    },
  });
  const provider = {
    name: 'p',
    kind: 'vertex',
    baseUrl: upstream.url.origin,
    region: 'global',
    project: 'p',
    credential: null,
  };
  for (const tier of [{}, FLEX, FAST, {}])
    await providerKinds
      .get('vertex')
      ?.submit(makeAttempt('', { ...BODY, model: 'gemini-3-pro', ...tier }, { provider }));
  expect(seen).toEqual([null, 'flex', 'priority', null]);
});

test('Anthropic gets the beta of fast mode with messages of other protocols, and the client’s betas with its own', async () => {
  const seen: (string | null)[] = [];
  using upstream = Bun.serve({
    port: 0,
    fetch(request) {
      seen.push(request.headers.get('anthropic-beta'));
      return Response.json({ type: 'message', role: 'assistant', content: [], usage: {} });
    },
  });
  const send = (tier: object, protocol: 'messages' | 'responses', betas: string | null) => {
    const attempt = makeAttempt(upstream.url.origin, { ...BODY, ...tier }, { betas });
    return providerKinds.get('anthropic')?.submit({ ...attempt, request: { ...attempt.request, protocol } });
  };
  await send(FAST, 'responses', null);
  await send({}, 'responses', null);
  await send(FAST, 'messages', 'mine');
  expect(seen).toEqual(['fast-mode-2026-02-01', null, 'mine']);
});

test('each kind serves the tiers that the documentation names', () => {
  const tiersOf = (kind: string, more: Partial<TierPlace> = {}) => {
    const place = { baseUrl: '', region: null, upstreamModel: 'm', protocol: null, ...more };
    return PRICED_TIERS.filter((tier) => providerKinds.get(kind)?.servesTier?.(tier, place));
  };
  expect(tiersOf('anthropic')).toEqual(['fast']);
  for (const kind of ['openai', 'openai-responses']) {
    expect(tiersOf(kind, { baseUrl: 'https://eu.api.openai.com/v1' })).toEqual([...PRICED_TIERS]);
    expect(tiersOf(kind, { baseUrl: 'https://mine.openai.azure.com' })).toEqual(['fast', 'flex']);
    expect(tiersOf(kind, { baseUrl: 'https://api.openai.com.evil.example' })).toEqual([]);
  }
  expect(tiersOf('openai', { baseUrl: 'https://api.groq.com' })).toEqual(['flex']);
  expect(tiersOf('gemini')).toEqual(['fast', 'flex']);
  expect(tiersOf('vertex', { upstreamModel: 'gemini-3-pro', region: 'global' })).toEqual(['fast', 'flex']);
  expect(tiersOf('vertex', { upstreamModel: 'gemini-3-pro', region: 'europe-west1' })).toEqual([]);
  expect(tiersOf('vertex', { upstreamModel: 'claude-opus-5-5', region: 'global' })).toEqual([]);
  expect(tiersOf('bedrock', { upstreamModel: 'amazon.nova-lite-v1:0' })).toEqual(['fast', 'flex']);
  expect(tiersOf('bedrock', { upstreamModel: 'anthropic.claude-opus-5-5' })).toEqual([]);
  expect(tiersOf('foundry', { protocol: 'responses' })).toEqual(['fast', 'flex']);
  expect(tiersOf('foundry', { protocol: 'chat-completions' })).toEqual(['fast', 'flex']);
  expect(tiersOf('foundry', { upstreamModel: 'claude-opus-5-5' })).toEqual([]);
});

test('the standard and the fast tier are speeds, and any other is named', () => {
  for (const untold of [undefined, null, '', 'auto', 'TRAFFIC_TYPE_UNSPECIFIED', 7, ['x']])
    expect(tierMembers(untold)).toEqual({});
  for (const usual of ['default', 'on_demand', 'ON_DEMAND', 'scale', { type: 'default' }])
    expect(tierMembers(usual)).toEqual({ speed: 'standard' });
  for (const fast of ['priority', 'fast', 'ON_DEMAND_PRIORITY', { type: 'priority' }])
    expect(tierMembers(fast)).toEqual({ speed: 'fast' });
  expect(tierMembers('ultrafast')).toEqual({ service_tier: 'ultrafast' });
  for (const flex of ['FLEX', 'ON_DEMAND_FLEX']) expect(tierMembers(undefined, flex)).toEqual({ service_tier: 'flex' });
  expect(tierMembers('PRIORITY', 'standard')).toEqual({ speed: 'fast' });
  expect(tierMembers('ON_DEMAND_FLEX', 'standard')).toEqual({ speed: 'standard' }); // the dearer of two
  expect(tierMembers('priority', 'flex')).toEqual({ speed: 'fast' });
  expect(tierMembers('batch', 'priority')).toEqual({ service_tier: 'batch' });
});

test('a tier without rates is named among what is unknown, at most 64 characters of it', () => {
  const unknownIn = (service_tier: string) => readUsage({ input_tokens: 1, service_tier }).unknown;
  for (const known of ['standard', 'priority', 'default']) expect(unknownIn(known)).toEqual([]);
  expect(unknownIn('batch')).toEqual(['service_tier.batch']);
  expect(unknownIn('x'.repeat(1_000))[0]).toHaveLength(64);
  expect(isOfUnknownTier(readUsage({ service_tier: 'batch' }))).toBe(true);
  expect(isOfUnknownTier(readUsage({ service_tier: 'standard', seconds: 1 }))).toBe(false);
});

test('the word by which a client asks for a tier is the word by which a provider of the protocol is asked, and both are read back', () => {
  for (const tier of SERVICE_TIERS) {
    const word = OPENAI_TIERS[tier];
    const message = tierMember({ service_tier: word });
    expect([tierOf(message), requestedTier(OPENAI_TIERS, message)]).toEqual([tier, { service_tier: word }]);
    expect([servedTier(tierMembers(word)), tierWord(tierMembers(word), null)]).toEqual([tier, word]);
  }
  for (const tier of ['fast', 'flex'] as const) {
    const serviceTier = CLOUD_TIERS[tier] as string;
    const message = googleTierMember(`SERVICE_TIER_${serviceTier.toUpperCase()}`);
    expect([tierOf(message), requestedWord(CLOUD_TIERS, message)]).toEqual([tier, serviceTier]);
    expect(googleTierOfAnswer(tierMembers(serviceTier))).toEqual({ serviceTier });
  }
  for (const usual of [null, undefined, 0, 'UNSPECIFIED', 'STANDARD']) expect(googleTierMember(usual)).toEqual({});
});
