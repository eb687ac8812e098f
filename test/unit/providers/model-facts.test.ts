// Facts about models that are data: their form, and what requests to these models become.

import { expect, test } from 'bun:test';
import facts from '../../../src/model-facts/models.json' with { type: 'json' };
import { claudeAbilities } from '../../../src/providers/abilities.ts';
import { convertBody as convertGemini } from '../../../src/providers/gemini/convert-request.ts';
import { chatTraits, claudeGeneration, geminiThinking, reasoningOf } from '../../../src/providers/models.ts';
import { convertBody as convertChat } from '../../../src/providers/openai/convert-request.ts';
import { chooseProfile } from '../../../src/providers/openai/profile.ts';
import { convertBody as convertResponse } from '../../../src/providers/openai-responses/convert-request.ts';
import { ProviderFault } from '../../../src/providers/providers.ts';
import type { JsonObject } from '../../../src/wire/wire.ts';
import { makeAttempt } from './make-attempt.ts';

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const TO_MAX = ['low', 'medium', 'high', 'xhigh', 'max'];
const BODY = { model: 'm', max_tokens: 100_000, messages: [{ role: 'user', content: 'Hi' }] };
const tools = [{ name: 'look', input_schema: { type: 'object' } }];
const at = (upstreamModel: string, members: JsonObject = {}) =>
  makeAttempt('https://api.openai.com', { ...BODY, ...members }, { upstreamModel, maxTokens: 100_000 });

test('each has a pattern, a source and a day, and only known words', () => {
  for (const { models, source, as_of } of Object.values(facts).flat()) {
    expect(() => new RegExp(models)).not.toThrow();
    expect(source.length).toBeGreaterThan(10);
    expect(as_of).toMatch(/^2026-\d\d-\d\d$/);
  }
  for (const { efforts, chat_effort_with_tools = 'sent' } of facts.openai) {
    expect(efforts).toEqual(EFFORTS.filter((effort) => efforts.includes(effort)));
    expect(['sent', 'left out', 'none', 'refused']).toContain(chat_effort_with_tools);
  }
  for (const row of facts.gemini) expect(row.output_tokens_max).toBeLessThanOrEqual(row.output_tokens_streamed_max);
});

test('a name of Claude without a row of its own has a default: later generations that of the newest ones', () => {
  for (const model of ['claude-opus-6', 'claude-nova-7-1', 'eu.anthropic.claude-sonnet-12-20270101-v1:0']) {
    expect(claudeGeneration(model)).toMatchObject({ thinks: 'adaptively', efforts: 'all', takesSampling: false });
    expect(claudeAbilities(model)).toMatchObject({ structuredOutputs: true, contextEdits: true, documents: true });
  }
  expect(claudeGeneration('claude-next')).toMatchObject({ thinks: 'by budget', takesForcedCall: true });
  expect(claudeGeneration('minimax-m2')).toMatchObject({ thinks: 'by budget', efforts: 'all' });
  expect(claudeAbilities('minimax-m2')).toBeNull();
  expect([facts.claude.at(-1)?.models, facts.claude_abilities.at(-1)?.models]).toEqual(['', 'claude-']);
});

test.each([
  ['gpt-5', ['minimal', 'low', 'medium', 'high'], 'sent'],
  ['gpt-5.1', ['none', 'low', 'medium', 'high'], 'sent'],
  ['gpt-5.4-mini', ['none', 'low', 'medium', 'high', 'xhigh'], 'left out'],
  ['gpt-5.6-terra', ['none', 'low', 'medium', 'high', 'xhigh'], 'none'],
  ['gpt-6-sol', ['none', ...TO_MAX], 'none'],
  ['gpt-6-luna-2026-09-22', ['none', ...TO_MAX], 'none'],
  ['gpt-6-astra', TO_MAX, 'refused'],
  ['gpt-6.1-sol', TO_MAX, 'refused'],
  ['gpt-6.1-terra', TO_MAX, 'refused'],
  ['gpt-6.2-astra', TO_MAX, 'refused'],
  ['gpt-7', TO_MAX, 'refused'],
  ['o3', ['low', 'medium', 'high'], 'sent'],
])('%s has the efforts of its row, over both protocols', (model, efforts, effortWithTools) => {
  expect(reasoningOf(model)).toEqual({ does: 'always', efforts: efforts as never });
  for (const family of ['openai', 'azure'])
    expect(chatTraits(family, model)).toMatchObject({ efforts, effortWithTools });
});

test('models without "none" think least with "low", and take "max"', () => {
  const effortOf = (model: string, members: JsonObject) => [
    (convertResponse(at(model, members))['reasoning'] as JsonObject)['effort'],
    convertChat(at(model, members), chooseProfile('https://api.openai.com', model))['reasoning_effort'],
  ];
  const off = { thinking: { type: 'disabled' } };
  expect(effortOf('gpt-6.1-sol', off)).toEqual(['low', 'low']);
  expect(effortOf('gpt-6-sol', off)).toEqual(['none', 'none']);
  const most = { output_config: { effort: 'max' } };
  for (const model of ['gpt-6-luna', 'gpt-6.2-astra']) expect(effortOf(model, most)).toEqual(['max', 'max']);
  expect(effortOf('gpt-5.6-sol', most)).toEqual(['xhigh', 'xhigh']);
});

test('tools are refused over Chat Completions where the model takes them over Responses only', () => {
  const chat = (model: string) => convertChat(at(model, { tools }), chooseProfile('https://api.openai.com', model));
  for (const model of ['gpt-6-astra', 'gpt-6.1-sol', 'gpt-6.2-sol']) {
    expect(() => chat(model)).toThrow(ProviderFault);
    expect(() => chat(model)).toThrow(/^tools: this model takes tools over Responses only/);
    expect(convertResponse(at(model, { tools }))['tools']).toHaveLength(1);
  }
  expect(chat('gpt-6-sol')).toMatchObject({ reasoning_effort: 'none', tools: [{ type: 'function' }] });
});

test('a call to Gemini 4 asks for no more output than one call gives', () => {
  const maxOf = (model: string, stream: boolean) =>
    JSON.parse(convertGemini(at(model, { stream })))['generationConfig']['maxOutputTokens'];
  expect([true, false].map((stream) => maxOf('gemini-4-argon', stream))).toEqual([65_536, 32_768]);
  expect([true, false].map((stream) => maxOf('models/gemini-4-hydrogen', stream))).toEqual([65_536, 32_768]);
  expect([true, false].map((stream) => maxOf('gemini-3.8-flash', stream))).toEqual([100_000, 100_000]);
});

test.each([
  ['gemini-2.5-flash-lite', { least: 0, from: 512, most: 24_576 }],
  ['gemini-2.5-pro', { least: 128, from: 128, most: 32_768 }],
  ['gemini-3.6-flash', { lowest: 'MINIMAL', middle: 'MEDIUM' }],
  ['gemini-3.7-flash', { lowest: 'LOW', middle: 'MEDIUM' }],
  ['gemini-3.8-flash', { lowest: 'LOW', middle: 'MEDIUM' }],
  ['gemini-4-argon', { lowest: 'LOW', middle: 'MEDIUM' }],
  ['gemini-3.8-flash-tts', null],
  ['gemini-1.5-pro', null],
])('%s thinks by its row', (model, thinks) => {
  expect(geminiThinking(model)).toEqual(thinks as never);
});
