// What the families that speak Chat Completions have of their own, from their documentation: where each puts thinking and
// counts, what it carries, how it hears thinking again. Not a test.

import type { Carried } from './driver.ts';

export interface Family {
  name: string;
  baseUrl: string;
  model: string;
  /** How it shows thinking; null: it shows none. */
  thinks: 'reasoning_content' | 'reasoning' | 'reasoning_details' | 'parts' | 'tags' | null;
  /** How it hears thinking again. */
  hears: 'reasoning_content' | 'reasoning_details' | null;
  /** Where the tokens stand that came from its cache. */
  cacheMember: 'prompt_tokens_details' | 'prompt_cache_hit_tokens' | 'cached_tokens' | 'num_cached_tokens';
  /** Whether it tells what was written to the cache. */
  tellsWrites: boolean;
  /** Whether reasoning is counted beside the completion. */
  countsReasoningBeside: boolean;
  /** Whether the usage stands in the chunk of the end, as against one of its own behind it. */
  usageAtEnd: boolean;
  /** Whether a stream ends with [DONE]. */
  saysDone: boolean;
  tellsSequence: boolean;
  systemAnywhere: boolean;
  restInLastResult: boolean;
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  refuses: readonly Carried[];
  /** It carries no PDF as base64, or by address: what is not refused it carries. */
  callId: RegExp;
}

const usual: Family = {
  name: 'compatible',
  baseUrl: 'https://models.example.com/v1',
  model: 'qwen3-32b',
  thinks: 'reasoning_content',
  hears: null,
  cacheMember: 'prompt_tokens_details',
  tellsWrites: false,
  countsReasoningBeside: false,
  usageAtEnd: false,
  saysDone: true,
  tellsSequence: true,
  systemAnywhere: false,
  restInLastResult: false,
  maxTokens: 'max_tokens',
  refuses: ['pdf', 'pdf-url'],
  callId: /^.{1,64}$/,
};

export const families: readonly Family[] = [
  usual,
  { ...usual, name: 'compatible, with tags', thinks: 'tags', tellsSequence: false, saysDone: false },
  {
    ...usual,
    name: 'openai',
    baseUrl: 'https://api.openai.com',
    model: 'gpt-4.1',
    thinks: null,
    tellsSequence: false,
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
    thinks: null,
    tellsSequence: false,
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
    thinks: 'reasoning_details',
    hears: 'reasoning_details',
    tellsWrites: true,
    tellsSequence: false,
    systemAnywhere: true,
    refuses: [],
  },
  {
    ...usual,
    name: 'deepseek',
    baseUrl: 'https://api.deepseek.com',
    model: 'deepseek-chat',
    hears: 'reasoning_content',
    cacheMember: 'prompt_cache_hit_tokens',
    tellsSequence: false,
    refuses: ['image-url', 'pdf', 'pdf-url'],
  },
  {
    ...usual,
    name: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    model: 'magistral-medium',
    thinks: 'parts',
    cacheMember: 'num_cached_tokens',
    usageAtEnd: true,
    tellsSequence: false,
    restInLastResult: true,
    refuses: [],
    callId: /^[A-Za-z0-9]{9}$/,
  },
  {
    ...usual,
    name: 'groq',
    baseUrl: 'https://api.groq.com',
    model: 'qwen/qwen3-32b',
    thinks: 'reasoning',
    tellsSequence: false,
    maxTokens: 'max_completion_tokens',
  },
  {
    ...usual,
    name: 'xai',
    baseUrl: 'https://api.x.ai',
    model: 'grok-2',
    countsReasoningBeside: true,
    tellsSequence: false,
    systemAnywhere: true,
    maxTokens: 'max_completion_tokens',
  },
  {
    ...usual,
    name: 'moonshot',
    baseUrl: 'https://api.moonshot.ai/v1',
    model: 'kimi-k2.6',
    hears: 'reasoning_content',
    cacheMember: 'cached_tokens',
    usageAtEnd: true,
    tellsSequence: false,
    refuses: ['image-url', 'pdf', 'pdf-url'],
  },
  {
    ...usual,
    name: 'ollama',
    baseUrl: 'https://ollama.com/v1',
    model: 'qwen3',
    thinks: 'reasoning',
    tellsSequence: false,
    saysDone: false,
    refuses: ['image-url', 'pdf', 'pdf-url'],
  },
];
