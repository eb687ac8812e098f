// Features of a parsed request that change its price, are not offered, or need an object stored at the provider.

import { isWholeNumber } from '../base/checked-number.ts';
import type { JsonObject, JsonValue, MessageRequest } from './message-request.ts';
import { isJsonObject, isSound, isSpokenAnswer, jsonObjects, objectOf, textOf } from './message-request.ts';
import { type ServiceTier, tierOf } from './service-tier.ts';

/**
 * Visits every block of `system` and `messages`, nested ones after their parent, until `visit` returns true; then
 * returns the block's path ("messages.0.content.1"), else null.
 */
export function findBlock(body: JsonObject, visit: (block: JsonObject) => boolean): string | null {
  const place = findInList(body['system'], visit);
  if (place !== null) return `system.${place}`;
  const messages = body['messages'];
  if (!Array.isArray(messages)) return null;
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (!isJsonObject(message)) continue;
    const inside = findInList(message['content'], visit);
    if (inside !== null) return `messages.${index}.content.${inside}`;
  }
  return null;
}

function findInList(list: JsonValue | undefined, visit: (block: JsonObject) => boolean): string | null {
  if (!Array.isArray(list)) return null;
  for (let index = 0; index < list.length; index++) {
    const inside = findInBlock(list[index], visit);
    if (inside !== null) return `${index}${inside}`;
  }
  return null;
}

/** "" for the block itself, ".content.0" for one inside; the parser bounds the depth. */
function findInBlock(block: JsonValue | undefined, visit: (block: JsonObject) => boolean): string | null {
  if (!isJsonObject(block)) return null;
  if (visit(block)) return '';
  const content = block['content'];
  if (typeof content === 'object' && content !== null) {
    // A fetched page's result has one object where others have a list.
    if (!Array.isArray(content)) return prefixed('.content', findInBlock(content, visit));
    const inside = findInList(content, visit);
    if (inside !== null) return `.content.${inside}`;
  }
  const source = block['source'];
  const inSource = isJsonObject(source) ? findInList(source['content'], visit) : null;
  if (inSource !== null) return `.source.content.${inSource}`;
  return prefixed('.tool_changes.', findInList(block['tool_changes'], visit));
}

function prefixed(prefix: string, path: string | null): string | null {
  return path === null ? null : prefix + path;
}

export interface RequestFeatures {
  /** The service tier requested. */
  tier: ServiceTier;
  /** `usesMax` over all web search tools; null if one of them has no limit. */
  webSearch: { usesMax: number | null } | null;
  /** Tools of the provider that add input while it answers. */
  serverTools: 'none' | 'searches' | 'unlimited';
  /** The uses that they allow together; null if one of them has no limit. */
  fetchesMax: number | null;
  /** The input tokens from which the provider summarizes the conversation first; null: it does not. */
  compactsFrom: number | null;
  longContext: boolean;
  /** The refusal of the first feature that changes the price and cannot be given one; it begins with the path. */
  notOffered: string | null;
  /** The path of the first field that names an object stored at the provider. */
  storedObject: string | null;
  hasTools: boolean;
  /** The path of the first block of sound that the client sent; null: none. */
  sound: string | null;
  /** The path of the first earlier answer that was spoken, named by its id; null: none. */
  spoken: string | null;
  /** The answer is spoken. */
  speaks: boolean;
  /** The path of a part that only a provider of Responses compacted and can read, or "model" of a request to compact; null: none. */
  compacted: string | null;
  cacheControl: 'none' | '5m' | '1h';
}

/** Values of a field that are offered, and the words about all others. */
interface OfferedValues {
  name: string;
  words: string;
  isOffered(value: JsonValue): boolean;
}

// Clients repeat a request without a field if its refusal begins like this.
const EXTRA = 'Extra inputs are not permitted: this service does not offer';

