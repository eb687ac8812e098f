// The client's own body for a provider of Responses: only members that are known to be free of charge or priced, and that
// read nothing stored there. Everything kept is passed on byte for byte, unless something beside it was left out.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  type NativeBody,
  rewriteRequest,
  scanJson,
  textOf,
} from '../../wire/wire.ts';
import { isOfChat } from '../chat-messages.ts';
import type { Asked } from '../front.ts';
import { isSealedHere } from './sealed-thinking.ts';

const KIND = 'openai-responses';
/** Tells the provider that tools are in the conversation, as the newest models of Codex CLI have it. */
const LITE_HEADER = 'x-openai-internal-codex-responses-lite';

/** The same value if all of it is kept; undefined: it is left out. */
type Clean = (value: JsonValue) => JsonValue | undefined;

const same: Clean = (value) => value;

function members(kept: Readonly<Record<string, Clean>>): Clean {
  return (value) => (isJsonObject(value) ? cleanObject(value, kept) : value);
}

function list(clean: Clean): Clean {
  return (value) => {
    if (!Array.isArray(value)) return value;
    const cleaned = value.map(clean);
    const isSame = cleaned.every((one, place) => one === value[place]);
    return isSame ? value : cleaned.filter((one) => one !== undefined);
  };
}

function cleanObject(value: JsonObject, kept: Readonly<Record<string, Clean>>): JsonObject {
  let isSame = true;
  const cleaned: JsonObject = {};
  for (const [name, inside] of Object.entries(value)) {
    const one = Object.hasOwn(kept, name) ? kept[name]?.(inside) : undefined;
    if (one !== inside) isSame = false;
    if (one !== undefined) cleaned[name] = one;
  }
  return isSame ? value : cleaned;
}

/** An object by its type. Other types are left out: the translation refuses those that would be missed. */
function byType(kept: Readonly<Record<string, Clean>>, typeOf = (value: JsonObject) => textOf(value['type'])): Clean {
  return (value) => {
    if (!isJsonObject(value)) return undefined;
    const type = typeOf(value);
    return Object.hasOwn(kept, type) ? kept[type]?.(value) : undefined;
  };
}

function names(list: string): Record<string, Clean> {
  return Object.fromEntries(list.split(' ').map((name) => [name, same]));
}

const PARTS: Readonly<Record<string, Clean>> = {
  input_text: members(names('type text')),
  output_text: members(names('type text annotations logprobs')),
  refusal: members(names('type refusal')),
  input_image: members(names('type image_url detail')),
  input_file: members(names('type file_data file_url filename')),
};
const PART = byType(PARTS);

/** Whether an element of the conversation has a form that only the translation reads. */
function isForeign(item: JsonObject): boolean {
  const { type, content, output, arguments: given } = item;
  if (type === 'reasoning') return false;
  if (isOfChat(item) || (isJsonObject(given) && type !== 'tool_search_call')) return true;
  return [content, output].some((parts) => jsonObjects(parts).some(isForeignPart));
}

function isForeignPart({ type, image_url: url }: JsonObject): boolean {
  return !Object.hasOwn(PARTS, textOf(type)) || isJsonObject(url);
}

const FUNCTION = members(names('type name description parameters strict'));
const CUSTOM = members(names('type name description format'));
/** Without deferred loading, which needs the provider's own tool search. */
const TOOL = byType({
  function: FUNCTION,
  custom: CUSTOM,
  namespace: members({
    ...names('type name description'),
    tools: list(byType({ function: FUNCTION, custom: CUSTOM })),
  }),
  tool_search: (tool) =>
    isJsonObject(tool) && tool['execution'] === 'client'
      ? cleanObject(tool, names('type execution description parameters'))
      : undefined,
});

/** A text or parts; anything else as JSON, as the translation has it. */
const cleanOutput: Clean = (value) =>
  typeof value === 'string' || value === null
    ? value
    : Array.isArray(value)
      ? list(PART)(value)
      : JSON.stringify(value);

const REASONING: Readonly<Record<string, Clean>> = {
  ...names('type id encrypted_content status'),
  summary: thoughts('summary_text'),
  content: thoughts('reasoning_text'),
};

