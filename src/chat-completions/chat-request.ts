// From the bytes of a Chat Completions request to those of a Messages request. Only what has to be understood to be
// said in the other protocol is checked here; the rest is the gateway's and the provider's to judge.

import { createHash } from 'node:crypto';
import {
  decodeBody,
  type JsonObject,
  type JsonValue,
  parseExactly,
  parseJson,
  scanJson,
  wrongField,
} from '../wire/wire.ts';
import { convertConversation } from './convert-conversation.ts';
import { convertEffort } from './convert-effort.ts';
import { convertFormat } from './convert-format.ts';
import { type Placed, requireObject, requireText } from './convert-parts.ts';
import { convertTools } from './convert-tools.ts';
import { refuseFields } from './lost-fields.ts';
import type { Origins } from './origins.ts';

export interface ChatRequest {
  /** The Messages request, as JSON. The same request has the same bytes, whenever it is sent. */
  bytes: Uint8Array;
  terms: ChatTerms;
}

/** What of a request its answer needs. Small: a stream may last much longer than its request need be kept. */
export interface ChatTerms {
  /** A stream is to tell its usage, before its end. */
  includesUsage: boolean;
  /** A call is told as `function_call`, its older name. */
  callsFunctions: boolean;
  origins: Origins;
}

/** Fields that are called the same, and mean it. */
const SAME_FIELDS = ['model', 'temperature', 'top_p', 'top_k', 'stream', 'cache_control'];
/** Fields that a Messages request does not know, and some providers do: those that do not leave them out. */
const MORE_FIELDS = ['frequency_penalty', 'presence_penalty', 'seed'];
const SERVICE_TIERS_USUAL = ['auto', 'default'];
/** Whose conversation it is, the most telling first. */
const USER_FIELDS = ['prompt_cache_key', 'safety_identifier', 'user'];

const USER_CHARACTERS_MAX = 256; // of the provider that takes least
const NO_LIMIT = -1; // as local servers have it

const encoder = new TextEncoder();

/** Throws invalid_json, invalid_request (its message begins with the path of the field) and feature_unavailable. */
export function readChatRequest(bytes: Uint8Array): ChatRequest {
  const text = decodeBody(bytes);
  scanJson(text); // first: it bounds the depth that the parser meets
  const body = requireObject(parseJson(text, parseExactly), 'body');
  refuseFields(body);
  const fields = new Map<string, string>();
  const conversation = convertConversation(body['messages']);
  const tools = convertTools(body);
  const { format, instruction } = convertFormat(body['response_format'] ?? null);
  const system = instruction === null ? conversation.system : [...conversation.system, said(instruction)];
  const converted: JsonObject = {
    ...sameFields(body),
    ...maxTokensMember(body, fields),
    ...stopMember(body['stop'] ?? null, fields),
    ...(system.length > 0 && { system: system.map(({ block }) => block) }),
    messages: conversation.messages,
    ...tools.members,
    ...effortMembers(body, format, fields),
    ...userMember(body, fields),
    ...tierMember(body['service_tier'] ?? null),
  };
  return {
    bytes: encoder.encode(JSON.stringify(converted)),
    terms: {
      includesUsage: includesUsage(body['stream_options'] ?? null),
      callsFunctions: tools.areFunctions,
      origins: {
        messages: conversation.origins,
        system: system.map(({ path }) => path),
        tools: tools.origins,
        fields,
      },
    },
  };
}

function said(text: string): Placed {
  return { block: { type: 'text', text }, path: 'response_format' };
}

function sameFields(body: JsonObject): JsonObject {
  const same: JsonObject = {};
  for (const name of [...SAME_FIELDS, ...MORE_FIELDS]) {
    const value = body[name] ?? null;
    if (value !== null && !(value === 0 && name.endsWith('_penalty'))) same[name] = value;
  }
  return same;
}

/** The newer name wins. */
function maxTokensMember(body: JsonObject, fields: Map<string, string>): JsonObject {
  const name = (body['max_completion_tokens'] ?? null) === null ? 'max_tokens' : 'max_completion_tokens';
  fields.set('max_tokens', name);
  const max_tokens = body[name] ?? null;
  return max_tokens === null || max_tokens === NO_LIMIT ? {} : { max_tokens };
}

/** A stop that is empty is none. */
function stopMember(stop: JsonValue, fields: Map<string, string>): JsonObject {
  fields.set('stop_sequences', 'stop');
  const isList = Array.isArray(stop);
  const given = isList ? stop : stop === null ? [] : [stop];
  const stops = given
    .map((one, place) => requireText(one, isList ? `stop.${place}` : 'stop'))
    .filter((one) => one !== '');
  return stops.length === 0 ? {} : { stop_sequences: stops };
}

function effortMembers(body: JsonObject, format: JsonObject | null, fields: Map<string, string>): JsonObject {
  const { effort, thinking, field } = convertEffort(body);
  fields.set('thinking', field);
  fields.set('output_config.effort', field);
  fields.set('output_config', format === null ? field : 'response_format');
  const config = { ...(effort !== null && { effort }), ...(format !== null && { format }) };
  return {
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(thinking !== null && { thinking }),
  };
}

function userMember(body: JsonObject, fields: Map<string, string>): JsonObject {
  const name = USER_FIELDS.find((one) => (body[one] ?? null) !== null && body[one] !== '');
  if (name === undefined) return {};
  fields.set('metadata', name);
  const user = requireText(body[name], name);
  return { metadata: { user_id: user.length > USER_CHARACTERS_MAX ? hash(user) : user } };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Any other is refused by the gateway: it changes the price. */
function tierMember(tier: JsonValue): JsonObject {
  return tier === null || SERVICE_TIERS_USUAL.includes(tier as string) ? {} : { service_tier: tier };
}

function includesUsage(options: JsonValue): boolean {
  if (options === null) return false;
  const includes = requireObject(options, 'stream_options')['include_usage'] ?? false;
  if (typeof includes !== 'boolean')
    throw wrongField('stream_options.include_usage', 'Input should be a valid boolean');
  return includes;
}
