// Translates a Chat Completions request to a Messages request. Gateway and provider validate the rest.

import { readFormat } from '../../protocols/answer-format.ts';
import { effortMembers, readChatEffort } from '../../protocols/effort.ts';
import { requireObject } from '../../protocols/placed.ts';
import { askedTier, TIER_FIELD, tierMember } from '../../protocols/service-tiers.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  requireList,
  requireText,
  type ServiceTier,
  wrongField,
} from '../../wire/wire.ts';
import type { Origins } from '../origins.ts';
import {
  checkRanges,
  extraMember,
  givenFields,
  OPENAI_RANGES,
  refuseFields,
  requests,
  userMember,
  withInner,
} from '../request-fields.ts';
import { REFUSED_FIELDS, TRANSLATED_FIELDS } from './chat-fields.ts';
import { convertConversation, systemField } from './convert-conversation.ts';
import { type CustomTools, convertTools } from './convert-tools.ts';

/** In a chunk of its own without choices, as in OpenAI's streams on request; in the last chunk with a choice; or nowhere. */
export type UsagePlace = 'own chunk' | 'last chunk' | 'none';

/** The facts that the response needs. Small, because a stream may last much longer than its request is kept. */
export interface ChatTerms {
  /** Where a stream has its usage. */
  usage: UsagePlace;
  /** The service tier that the client asked for; null: it did not say. */
  tier: ServiceTier | null;
  /** Calls use the older `function_call` format. */
  callsFunctions: boolean;
  customTools: CustomTools;
  origins: Origins;
}

const SAME_FIELDS = ['model', 'temperature', 'top_p', 'top_k', 'stream', 'cache_control'];
/** Fields that Messages does not have and some providers do; other providers drop them. */
const MORE_FIELDS = ['frequency_penalty', 'presence_penalty', 'seed'];

/** Names of Messages in sentences. */
const WORDS: readonly [string, string][] = [
  ['budget_tokens', 'reasoning.max_tokens'],
  ['input_schema', 'parameters'],
  ['output_config.format', 'response_format'],
  ['thinking.budget_tokens', 'reasoning.max_tokens'],
  ['tool_result', 'tool'],
  ['tool_use', 'tool_calls'],
  ['tool_use_id', 'tool_call_id'],
];

const NO_LIMIT = -1; // as local servers write it

export interface ConvertedRequest {
  message: JsonObject;
  terms: ChatTerms;
}

/**
 * `listName` is the member with the messages. Throws invalid_request (the message begins with the field's path) and
 * feature_unavailable.
 */
export function convertRequest(given: JsonObject, listName = 'messages'): ConvertedRequest {
  const body = withInner(given);
  refuseFields(body, REFUSED_FIELDS);
  checkRanges(body, OPENAI_RANGES);
  const fields = new Map([...WORDS, TIER_FIELD, ['messages', listName], ['system', systemField(body) ?? listName]]);
  const tools = convertTools(body);
  const conversation = convertConversation(body, listName, tools.customTools);
  const { format, instruction, path: formatPath } = readOwnFormat(body);
  const { system } = conversation;
  if (instruction !== null) system.push({ block: { type: 'text', text: instruction }, path: formatPath });
  const message: JsonObject = {
    ...sameFields(body),
    ...tierMember(body),
    ...maxTokensMember(body, fields),
    ...stopMember(body, fields),
    ...(system.length > 0 && { system: system.map(({ block }) => block) }),
    messages: conversation.messages,
    ...tools.members,
    ...effortMembers(readChatEffort(body), format, formatPath, fields),
    ...userMember(body, fields),
    ...spokenMember(body),
    ...extraMember(body, TRANSLATED_FIELDS),
  };
  return {
    message,
    terms: {
      usage: usagePlace(body['stream_options'] ?? null),
      tier: askedTier(body, message),
      callsFunctions: tools.areFunctions,
      customTools: tools.customTools,
      origins: { messages: conversation.origins, system: system.map(({ path }) => path), tools: tools.origins, fields },
    },
  };
}

const SPOKEN_FORMATS: readonly JsonValue[] = ['wav', 'aac', 'mp3', 'flac', 'opus', 'pcm16'];
const STREAMED_FORMAT = 'pcm16';

/** `audio`, if the answer is to be spoken. Throws invalid_request. */
export function spokenMember({ modalities: given, audio = null, stream }: JsonObject): JsonObject {
  const modalities = requireList(given ?? [], 'modalities');
  const other = modalities.findIndex((one) => one !== 'text' && one !== 'audio');
  if (other >= 0) throw wrongField(`modalities.${other}`, "Input should be 'text' or 'audio'");
  if (!modalities.includes('audio')) {
    if (requests(audio)) throw wrongField('audio', 'is only for answers whose modalities include "audio"');
    return {};
  }
  const { voice = null, format } = requireObject(audio ?? undefined, 'audio');
  if (!isJsonObject(voice)) requireText(voice ?? undefined, 'audio.voice');
  if (format === undefined || !SPOKEN_FORMATS.includes(format))
    throw wrongField('audio.format', `Input should be one of ${SPOKEN_FORMATS.join(', ')}`);
  if (stream === true && format !== STREAMED_FORMAT)
    throw wrongField('audio.format', `Input should be ${STREAMED_FORMAT} in a stream`);
  return { audio: { voice, format } };
}

/** `text.format` is the name in Responses. */
function readOwnFormat(body: JsonObject): ReturnType<typeof readFormat> & { path: string } {
  const own = body['response_format'] ?? null;
  const ofResponses = objectOf(body['text'])['format'] ?? null;
  if (own !== null || ofResponses === null)
    return { ...readFormat(own, 'response_format', 'json_schema'), path: 'response_format' };
  return { ...readFormat(ofResponses, 'text.format', null), path: 'text.format' };
}

/** Fields with the same name in Messages, and those that only some providers have. */
export function sameFields(body: JsonObject): JsonObject {
  return givenFields(body, [...SAME_FIELDS, ...MORE_FIELDS]);
}

/** Newest first; the last one is that of Responses. */
const LIMIT_FIELDS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens'];

export function maxTokensMember(body: JsonObject, fields: Map<string, string>): JsonObject {
  const name = LIMIT_FIELDS.find((one) => (body[one] ?? null) !== null) ?? 'max_tokens';
  fields.set('max_tokens', name);
  const max_tokens = body[name] ?? null;
  return max_tokens === null || max_tokens === NO_LIMIT ? {} : { max_tokens };
}

/** `stop_sequences` is the name in Messages. */
export function stopMember(body: JsonObject, fields: Map<string, string>): JsonObject {
  const name = (body['stop'] ?? null) === null && 'stop_sequences' in body ? 'stop_sequences' : 'stop';
  fields.set('stop_sequences', name);
  const stop = body[name] ?? null;
  const isList = Array.isArray(stop);
  const given = isList ? stop : stop === null ? [] : [stop];
  const stops = given
    .map((one, place) => requireText(one, isList ? `${name}.${place}` : name))
    .filter((one) => one !== '');
  return stops.length === 0 ? {} : { stop_sequences: stops };
}

/**
 * Clients of OpenRouter read a usage that they did not ask for. A chunk without choices would break clients that read the
 * first choice of each chunk.
 */
export function usagePlace(options: JsonValue): UsagePlace {
  const includes = options === null ? null : (requireObject(options, 'stream_options')['include_usage'] ?? null);
  if (includes === null) return 'last chunk';
  if (typeof includes !== 'boolean')
    throw wrongField('stream_options.include_usage', 'Input should be a valid boolean');
  return includes ? 'own chunk' : 'none';
}
