// What in a request changes its price, or needs an object that lies at the provider. Read from the
// parsed body, not by searching its text: an escape in the text would hide a name from a search.

import { isJsonObject, jsonObjects } from './json-values.ts';
import type { JsonObject, JsonValue, MessageRequest } from './message-request.ts';
import { findBlock } from './walk-blocks.ts';

export interface RequestFeatures {
  speed: 'standard' | 'fast';
  /** `usesMax` over all web search tools; null when one of them has no limit. */
  webSearch: { usesMax: number | null } | null;
  longContext: boolean;
  /** What is known to change the price and has no part in our prices: names of fields and tool types. */
  unpriced: string[];
  /** The path of the first field that names an object stored at the provider. */
  storedObject: string | null;
  hasTools: boolean;
  /** The dearest cache lifetime asked for. */
  cacheControl: 'none' | '5m' | '1h';
}

const UNPRICED_TOOLS = ['code_execution_', 'advisor_'];
const UNPRICED_FIELDS = ['fallbacks', 'fallback_credit_token', 'billing_policy'];
const TOOL_TYPE_CHARACTERS_MAX = 64;

/** `betas` is the caller's beta header, its values joined by commas; null when it sent none. */
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
  for (const tool of jsonObjects(body['tools'])) noteTool(found, tool);
  let hasStoredBlock = false;
  findBlock(body, (block) => {
    noteCacheControl(found, block);
    if (block['type'] === 'tool_addition') noteAddedTool(found, block);
    hasStoredBlock ||= storedPart(block) !== null;
    return false;
  });
  if (hasStoredBlock) found.storedObject ??= storedBlockPath(body);
  return found;
}

function unpricedFields(body: JsonObject): string[] {
  const names = UNPRICED_FIELDS.filter((name) => (body[name] ?? null) !== null);
  if (!isOneOf(body['service_tier'], ['auto', 'standard_only'])) names.push('service_tier');
  if (!isOneOf(body['inference_geo'], ['global'])) names.push('inference_geo');
  if (!isOneOf(body['speed'], ['standard', 'fast'])) names.push('speed');
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

/** A tool that a message brings into the conversation, as a tools entry would. */
function noteAddedTool(found: RequestFeatures, block: JsonObject): void {
  found.hasTools = true;
  const tool = block['tool'];
  if (isJsonObject(tool) && isJsonObject(tool['definition'])) noteTool(found, tool['definition']);
}

function addedUses(before: RequestFeatures['webSearch'], maxUses: JsonValue | undefined): number | null {
  if (before !== null && before.usesMax === null) return null;
  if (typeof maxUses !== 'number' || !Number.isSafeInteger(maxUses) || maxUses < 0) return null;
  return (before?.usesMax ?? 0) + maxUses;
}

function noteCacheControl(found: RequestFeatures, holder: JsonObject): void {
  const control = holder['cache_control'];
  if (!isJsonObject(control) || found.cacheControl === '1h') return;
  found.cacheControl = control['ttl'] === '1h' ? '1h' : '5m';
}

function storedField(body: JsonObject): string | null {
  for (const name of ['container', 'skills', 'previous_message_id']) if (namesObject(body[name])) return name;
  const diagnostics = body['diagnostics'];
  const isContinued = isJsonObject(diagnostics) && namesObject(diagnostics['previous_message_id']);
  return isContinued ? 'diagnostics.previous_message_id' : null;
}

/** Clients write out members that they leave open: null, an empty list and an object of such name nothing. */
function namesObject(value: JsonValue | undefined): boolean {
  if (isJsonObject(value)) return Object.values(value).some(isNamed);
  return isNamed(value);
}

function isNamed(value: JsonValue | undefined): boolean {
  return (value ?? null) !== null && !(Array.isArray(value) && value.length === 0);
}

/** What of a block names a stored object: the rest of its path, or null. */
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
