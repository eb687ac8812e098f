// Names of fields that a provider does not get: what was asked for and has no effect, in the client's words, bounded.

import { expect, test } from 'bun:test';
import { passthroughFrom } from '../../../src/catalog/passthrough.ts';
import { bounds } from '../../../src/config/config.ts';
import { chatCompletions } from '../../../src/fronts/chat-completions/chat-completions.ts';
import { sortExtraFields } from '../../../src/gateway/provider-request.ts';
import { providerKinds } from '../../../src/providers/providers.ts';
import type { Protocol } from '../../../src/wire/wire.ts';
import { translateBytes } from '../fronts/translate-bytes.ts';
import { makeAttempt } from '../providers/make-attempt.ts';

const body = { model: 'llama', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };

function sorted(kind: string, protocol: Protocol, members: object, names: readonly string[] | null = null) {
  const given = { ...body, ...members };
  const own = JSON.stringify(given);
  const text =
    protocol === 'messages'
      ? own
      : JSON.stringify(translateBytes(chatCompletions, new TextEncoder().encode(own)).message);
  const attempt = makeAttempt('http://127.0.0.1:1', text);
  attempt.request.protocol = protocol;
  const provider = providerKinds.get(kind);
  if (provider === undefined) throw new Error(kind);
  return sortExtraFields(attempt, { kind, passthrough: names && passthroughFrom(names) }, provider);
}

const THINKING = { thinking: { type: 'enabled', budget_tokens: 2_000 } };

test.each<[kind: string, protocol: Protocol, members: object, leftOut: string[]]>([
  ['openai', 'messages', { top_k: 5, min_p: 0.1, cache_control: { type: 'ephemeral' } }, ['min_p', 'top_k']],
  ['openai', 'messages', { seed: 1, temperature: 0.5 }, ['seed']],
  ['openai', 'messages', THINKING, ['thinking']],
  ['openai', 'chat-completions', { seed: 1, top_k: 5, frequency_penalty: 1 }, ['top_k']],
  ['openai', 'chat-completions', { reasoning_effort: 'low' }, ['reasoning_effort']],
  ['openai', 'chat-completions', { reasoning_effort: 'none' }, []],
  ['openai', 'chat-completions', { ...THINKING, think: false }, ['think', 'thinking']],
  [
    'openai',
    'chat-completions',
    { guided_json: {}, extra_body: { repetition_penalty: 1.1 } },
    ['guided_json', 'repetition_penalty'],
  ],
  ['openai', 'chat-completions', { min_p: null, logit_bias: {}, metadata: { a: '1' }, store: false, user: 'ann' }, []],
  ['openai-responses', 'messages', { top_k: 5 }, ['top_k']],
  ['openai-responses', 'chat-completions', { seed: 5, reasoning_effort: 'low' }, ['seed']],
  ['anthropic', 'messages', { min_p: 0.1, seed: 5 }, []],
  ['anthropic', 'chat-completions', { min_p: 0.1, seed: 5, top_k: 3 }, ['min_p', 'seed']],
  ['gemini', 'chat-completions', { seed: 5, top_k: 3 }, ['seed']],
  ['bedrock', 'messages', { seed: 5 }, ['seed']],
])('%s, %s: %j', (kind, protocol, members, leftOut) => {
  const { passed, leftOut: found } = sorted(kind, protocol, members);
  expect([passed, [...found].sort()]).toEqual([{}, leftOut]);
});

test('what is passed on is not left out, and what is inside it may be', () => {
  const members = { top_k: 5, options: { num_predict: 7, num_ctx: 1 }, reasoning_effort: 'high', n_predict: 5 };
  const { passed, leftOut } = sorted('openai', 'chat-completions', members, ['ollama', 'top_k']);
  expect(passed).toEqual({ top_k: 5, options: { num_ctx: 1 }, reasoning_effort: 'high' });
  expect(leftOut.sort()).toEqual(['n_predict', 'options.num_predict']);
});

test('digits of numbers are kept', () => {
  const text = JSON.stringify(body).replace('{', '{"min_p":0.1000000000000000055,"list":{"a":12345678901234567890},');
  const attempt = makeAttempt('http://127.0.0.1:1', text);
  const kept = sortExtraFields(attempt, { kind: 'openai', passthrough: passthroughFrom(['all']) }, {});
  expect(JSON.stringify(kept.passed)).toBe('{"min_p":0.1000000000000000055,"list":{"a":12345678901234567890}}');
});

test('names are bounded in number and length', () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, place) => [`${place}_`.padEnd(5_000, 'x'), 1]));
  const { leftOut } = sorted('openai', 'chat-completions', many);
  expect(leftOut).toHaveLength(bounds.leftOutFieldsMax);
  for (const name of leftOut) expect(name).toHaveLength(bounds.leftOutCharactersMax);
});
