// What the Messages protocol cannot say, as lists: what is refused, because its silent loss would change what was
// asked for, and what is left out, because only a hint is lost. docs/chat-completions.md has both.

import { type JsonObject, type JsonValue, wrongField } from '../wire/wire.ts';

interface RefusedField {
  why: string;
  /** Values that ask for nothing, beside null, false, zero and what is empty; as JSON. */
  harmless?: readonly string[];
}

/** Fields that are refused wherever they ask for anything. */
export const REFUSED_FIELDS: Readonly<Record<string, RefusedField>> = {
  audio: { why: 'answers are text: there is no audio' },
  logit_bias: { why: 'tokens cannot be weighed', harmless: ['{}'] },
  logprobs: { why: 'there are no probabilities of tokens' },
  modalities: { why: 'answers are text', harmless: ['["text"]'] },
  moderation: { why: 'requests and answers are not moderated here' },
  n: { why: 'a request has one answer; send it as often as answers are wanted', harmless: ['1'] },
  top_logprobs: { why: 'there are no probabilities of tokens' },
  web_search_options: {
    why: 'searching the web cannot be asked for by this protocol; POST /v1/messages has a tool for it',
  },
};

/** Fields that are left out, as is every one that nobody here knows. */
export const DROPPED_FIELDS: readonly string[] = [
  'metadata',
  'prediction',
  'prompt_cache_options',
  'prompt_cache_retention',
  'store',
  'verbosity',
];

/** Members of messages, parts and tools that are left out. */
export const DROPPED_MEMBERS: readonly string[] = ['annotations', 'detail', 'name', 'prompt_cache_breakpoint'];

/** Throws invalid_request for the first field that asks for what cannot be had. */
export function refuseFields(body: JsonObject): void {
  for (const [name, { why, harmless = [] }] of Object.entries(REFUSED_FIELDS)) {
    const value = body[name];
    if (asks(value) && !harmless.includes(JSON.stringify(value))) throw wrongField(name, why);
  }
}

/** An empty object is a choice of everything usual, and so it asks. */
function asks(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return false;
  return Array.isArray(value) ? value.length > 0 : true;
}
