// Fields of text completions that are read or refused, and all names for the `param` of an error.

import type { RefusedField } from '../request-fields.ts';

/** Fields that are refused when they request anything. */
export const REFUSED_FIELDS: Readonly<Record<string, RefusedField>> = {
  best_of: { why: 'a request returns one completion', harmless: ['1'] },
  echo: { why: 'the prompt is not repeated in the answer' },
  logit_bias: { why: 'logit biases are not supported', harmless: ['{}'] },
  n: { why: 'a request returns one completion; send the request several times for more', harmless: ['1'] },
};

/** Fields that have the same meaning in Chat Completions. */
export const CHAT_FIELDS: readonly string[] = [
  ...['model', 'max_tokens', 'temperature', 'top_p', 'top_k', 'frequency_penalty', 'presence_penalty', 'seed', 'stop'],
  ...['stream', 'stream_options', 'user', 'prompt_cache_key', 'safety_identifier', 'service_tier', 'reasoning_effort'],
];

/** Possible first parts of a path. */
export const FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(REFUSED_FIELDS),
  ...CHAT_FIELDS,
  ...['body', 'logprobs', 'prompt', 'suffix'],
]);
