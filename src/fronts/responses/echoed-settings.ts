// The settings of a request as its response repeats them, with the documented defaults where nothing was sent:
// https://www.openresponses.org/reference (29 November 2026).

import { isWholeNumber } from '../../base/checked-number.ts';
import { bounds } from '../../config/config.ts';
import { requireObject } from '../../protocols/placed.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, requireText, wrongField } from '../../wire/wire.ts';

/** Fields that only the response has again: nothing here acts on them. */
export const ECHOED_FIELDS: readonly string[] = ['max_tool_calls', 'metadata', 'truncation'];

type Echo = (sent: JsonValue, path: string) => JsonValue;

interface Member {
  name: string;
  /** The value if none was sent, and of one that is too long to be repeated. */
  usual: JsonValue;
  /** In the documented shape. Throws invalid_request. Absent: as it was sent, because it was read before. */
  echo?: Echo;
}

const TEXT: JsonObject = { format: { type: 'text' }, verbosity: 'medium' };
const REASONING: JsonObject = { effort: null, summary: null };

/** Those by which clients read the answer are first: longer ones do not leave them out. */
const MEMBERS: readonly Member[] = [
  { name: 'temperature', usual: 1 },
  { name: 'top_p', usual: 1 },
  { name: 'presence_penalty', usual: 0 },
  { name: 'frequency_penalty', usual: 0 },
  { name: 'max_output_tokens', usual: null },
  { name: 'max_tool_calls', usual: null, echo: echoCount },
  { name: 'parallel_tool_calls', usual: true, echo: (sent) => sent !== false },
  { name: 'truncation', usual: 'disabled', echo: echoTruncation },
  { name: 'prompt_cache_key', usual: null, echo: requireText },
  { name: 'safety_identifier', usual: null, echo: requireText },
  { name: 'user', usual: null, echo: requireText },
  { name: 'metadata', usual: {}, echo: echoMetadata },
  { name: 'reasoning', usual: REASONING, echo: echoReasoning },
  { name: 'text', usual: TEXT, echo: echoText },
  { name: 'tool_choice', usual: 'auto', echo: (sent) => (sent === 'any' ? 'required' : sent) },
  { name: 'tools', usual: [], echo: (sent) => (Array.isArray(sent) ? sent.map(echoTool) : sent) },
  { name: 'instructions', usual: null },
];

/** Constant, because requests with other values are refused, or nothing here depends on them. */
const CONSTANTS: JsonObject = {
  background: false,
  previous_response_id: null,
  store: false,
  top_logprobs: 0,
};

/**
 * The members as JSON without its braces, of at most about `bounds.responseSettingsCharactersMax`: a text, because a
 * stream keeps it until its end. `body` was translated before. Throws invalid_request for what is only repeated.
 */
export function echoSettings(body: JsonObject): string {
  let charactersLeft = bounds.responseSettingsCharactersMax;
  const written = MEMBERS.map(({ name, usual, echo }) => {
    const sent = body[name] ?? null;
    const value = sent === null ? usual : echo === undefined ? sent : echo(sent, name);
    const json = JSON.stringify(value);
    const fits = json.length <= charactersLeft;
    if (fits) charactersLeft -= json.length;
    return `"${name}":${fits ? json : JSON.stringify(usual)}`;
  });
  return `${JSON.stringify(CONSTANTS).slice(1, -1)},${written.join(',')}`;
}

function echoCount(sent: JsonValue, path: string): JsonValue {
  if (!isWholeNumber(sent) || sent === 0) throw wrongField(path, 'Input should be a positive integer');
  return sent;
}

function echoTruncation(sent: JsonValue, path: string): JsonValue {
  if (sent !== 'auto' && sent !== 'disabled') throw wrongField(path, "Input should be 'auto' or 'disabled'");
  return sent;
}

/** The limits are the documented ones, https://www.openresponses.org/reference (29 November 2026). */
const PAIRS_MAX = 16;
const NAME_CHARACTERS_MAX = 64;
const VALUE_CHARACTERS_MAX = 512;

function echoMetadata(sent: JsonValue, path: string): JsonValue {
  const pairs = Object.entries(requireObject(sent, path));
  if (pairs.length > PAIRS_MAX) throw wrongField(path, `Input should have at most ${PAIRS_MAX} members`);
  for (const [name, value] of pairs) {
    if (name.length > NAME_CHARACTERS_MAX)
      throw wrongField(path, `names of members should have at most ${NAME_CHARACTERS_MAX} characters`);
    if (requireText(value, `${path}.${name}`).length > VALUE_CHARACTERS_MAX)
      throw wrongField(`${path}.${name}`, `String should have at most ${VALUE_CHARACTERS_MAX} characters`);
  }
  return sent;
}

function echoReasoning(sent: JsonValue, path: string): JsonValue {
  const { effort, summary, generate_summary, ...more } = objectOf(sent);
  const shown = summary ?? generate_summary ?? null;
  return {
    ...more,
    effort: effort ?? null,
    summary: shown === null ? null : requireText(shown, `${path}.summary`),
  };
}

function echoText(sent: JsonValue, path: string): JsonValue {
  const { format, verbosity, ...more } = objectOf(sent);
  return {
    ...more,
    format: isJsonObject(format) ? echoFormat(format) : { type: 'text' },
    verbosity: requireText(verbosity ?? 'medium', `${path}.verbosity`),
  };
}

function echoFormat(format: JsonObject): JsonObject {
  if (format['type'] !== 'json_schema') return format;
  return {
    ...format,
    name: format['name'] ?? '',
    description: format['description'] ?? null,
    strict: format['strict'] ?? false,
  };
}

function echoTool(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool['type'] !== 'function') return tool;
  const { description = null, parameters = null, strict = null } = tool;
  return { ...tool, description, parameters, strict };
}