/** Parts of a type, each with its text; anything else but null is left out. */
function thoughts(type: string): Clean {
  const parts = list(byType({ [type]: members(names('type text')) }));
  return (value) => (value === null || Array.isArray(value) ? parts(value) : undefined);
}

const CALL = names('type id call_id name namespace status');
const OUTPUT = members({ ...names('type id call_id status'), output: cleanOutput });
const ITEM = byType(
  {
    message: members({ ...names('type id role status phase'), content: list(PART) }),
    // Only the provider that sealed it can open it. Without its content, its id would name a stored item.
    reasoning: (item) =>
      isJsonObject(item) && textOf(item['encrypted_content']) !== '' && !isSealedHere(item['encrypted_content'])
        ? cleanObject(item, REASONING)
        : undefined,
    function_call: members({ ...CALL, arguments: same }),
    custom_tool_call: members({ ...CALL, input: same }),
    tool_search_call: members(names('type id call_id execution arguments status')),
    function_call_output: OUTPUT,
    custom_tool_call_output: OUTPUT,
    tool_search_output: members({ ...names('type id call_id execution status'), tools: list(TOOL) }),
    compaction: members(names('type id encrypted_content')),
    additional_tools: members({ ...names('type id role'), tools: list(TOOL) }),
    configuration_update: members({ type: same, reasoning: members(names('context effort generate_summary summary')) }),
  },
  (item) => (item['type'] === undefined && item['role'] !== undefined ? 'message' : textOf(item['type'])),
);

const INCLUDED: readonly JsonValue[] = ['reasoning.encrypted_content'];

/** Providers of this protocol know them; the word for any other tier is added when the message is sent. */
const STANDARD_TIERS: readonly JsonValue[] = ['auto', 'default'];

const REQUEST: Readonly<Record<string, Clean>> = {
  ...names('model instructions max_output_tokens stream store temperature top_p truncation parallel_tool_calls'),
  ...names('tool_choice prompt_cache_key safety_identifier user'),
  service_tier: (tier) => (STANDARD_TIERS.includes(tier) ? tier : undefined),
  input: list(ITEM),
  tools: list(TOOL),
  include: list((name) => (INCLUDED.includes(name) ? name : undefined)),
  reasoning: members(names('context effort generate_summary summary')),
  text: members(names('format verbosity')),
  stream_options: members(names('include_obfuscation')),
};

/**
 * `body` was translated before, which refuses what must not be passed on and would be missed. null: the conversation has
 * messages of another protocol, so that every provider gets the translation.
 */
export function nativeBody(body: JsonObject, asked: Asked): NativeBody | null {
  return cleanBody(body, asked, REQUEST);
}

/** The fields of a compaction, by https://developers.openai.com/api/reference/resources/responses, and as Codex sends them (30 November 2026). */
const COMPACTION: readonly string[] = [
  ...['model', 'input', 'instructions', 'prompt_cache_key', 'service_tier'],
  ...['tools', 'parallel_tool_calls', 'reasoning', 'text'],
];

/** As `nativeBody`, to be compacted. */
export function compactedBody(body: JsonObject, asked: Asked): NativeBody | null {
  const kept = Object.fromEntries(Object.entries(REQUEST).filter(([name]) => COMPACTION.includes(name)));
  const native = cleanBody(body, asked, kept);
  return native && { ...native, isCompaction: true };
}

function cleanBody(
  body: JsonObject,
  { text, members, headers }: Asked,
  request: Readonly<Record<string, Clean>>,
): NativeBody | null {
  if (jsonObjects(body['input']).some(isForeign)) return null;
  const own = headersOf(headers);
  const changes: Record<string, JsonValue | undefined> = {};
  for (const name of members.keys()) {
    const value = body[name];
    const cleaned = value !== undefined && Object.hasOwn(request, name) ? request[name]?.(value) : undefined;
    if (cleaned === undefined || cleaned !== value) changes[name] = cleaned;
  }
  if (Object.keys(changes).length === 0) return { kind: KIND, text, members, ...own };
  const rewritten = rewriteRequest({ text, members }, changes);
  return { kind: KIND, text: rewritten, members: scanJson(rewritten), ...own };
}

function headersOf(headers: Headers): Pick<NativeBody, 'headers'> {
  return headers.get(LITE_HEADER) === 'true' ? { headers: { [LITE_HEADER]: 'true' } } : {};
}