const FIELDS: readonly OfferedValues[] = [
  { name: 'fallbacks', words: `${EXTRA} fallbacks at a provider`, isOffered: () => false },
  { name: 'billing_policy', words: `${EXTRA} bills to others than the account`, isOffered: isBilledToSelf },
  {
    name: 'service_tier',
    words: 'only "auto", "standard_only", "flex" and "ultrafast" are offered; "speed": "fast" asks for the fast tier',
    isOffered: oneOf('auto', 'standard_only', 'flex', 'ultrafast'),
  },
  { name: 'inference_geo', words: 'only "global" is offered', isOffered: oneOf('global') },
  { name: 'speed', words: 'only "standard" and "fast" are offered', isOffered: oneOf('standard', 'fast') },
];

const TOOLS_WITH_EXECUTION = /^web_(?:search|fetch)_(\d{8})$/;
const EXECUTION_FREE_FROM = '20260209';

/**
 * Tools that run at the client, and the search among tools, whose definitions are in the body. Any other type may add
 * input without a limit of its own: `max_content_tokens` of web fetch does not apply to PDF files.
 */
const WITHOUT_FETCHES = /^(?:custom$|function$|bash_|text_editor_|computer_|memory_|tool_search_)/;

const STORED_FIELDS = ['container', 'skills', 'previous_message_id'];
const TOOL_TYPE_CHARACTERS_MAX = 64;

/** `betas` is the client's beta header, values joined by commas; null without one. */
export function readFeatures(
  request: Pick<MessageRequest, 'body'> & Partial<Pick<MessageRequest, 'protocol' | 'native'>>,
  betas: string | null,
): RequestFeatures {
  const { body } = request;
  const found: RequestFeatures = {
    tier: tierOf(body),
    webSearch: null,
    serverTools: isNamed(body['mcp_servers']) ? 'unlimited' : 'none',
    fetchesMax: isNamed(body['mcp_servers']) ? null : 0,
    compactsFrom: readCompaction(body),
    longContext: betas?.includes('context-1m-') ?? false,
    notOffered: refusedField(body),
    storedObject: storedField(body),
    hasTools: Array.isArray(body['tools']) && body['tools'].length > 0,
    sound: null,
    spoken: null,
    speaks: request.protocol === 'chat-completions' && isJsonObject(body['audio']),
    compacted: request.native?.isCompaction ? 'model' : null,
    cacheControl: 'none',
  };
  noteCacheControl(found, body);
  const types: string[] = [];
  const tools = body['tools'];
  if (Array.isArray(tools)) for (const tool of tools) if (isJsonObject(tool)) noteTool(found, types, tool);
  let hasStoredBlock = false;
  let hasSound = false;
  let isCompacted = false; // Messages has such blocks of its own
  findBlock(body, (block) => {
    noteCacheControl(found, block);
    if (block['type'] === 'tool_addition') {
      const added = objectOf(block['tool'])['definition'];
      found.hasTools = true;
      if (isJsonObject(added)) noteTool(found, types, added);
    }
    hasStoredBlock ||= storedPart(block) !== null;
    hasSound ||= isSound(block);
    isCompacted ||= block['type'] === 'compaction' && request.protocol === 'responses';
    return false;
  });
  if (hasSound) {
    found.spoken = findBlock(body, isSpokenAnswer);
    found.sound = findBlock(body, (block) => isSound(block) && !isSpokenAnswer(block));
  }
  if (isCompacted) found.compacted ??= findBlock(body, ({ type }) => type === 'compaction');
  found.notOffered ??= refusedTool(types, tools);
  if (hasStoredBlock) found.storedObject ??= storedBlockPath(body);
  return found;
}

/**
 * The trigger of a `compact_…` edit: 150,000 input tokens by default
 * (https://platform.claude.com/docs/en/build-with-claude/compaction, 28 November 2026).
 */
function readCompaction(body: JsonObject): number | null {
  let from: number | null = null;
  for (const { type, trigger } of jsonObjects(objectOf(body['context_management'])['edits'])) {
    if (!textOf(type).startsWith('compact_')) continue;
    const { value } = objectOf(trigger);
    from = Math.min(from ?? COMPACTS_FROM_DEFAULT, isWholeNumber(value) ? value : COMPACTS_FROM_DEFAULT);
  }
  return from;
}

