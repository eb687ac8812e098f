// Service tiers: the request for the tier with the listed rates, and the names by which providers tell which one they served.

import { expect, test } from 'bun:test';
import { convertBody as convertChat } from '../../../src/providers/openai/convert-request.ts';
import { chooseProfile } from '../../../src/providers/openai/profile.ts';
import {
  convertBody as convertResponse,
  standardTier,
} from '../../../src/providers/openai-responses/convert-request.ts';
import { convertOwnBody } from '../../../src/providers/openai-responses/own-protocol.ts';
import { tierMembers } from '../../../src/providers/service-tier.ts';
import { isOfUnknownTier, readUsage } from '../../../src/usage/usage.ts';
import { scanJson } from '../../../src/wire/wire.ts';
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
      JSON.parse(convertOwnBody(own as never, attempt, 16, standardTier(baseUrl)))['service_tier'],
    ];
  };
  for (const baseUrl of OPENAI) expect(tiersAt(baseUrl)).toEqual(['default', 'default', 'default']);
  for (const baseUrl of OTHERS) expect(tiersAt(baseUrl)).toEqual([undefined, undefined, 'auto']);
});

test('a fast tier is a speed, the usual ones are nothing, and any other is named', () => {
  for (const usual of [undefined, null, '', 'default', 'auto', 'on_demand', 'ON_DEMAND', { type: 'default' }, 7, ['x']])
    expect(tierMembers(usual)).toEqual({});
  for (const fast of ['priority', 'fast', 'ON_DEMAND_PRIORITY', { type: 'priority' }])
    expect(tierMembers(fast)).toEqual({ speed: 'fast' });
  expect(tierMembers('ultrafast')).toEqual({ service_tier: 'ultrafast' });
  expect(tierMembers(undefined, 'FLEX')).toEqual({ service_tier: 'flex' });
});

test('a tier without rates is named among what is unknown, at most 64 characters of it', () => {
  const unknownIn = (service_tier: string) => readUsage({ input_tokens: 1, service_tier }).unknown;
  for (const known of ['standard', 'priority', 'default']) expect(unknownIn(known)).toEqual([]);
  expect(unknownIn('batch')).toEqual(['service_tier.batch']);
  expect(unknownIn('x'.repeat(1_000))[0]).toHaveLength(64);
  expect(isOfUnknownTier(readUsage({ service_tier: 'batch' }))).toBe(true);
  expect(isOfUnknownTier(readUsage({ service_tier: 'standard', seconds: 1 }))).toBe(false);
});
