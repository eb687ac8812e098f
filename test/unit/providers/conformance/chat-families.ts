// Properties of each Chat Completions family, from its documentation: where it puts thinking and counts, which
// content it accepts, how it gets thinking back. It has no tests of its own.

import type { Carried } from './driver.ts';

export interface Family {
  name: string;
  baseUrl: string;
  model: string;
  /** The field in which it shows thinking; null if it shows none. */
  thinkingField: 'reasoning_content' | 'reasoning' | 'reasoning_details' | 'parts' | 'tags' | null;
  /** The field in which it gets thinking back. */
  returnedThinkingField: 'reasoning_content' | 'reasoning_details' | null;
  /** The field with the number of cached tokens. */
  cacheMember: 'prompt_tokens_details' | 'prompt_cache_hit_tokens' | 'cached_tokens' | 'num_cached_tokens';
  /** Whether it reports cache writes. */
  reportsWrites: boolean;
  /** Whether reasoning is counted in addition to the completion. */
  countsReasoningSeparately: boolean;
  /** Whether the usage is in the final chunk, and not in a separate one after it. */
  usageAtEnd: boolean;
  /** Whether a stream ends with [DONE]. */
  sendsDone: boolean;
  reportsSequence: boolean;
  systemAnywhere: boolean;
  textInLastResult: boolean;
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  refuses: readonly Carried[];
  /** PDFs are refused as base64 and by address; other content is accepted. */
  callId: RegExp;
}

const usual: Family = {
  name: 'compatible',
  baseUrl: 'https://models.example.com/v1',
  model: 'olmo-3-32b',
  thinkingField: 'reasoning_content',
  returnedThinkingField: null,
  cacheMember: 'prompt_tokens_details',
  reportsWrites: false,
  countsReasoningSeparately: false,
  usageAtEnd: false,
  sendsDone: true,
  reportsSequence: true,
  systemAnywhere: false,
  textInLastResult: false,
  maxTokens: 'max_tokens',
  refuses: ['pdf', 'pdf-url'],
  callId: /^.{1,64}$/,
};

export const families: readonly Family[] = [
  usual,
  { ...usual, name: 'compatible, Qwen', model: 'qwen3-32b', returnedThinkingField: 'reasoning_content' },
  { ...usual, name: 'compatible, with tags', thinkingField: 'tags', reportsSequence: false, sendsDone: false },
  {
    ...usual,
    name: 'openai',
    baseUrl: 'https://api.openai.com',
    model: 'gpt-4.1',
    thinkingField: null,
    reportsSequence: false,
    systemAnywhere: true,
    maxTokens: 'max_completion_tokens',
    refuses: ['pdf-url'],
    callId: /^.{1,40}$/,
  },
  {
    ...usual,
    name: 'azure',
    baseUrl: 'https://mine.openai.azure.com',
    model: 'our-deployment',
    thinkingField: null,
    reportsSequence: false,
    systemAnywhere: true,
    maxTokens: 'max_completion_tokens',
    refuses: ['pdf-url'],
    callId: /^.{1,40}$/,
  },
  {
    ...usual,
    name: 'openrouter',
    baseUrl: 'https://openrouter.ai',
    model: 'anthropic/claude-sonnet-4.5',
    thinkingField: 'reasoning_details',
    returnedThinkingField: 'reasoning_details',
    reportsWrites: true,
    reportsSequence: false,
    systemAnywhere: true,
    refuses: [],
  },
  {
    ...usual,
    name: 'deepseek',
    baseUrl: 'https://api.deepseek.com',
    model: 'deepseek-chat',
    returnedThinkingField: 'reasoning_content',
    cacheMember: 'prompt_cache_hit_tokens',
    reportsSequence: false,
    refuses: ['image-url', 'pdf', 'pdf-url'],
  },
  {
    ...usual,
    name: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    model: 'magistral-medium',
    thinkingField: 'parts',
    cacheMember: 'num_cached_tokens',
    usageAtEnd: true,
    reportsSequence: false,
    textInLastResult: true,
    refuses: [],
    callId: /^[A-Za-z0-9]{9}$/,
  },
  {
    ...usual,
    name: 'groq',
    baseUrl: 'https://api.groq.com',
    model: 'qwen/qwen3-32b',
    thinkingField: 'reasoning',
    reportsSequence: false,
    maxTokens: 'max_completion_tokens',
  },
  {
    ...usual,
    name: 'xai',
    baseUrl: 'https://api.x.ai',
    model: 'grok-2',
    countsReasoningSeparately: true,
    reportsSequence: false,
    systemAnywhere: true,
    maxTokens: 'max_completion_tokens',
  },
  {
    ...usual,
    name: 'moonshot',
    baseUrl: 'https://api.moonshot.ai/v1',
    model: 'kimi-k2.6',
    returnedThinkingField: 'reasoning_content',
    cacheMember: 'cached_tokens',
    usageAtEnd: true,
    reportsSequence: false,
    refuses: ['image-url', 'pdf', 'pdf-url'],
  },
  {
    ...usual,
    name: 'ollama',
    baseUrl: 'https://ollama.com/v1',
    model: 'qwen3',
    thinkingField: 'reasoning',
    reportsSequence: false,
    sendsDone: false,
    refuses: ['image-url', 'pdf', 'pdf-url'],
  },
];