const COMPACTS_FROM_DEFAULT = 150_000;

function refusedField(body: JsonObject): string | null {
  for (const { name, words, isOffered } of FIELDS) {
    const value = body[name] ?? null;
    if (isNamed(value) && !isOffered(value)) return `${name}: ${words}`;
  }
  if (body['speed'] === 'fast' && (body['service_tier'] === 'flex' || body['service_tier'] === 'ultrafast'))
    return `service_tier: "${body['service_tier']}" cannot be combined with "speed": "fast"`;
  return null;
}

function oneOf(...offered: string[]): (value: JsonValue) => boolean {
  return (value) => typeof value === 'string' && offered.includes(value);
}

function isBilledToSelf(policy: JsonValue): boolean {
  return isJsonObject(policy) && (policy['bill_to'] ?? 'self') === 'self';
}

/** Providers report neither an advisor's tokens in the total counts nor the time of code execution. */
function refusedTool(types: readonly string[], tools: JsonValue | undefined): string | null {
  const refuse = (type: string, words: string) => `${type.slice(0, TOOL_TYPE_CHARACTERS_MAX)}: ${words}`;
  for (const type of types) {
    if (type.startsWith('advisor_')) return refuse(type, 'advisor tools are not offered');
    if (type.startsWith('code_execution_') && !jsonObjects(tools).some(includesExecution))
      return refuse(type, 'code execution is offered only beside web search or web fetch of 2026-02-09 or later');
  }
  return null;
}

/** Beside these tools, providers charge nothing for code execution. */
function includesExecution({ type }: JsonObject): boolean {
  return (TOOLS_WITH_EXECUTION.exec(textOf(type))?.[1] ?? '') >= EXECUTION_FREE_FROM;
}

function noteTool(found: RequestFeatures, types: string[], tool: JsonObject): void {
  noteCacheControl(found, tool);
  const type = tool['type'];
  if (typeof type !== 'string') return;
  types.push(type);
  if (WITHOUT_FETCHES.test(type)) return;
  found.fetchesMax = addedUses(found.fetchesMax, tool['max_uses']);
  if (type.startsWith('web_search_')) {
    const before = found.webSearch === null ? 0 : found.webSearch.usesMax;
    found.webSearch = { usesMax: addedUses(before, tool['max_uses']) };
    if (found.serverTools === 'none') found.serverTools = 'searches';
  } else found.serverTools = 'unlimited';
}

function addedUses(before: number | null, maxUses: JsonValue | undefined): number | null {
  if (before === null || !isWholeNumber(maxUses)) return null;
  const usesMax = before + maxUses;
  return isWholeNumber(usesMax) ? usesMax : null;
}

function noteCacheControl(found: RequestFeatures, holder: JsonObject): void {
  const control = holder['cache_control'];
  if (!isJsonObject(control) || found.cacheControl === '1h') return;
  found.cacheControl = control['ttl'] === '1h' ? '1h' : '5m';
}

function storedField(body: JsonObject): string | null {
  for (const name of STORED_FIELDS) if (namesObject(body[name])) return name;
  return null;
}

/** Clients write optional members without a value as null, an empty list or an empty object. */
function namesObject(value: JsonValue | undefined): boolean {
  if (isJsonObject(value)) return Object.values(value).some(isNamed);
  return isNamed(value);
}

function isNamed(value: JsonValue | undefined): boolean {
  return (value ?? null) !== null && !(Array.isArray(value) && value.length === 0);
}

/** The rest of the path to a stored object's name in a block, or null. */
function storedPart(block: JsonObject): string | null {
  if (block['type'] === 'container_upload') return '.file_id';
  const source = block['source'];
  return isJsonObject(source) && (source['type'] === 'file' || 'file_id' in source) ? '.source.file_id' : null;
}

function storedBlockPath(body: JsonObject): string | null {
  let part = '';
  const path = findBlock(body, (block) => {
    part = storedPart(block) ?? '';
    return part !== '';
  });
  return path === null ? null : path + part;
}
