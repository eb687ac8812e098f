// Errors in OpenAI's format: `param` if there is one; statuses, types and codes of docs/errors.md.

import { parseWholeNumber } from '../../base/checked-number.ts';
import { TurnpikeError } from '../../errors.ts';
import { type JsonObject, type JsonValue, objectOf, textOf, wrongField } from '../../wire/wire.ts';

/** Paths in the client's request, by position in the translated request. */
export interface Origins {
  messages: { path: string; blocks: string[] }[];
  system: string[];
  tools: string[];
  /** Renamed top-level fields and their members. */
  fields: ReadonlyMap<string, string>;
}

const LEADING_PATH = /^([a-z_]+(?:\.[\w-]+)*): /;

/** The error with a leading Messages path replaced by the client's path. */
export function withClientPaths(error: TurnpikeError, origins: Origins): TurnpikeError {
  const message = withClientPath(error.message, origins);
  return message === error.message ? error : new TurnpikeError(error.code, message, error.details);
}

function withClientPath(message: string, origins: Origins): string {
  const path = LEADING_PATH.exec(message)?.[1];
  return path === undefined ? message : clientPath(path, origins) + message.slice(path.length);
}

function clientPath(path: string, origins: Origins): string {
  const [root = '', ...rest] = path.split('.');
  switch (root) {
    case 'messages':
      return rest.length === 0 ? path : clientMessagePath(path, rest, origins);
    case 'system':
      return origins.system[placeOf(rest[0])] ?? 'messages';
    case 'tools':
      return clientToolPath(path, rest, origins);
    default:
      return origins.fields.get(`${root}.${rest[0]}`) ?? origins.fields.get(root) ?? path;
  }
}

/** Below a block the protocols share no names: the path of the block is given. */
function clientMessagePath(path: string, [index, member, place]: string[], { messages }: Origins): string {
  const origin = messages[placeOf(index)];
  if (origin === undefined) return path;
  if (member !== 'content') return origin.path;
  return origin.blocks[placeOf(place)] ?? origin.path;
}

function clientToolPath(path: string, [index, ...rest]: string[], { tools }: Origins): string {
  const origin = tools[placeOf(index)];
  if (origin === undefined) return path;
  const schema = rest.indexOf('input_schema');
  if (schema >= 0) return [origin, 'parameters', ...rest.slice(schema + 1)].join('.');
  return rest.at(-1) === 'name' ? `${origin}.name` : origin;
}

/** The index in a path; -1, which matches nothing, for anything else. */
function placeOf(part = '0'): number {
  return parseWholeNumber(part) ?? -1;
}

interface RefusedField {
  why: string;
  /** Values that request nothing, as JSON, in addition to null, false, zero and empty values. */
  harmless?: readonly string[];
}

/** Fields that are refused when they request anything. */
export const REFUSED_FIELDS: Readonly<Record<string, RefusedField>> = {
  audio: { why: 'audio output is not supported' },
  logit_bias: { why: 'logit biases are not supported', harmless: ['{}'] },
  logprobs: { why: 'log probabilities are not available' },
  modalities: { why: 'only text output is supported', harmless: ['["text"]'] },
  moderation: { why: 'requests and answers are not moderated here' },
  n: { why: 'a request returns one choice; send the request several times for more', harmless: ['1'] },
  top_logprobs: { why: 'log probabilities are not available' },
  web_search_options: {
    why: 'web search is not available on this endpoint; use the web search tool of POST /v1/messages',
  },
};

/** Fields that are dropped, as are all unknown ones. */
export const DROPPED_FIELDS: readonly string[] = [
  'metadata',
  'prediction',
  'prompt_cache_options',
  'prompt_cache_retention',
  'store',
  'verbosity',
];

/** Members of messages, parts and tools that are dropped. */
export const DROPPED_MEMBERS: readonly string[] = ['annotations', 'detail', 'name', 'prompt_cache_breakpoint'];

/** Throws invalid_request for the first field that requests something unavailable. */
export function refuseFields(body: JsonObject): void {
  for (const [name, { why, harmless = [] }] of Object.entries(REFUSED_FIELDS)) {
    const value = body[name];
    if (requests(value) && !harmless.includes(JSON.stringify(value))) throw wrongField(name, why);
  }
}

/** An empty object requests the defaults. */
function requests(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return false;
  return Array.isArray(value) ? value.length > 0 : true;
}

const PATH = /^([a-z_]+)(?:\.[\w-]+)*(?=: )/;

/** Possible first parts of a path: provider messages may contain a colon, too. */
const FIELDS: ReadonlySet<string> = new Set([
  ...Object.keys(REFUSED_FIELDS),
  ...DROPPED_FIELDS,
  ...['body', 'frequency_penalty', 'function_call', 'functions', 'max_completion_tokens', 'max_tokens', 'messages'],
  ...['model', 'parallel_tool_calls', 'presence_penalty', 'prompt_cache_key', 'reasoning', 'reasoning_effort'],
  ...['response_format', 'safety_identifier', 'seed', 'service_tier', 'stop', 'stream'],
  ...['stream_options', 'temperature', 'thinking', 'tool_choice', 'tools', 'top_k', 'top_p', 'user'],
]);

export function chatErrorBody({ message, type, code }: Pick<TurnpikeError, 'message' | 'type' | 'code'>): string {
  return JSON.stringify({ error: { message, type, param: paramOf(message, code), code } });
}

export function chatErrorOfEvent(event: JsonObject, origins: Origins | null): string {
  const { message, type = null, code = null } = objectOf(event['error']);
  const said = origins === null ? textOf(message) : withClientPath(textOf(message), origins);
  return JSON.stringify({ error: { message: said, type, param: paramOf(said, code), code } });
}

function paramOf(message: string, code: unknown): string | null {
  if (code === 'model_not_found') return 'model';
  const [path, field = ''] = PATH.exec(message) ?? [];
  return path !== undefined && FIELDS.has(field) ? path : null;
}
