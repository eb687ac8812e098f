// Features of a parsed request that change its price or need an object stored at the provider.

import { isWholeNumber } from '../base/checked-number.ts';
import type { JsonObject, JsonValue, MessageRequest } from './message-request.ts';
import { isJsonObject, objectOf } from './message-request.ts';

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
  speed: 'standard' | 'fast';
  /** `usesMax` over all web search tools; null if one of them has no limit. */
  webSearch: { usesMax: number | null } | null;
  longContext: boolean;
  /** Features that change the price and have no configurable rate: names of fields and tool types. */
  unpriced: string[];
  /** The path of the first field that names an object stored at the provider. */
  storedObject: string | null;
  hasTools: boolean;
  cacheControl: 'none' | '5m' | '1h';
}

const UNPRICED_TOOLS = ['code_execution_', 'advisor_'];
const UNPRICED_FIELDS = ['fallbacks', 'fallback_credit_token', 'billing_policy'];
const PRICED_TIERS = ['auto', 'standard_only'];
const PRICED_PLACES = ['global'];
const PRICED_SPEEDS = ['standard', 'fast'];
const STORED_FIELDS = ['container', 'skills', 'previous_message_id'];
const TOOL_TYPE_CHARACTERS_MAX = 64;

/** `betas` is the client's beta header, values joined by commas; null without one. */
export function readFeatures(request: Pick<MessageRequest, 'body'>, betas: string | null): RequestFeatures {
  const { body } = request;
  const found: RequestFeatures = {
    speed: body['speed'] === 'fast' ? 'fast' : 'standard',
    webSearch: null,
    longContext: betas?.includes('context-1m-') ?? false,
    unpriced: unpricedFields(body),
    storedObject: storedField(body),
    hasTools: Array.isArray(body['tools']) && body['tools'].length > 0,
    cacheControl: 'none',
  };
  noteCacheControl(found, body);
  const tools = body['tools'];
  if (Array.isArray(tools)) for (const tool of tools) if (isJsonObject(tool)) noteTool(found, tool);
  let hasStoredBlock = false;
  findBlock(body, (block) => {
    noteCacheControl(found, block);
    if (block['type'] === 'tool_addition') {
      const added = objectOf(block['tool'])['definition'];
      found.hasTools = true;
      if (isJsonObject(added)) noteTool(found, added);
    }
    hasStoredBlock ||= storedPart(block) !== null;
    return false;
  });
  if (hasStoredBlock) found.storedObject ??= storedBlockPath(body);
  return found;
}

function unpricedFields(body: JsonObject): string[] {
  const names: string[] = [];
  for (const name of UNPRICED_FIELDS) if ((body[name] ?? null) !== null) names.push(name);
  if (!isOneOf(body['service_tier'], PRICED_TIERS)) names.push('service_tier');
  if (!isOneOf(body['inference_geo'], PRICED_PLACES)) names.push('inference_geo');
  if (!isOneOf(body['speed'], PRICED_SPEEDS)) names.push('speed');
  return names;
}

function isOneOf(value: JsonValue | undefined, known: readonly string[]): boolean {
  return value === undefined || value === null || (typeof value === 'string' && known.includes(value));
}

function noteTool(found: RequestFeatures, tool: JsonObject): void {
  noteCacheControl(found, tool);
  const type = tool['type'];
  if (typeof type !== 'string') return;
  if (type.startsWith('web_search_')) found.webSearch = { usesMax: addedUses(found.webSearch, tool['max_uses']) };
  const shown = type.slice(0, TOOL_TYPE_CHARACTERS_MAX);
  if (UNPRICED_TOOLS.some((prefix) => type.startsWith(prefix)) && !found.unpriced.includes(shown))
    found.unpriced.push(shown);
}

function addedUses(before: RequestFeatures['webSearch'], maxUses: JsonValue | undefined): number | null {
  if (before !== null && before.usesMax === null) return null;
  if (!isWholeNumber(maxUses)) return null;
  const usesMax = (before?.usesMax ?? 0) + maxUses;
  return isWholeNumber(usesMax) ? usesMax : null;
}

function noteCacheControl(found: RequestFeatures, holder: JsonObject): void {
  const control = holder['cache_control'];
  if (!isJsonObject(control) || found.cacheControl === '1h') return;
  found.cacheControl = control['ttl'] === '1h' ? '1h' : '5m';
}

function storedField(body: JsonObject): string | null {
  for (const name of STORED_FIELDS) if (namesObject(body[name])) return name;
  const diagnostics = body['diagnostics'];
  const isNamedThere = isJsonObject(diagnostics) && namesObject(diagnostics['previous_message_id']);
  return isNamedThere ? 'diagnostics.previous_message_id' : null;
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
