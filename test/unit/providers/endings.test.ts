// How answers end, word by word: a word that nobody lists is never a normal end.

import { describe, expect, test } from 'bun:test';
import { endingOf, VENDORS, wordOf } from '../../../src/protocols/stop-words.ts';
import { requireAnswer } from '../../../src/providers/endings.ts';
import { ProviderFault } from '../../../src/providers/provider.ts';

test.each([
  ['MAX_TOKENS', 'max_tokens'],
  ['LENGTH', 'max_tokens'],
  ['max-tokens', 'max_tokens'],
  ['FinishReason.MAX_TOKENS', 'max_tokens'],
  ['model_context_window_exceeded', 'max_tokens'],
  ['SAFETY', 'refusal'],
  ['sensitive', 'refusal'],
  ['guardrail_intervened', 'refusal'],
  ['network_error', 'failed'],
  ['MALFORMED_FUNCTION_CALL', 'unusable'],
  ['malformed_tool_use', 'unusable'],
  ['end_turn', 'end_turn'],
  ['STOP', 'end_turn'],
  ['content_filter: PROHIBITED_CONTENT', 'refusal'],
  ['content_filter: SOMETHING_NEW', 'refusal'],
  ['function_call_filter: MALFORMED_FUNCTION_CALL', 'unusable'],
  ['function_call_filter: SOMETHING_NEW', 'unclear'],
  ['contentFilter', 'refusal'],
  ['maxTokens', 'max_tokens'],
  ['toolCalls', 'tool_use'],
  ['normal', 'end_turn'],
  ['Completed', 'end_turn'],
  ['finished', 'end_turn'],
  ['max_output', 'max_tokens'],
  ['max_length', 'max_tokens'],
  ['token_limit', 'max_tokens'],
  ['canceled', 'failed'],
  ['something_new', 'unclear'],
  ['', 'unclear'],
  ['constructor', 'unclear'],
])('%p at the end of a chat completion is %s', (word, ending) => {
  expect(endingOf(word, 'chat')).toBe(ending as ReturnType<typeof endingOf>);
});

test('a vendor of the protocol decides about a word that others have too', () => {
  for (const { protocol, words } of VENDORS)
    for (const [word, ending] of Object.entries(words)) expect(endingOf(word.toUpperCase(), protocol)).toBe(ending);
});

test('what a front writes for a stop reason, a provider of its protocol reads as the same one', () => {
  const reasons = ['end_turn', 'tool_use', 'max_tokens', 'refusal'] as const;
  const inverse = (protocol: 'chat' | 'gemini' | 'responses') =>
    reasons.filter((reason) => endingOf(wordOf(reason, protocol) ?? '', protocol) === reason);
  expect(inverse('chat')).toEqual([...reasons]);
  expect(inverse('gemini')).toEqual(['end_turn', 'max_tokens', 'refusal']); // a call ends the turn
  expect(inverse('responses')).toEqual(['max_tokens', 'refusal']); // others need no word
  for (const protocol of ['chat', 'gemini', 'responses'] as const) {
    expect(wordOf('model_context_window_exceeded', protocol)).toBe(wordOf('max_tokens', protocol));
    for (const other of ['pause_turn', 'unclear', 'unusable', '', null]) expect(wordOf(other, protocol)).toBeNull();
  }
});

describe('an unclear ending', () => {
  const faultOf = (hasOutput: boolean, usage: { output_tokens: number } | null) => {
    try {
      requireAnswer('unclear', { word: 'new', hasOutput, usage });
    } catch (thrown) {
      if (thrown instanceof ProviderFault) return [thrown.kind, thrown.usage];
    }
    return null;
  };

  test('is billed if output and counts came, and otherwise a failure that another route may repair', () => {
    const usage = { output_tokens: 7 };
    expect(faultOf(true, usage)).toEqual(['unusable', usage]);
    expect(faultOf(true, null)).toEqual(['failed', null]);
    expect(faultOf(false, usage)).toEqual(['failed', null]);
  });
});
