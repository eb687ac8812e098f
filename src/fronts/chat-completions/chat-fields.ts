// Fields of Chat Completions that are refused or dropped, and all names for the `param` of an error.

import type { RefusedField } from '../request-fields.ts';
import { RESPONSE_FIELDS } from '../responses/responses.ts';

const STORED = 'nothing is stored here; send the whole conversation';

/** Fields that are refused when they request anything. */
export const REFUSED_FIELDS: Readonly<Record<string, RefusedField>> = {
  conversation: { why: STORED },
  logprobs: { why: 'log probabilities are not available' },
  moderation: { why: 'requests and answers are not moderated here' },
  n: { why: 'a request returns one choice; send the request several times for more', harmless: ['1'] },
  previous_response_id: { why: STORED },
  top_logprobs: { why: 'log probabilities are not available' },
  web_search_options: {
    why: 'web search is not available on this endpoint; use the web search tool of POST /v1/messages',
  },
};

/** Fields that are dropped. */
export const DROPPED_FIELDS: readonly string[] = [
  'metadata',
  'prediction',
  'prompt_cache_options',
  'prompt_cache_retention',
  'store',
];

/** Members of messages, parts and tools that are dropped. */
export const DROPPED_MEMBERS: readonly string[] = ['annotations', 'detail', 'name', 'prompt_cache_breakpoint'];

/** Possible first parts of a path. */
export const FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(REFUSED_FIELDS),
  ...DROPPED_FIELDS,
  ...RESPONSE_FIELDS,
  ...[
    'audio',
    'body',
    'frequency_penalty',
    'function_call',
    'functions',
    'max_completion_tokens',
    'max_tokens',
    'messages',
  ],
  ...['logit_bias', 'modalities', 'model', 'parallel_tool_calls', 'presence_penalty', 'prompt_cache_key', 'reasoning'],
  ...['reasoning_effort', 'response_format', 'safety_identifier', 'seed', 'service_tier', 'stop', 'stop_sequences'],
  ...[
    'stream',
    'stream_options',
    'system',
    'temperature',
    'thinking',
    'tool_choice',
    'tools',
    'top_k',
    'top_p',
    'usage',
  ],
  'user',
]);

/** Not translated, or only in part: a provider may get them as they are. */
const EXTRA_FIELDS = ['body', 'logit_bias', 'reasoning', 'reasoning_effort', 'thinking'];

/** All others are extra fields. */
export const TRANSLATED_FIELDS: ReadonlySet<string> = new Set(
  [...FIELDS].filter((name) => !EXTRA_FIELDS.includes(name)),
);
