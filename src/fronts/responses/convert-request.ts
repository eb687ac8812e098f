// Translates a Responses request to a Messages request. Gateway and provider validate the rest.

import { readFormat } from '../../protocols/answer-format.ts';
import { type AskedEffort, effortMembers, ON, readEffortWord } from '../../protocols/effort.ts';
import { type Placed, textBlock } from '../../protocols/placed.ts';
import { askedTier, TIER_FIELD, tierMember } from '../../protocols/service-tiers.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  requireText,
  type ServiceTier,
  wrongField,
} from '../../wire/wire.ts';
import type { Origins } from '../origins.ts';
import { checkRanges, extraMember, givenFields, OPENAI_RANGES, refuseFields, userMember } from '../request-fields.ts';
import { convertInput, type InputItem, readItems, toolListsOf } from './convert-input.ts';
import { type CalledTool, convertTools, type ToolList } from './convert-tools.ts';
import { echoSettings } from './echoed-settings.ts';
import { FIELDS, REFUSED_FIELDS } from './response-fields.ts';

/** The facts that the response needs. Small, because a stream may last much longer than its request is kept. */
export interface ResponseTerms {
  /** By the name in the message; other tools are functions. */
  called: ReadonlyMap<string, CalledTool>;
  /** The client wants to see the thinking. */
  showsThinking: boolean;
  /** The requested model, and the request's settings as the response repeats them: members of JSON. */
  model: JsonValue;
  settings: string;
  /** The service tier that the client asked for; null: it did not say. */
  tier: ServiceTier | null;
  origins: Origins;
}

/** Messages has no penalties; some providers have them, others drop them. */
const SAME_FIELDS = ['model', 'temperature', 'top_p', 'frequency_penalty', 'presence_penalty', 'stream'];

/** Names of Messages in sentences. */
const WORDS: readonly [string, string][] = [
  ['budget_tokens', 'reasoning.effort'],
  ['input_schema', 'parameters'],
  ['output_config.format', 'text.format'],
  ['thinking.budget_tokens', 'reasoning.effort'],
  ['tool_result', 'function_call_output'],
  ['tool_use', 'function_call'],
  ['tool_use_id', 'call_id'],
];

interface ConvertedRequest {
  message: JsonObject;
  terms: ResponseTerms;
}

/**
 * `listName` is the client's name of `input`. Throws invalid_request (the message begins with the field's path) and
 * feature_unavailable.
 */
export function convertRequest(body: JsonObject, listName = 'input'): ConvertedRequest {
  refuseFields(body, REFUSED_FIELDS);
  checkRanges(body, OPENAI_RANGES);
  const fields = new Map([
    ...WORDS,
    TIER_FIELD,
    ['system', 'instructions'],
    ['messages', listName],
    ['max_tokens', 'max_output_tokens'],
  ]);
  const items = readItems(body['input'], listName);
  const tools = convertTools(body, [...ownTools(body), ...toolListsOf(items)]);
  const { format, instruction } = readFormat(objectOf(body['text'])['format'] ?? null, 'text.format', null);
  const instructions = readInstructions(body['instructions'] ?? null);
  if (instruction !== null) instructions.push({ block: { type: 'text', text: instruction }, path: 'text.format' });
  const conversation = convertInput(items, instructions, tools.names);
  const { system } = conversation;
  const reasoning = readReasoning(body, items);
  const message: JsonObject = {
    ...sameFields(body),
    ...tierMember(body),
    ...(system.length > 0 && { system: system.map(({ block }) => block) }),
    messages: conversation.messages,
    ...tools.members,
    ...effortMembers(reasoning, format, 'text.format', fields),
    ...userMember(body, fields),
    ...extraMember(body, FIELDS),
  };
  const origins = {
    messages: conversation.origins,
    system: system.map(({ path }) => path),
    tools: tools.origins,
    fields,
  };
  const { called } = tools.names;
  const { isShown: showsThinking } = reasoning;
  return {
    message,
    terms: {
      called,
      showsThinking,
      model: body['model'] ?? '',
      tier: askedTier(body, message),
      settings: echoSettings(body),
      origins,
    },
  };
}

function ownTools(body: JsonObject): ToolList[] {
  const tools = body['tools'] ?? null;
  if (tools === null) return [];
  if (!Array.isArray(tools)) throw wrongField('tools', 'Input should be a valid list');
  return [{ tools, path: 'tools' }];
}

function readInstructions(instructions: JsonValue): Placed[] {
  return instructions === null ? [] : textBlock(requireText(instructions, 'instructions'), 'instructions');
}

function sameFields(body: JsonObject): JsonObject {
  const same = givenFields(body, SAME_FIELDS);
  const limit = body['max_output_tokens'] ?? null;
  return limit === null ? same : { ...same, max_tokens: limit };
}

interface RequestedReasoning extends AskedEffort {
  isShown: boolean;
}

/** A later `configuration_update` replaces members. A summary without an effort asks for thinking as well. */
function readReasoning(body: JsonObject, items: readonly InputItem[]): RequestedReasoning {
  const updates = items.filter(({ type }) => type === 'configuration_update').map(({ item }) => item['reasoning']);
  const settings: JsonObject = {};
  for (const update of [body['reasoning'], ...updates]) if (isJsonObject(update)) Object.assign(settings, update);
  const { effort, summary, generate_summary } = settings;
  const isShown = isRequested(summary) || isRequested(generate_summary);
  const none = { effort: null, thinking: isShown ? ON : null, field: 'reasoning' };
  return { ...((effort ?? null) === null ? none : readEffortWord(effort, 'reasoning.effort')), isShown };
}

function isRequested(summary: JsonValue | undefined): boolean {
  return (summary ?? null) !== null && summary !== 'none';
}
