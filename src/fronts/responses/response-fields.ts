// Fields of Responses that are refused, dropped or passed on, and all names for the `param` of an error.

import type { RefusedField } from '../request-fields.ts';
import { ECHOED_FIELDS } from './echoed-settings.ts';

const STORED = 'nothing is stored here; send the whole conversation as `input`';

/** Fields that are refused when they request anything. */
export const REFUSED_FIELDS: Readonly<Record<string, RefusedField>> = {
  background: { why: 'responses are not run in the background' },
  conversation: { why: STORED },
  moderation: { why: 'requests and answers are not moderated here' },
  previous_response_id: { why: STORED },
  prompt: { why: 'stored prompts are not available; send the prompt itself' },
  store: { why: 'responses are not stored here; leave it out, or send false' },
  top_logprobs: { why: 'log probabilities are not available' },
};

/** Fields that are dropped, as are all unknown ones. */
export const DROPPED_FIELDS: readonly string[] = [
  'client_metadata',
  'context_management',
  'include',
  'prompt_cache_options',
  'prompt_cache_retention',
  'stream_options',
];

/** Possible first parts of a path. */
export const FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(REFUSED_FIELDS),
  ...DROPPED_FIELDS,
  ...ECHOED_FIELDS,
  ...['body', 'frequency_penalty', 'input', 'instructions', 'max_output_tokens', 'model', 'parallel_tool_calls'],
  ...['presence_penalty', 'prompt_cache_key'],
  ...['reasoning', 'safety_identifier', 'service_tier', 'stream', 'temperature', 'text', 'tool_choice', 'tools'],
  ...['top_p', 'user'],
]);
