// Errors in the shape that clients of OpenAI read: a message, a type, a code, and the field where there is one.
// Statuses, types and codes are those of every other path: docs/errors.md.

import type { TurnpikeError } from '../errors.ts';
import { isJsonObject, type JsonObject } from '../wire/wire.ts';
import { DROPPED_FIELDS, REFUSED_FIELDS } from './lost-fields.ts';
import { type Origins, ownMessage } from './origins.ts';

const PATH = /^([a-z_]+)(?:\.[\w-]+)*(?=: )/;

/** What a path may begin with: a provider's words may begin with a colon, too. */
const FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(REFUSED_FIELDS),
  ...DROPPED_FIELDS,
  ...[
    'body',
    'frequency_penalty',
    'function_call',
    'functions',
    'max_completion_tokens',
    'max_tokens',
    'messages',
    'model',
    'parallel_tool_calls',
    'presence_penalty',
    'prompt_cache_key',
  ],
  ...[
    'reasoning',
    'reasoning_effort',
    'response_format',
    'safety_identifier',
    'seed',
    'service_tier',
    'stop',
    'stream',
  ],
  ...['stream_options', 'temperature', 'thinking', 'tool_choice', 'tools', 'top_k', 'top_p', 'user'],
]);

/** The body of an answer that is an error. */
export function chatErrorBody({ message, type, code }: Pick<TurnpikeError, 'message' | 'type' | 'code'>): string {
  return JSON.stringify({ error: { message, type, param: paramOf(message, code), code } });
}

/** An `error` event of a Messages stream, as the same. */
export function chatErrorOfEvent(event: JsonObject, origins: Origins | null): string {
  const error = isJsonObject(event['error']) ? event['error'] : {};
  const { message, type = null, code = null } = error;
  const theirs = typeof message === 'string' ? message : '';
  const said = origins === null ? theirs : ownMessage(theirs, origins);
  return JSON.stringify({ error: { message: said, type, param: paramOf(said, code), code } });
}

function paramOf(message: string, code: unknown): string | null {
  if (code === 'model_not_found') return 'model';
  const [path, field = ''] = PATH.exec(message) ?? [];
  return path !== undefined && FIELDS.has(field) ? path : null;
}
