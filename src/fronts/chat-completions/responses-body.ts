// Bodies of Responses, which Cursor sends to this path for models with names of OpenAI
// (https://github.com/gabrii/Cursor-Azure-GPT-5/issues/69). They are read by that front and answered in this protocol.

import { isExactObject } from '../../protocols/placed.ts';
import { type JsonObject, type JsonValue, jsonObjects, objectOf, wrongField } from '../../wire/wire.ts';
import { isOfChat } from '../chat-messages.ts';
import { findMode } from '../openai-tools.ts';
import { refuseFields } from '../request-fields.ts';
import { RESPONSE_FIELDS, type ResponseTerms, readResponses } from '../responses/responses.ts';
import { REFUSED_FIELDS, TRANSLATED_FIELDS } from './chat-fields.ts';
import {
  type ConvertedRequest,
  maxTokensMember,
  sameFields,
  spokenMember,
  stopMember,
  usagePlace,
} from './chat-request.ts';
import { readSystem } from './convert-conversation.ts';
import { type CustomTools, forbidsParallel } from './convert-tools.ts';

interface List {
  /** The member of the body. */
  name: 'input' | 'messages';
  /** Its elements are items of Responses, not messages. */
  hasItems: boolean;
}

/**
 * Where the conversation is. What its elements are is decided by what only one of the two protocols has, then by the name. In
 * a list of both, messages are read among items.
 */
export function findList({ input = null, messages = null }: JsonObject): List {
  const isInput = input !== null && (messages === null || (Array.isArray(messages) && messages.length === 0));
  const name = isInput ? 'input' : 'messages';
  const elements = jsonObjects(isInput ? input : messages);
  return { name, hasItems: elements.some(isItem) || (isInput && !elements.some(isOfChat)) };
}

function isItem({ role = null, type }: JsonObject): boolean {
  return role === null && typeof type === 'string';
}

/** Fields of Chat Completions that have another name beside items of Responses, and that name. */
const RENAMED: readonly [name: string, root: string, instead: string][] = [
  ['function_call', 'tool_choice', 'tool_choice'],
  ['functions', 'tools', 'tools'],
  ['reasoning_effort', 'reasoning', 'reasoning.effort'],
  ['response_format', 'text', 'text.format'],
];

/** Fields that keep their names beside items, such as `stop`, are read as in other requests. Throws as `convertRequest`. */
export function convertResponsesBody(body: JsonObject, listName: string): ConvertedRequest {
  refuseFields(body, REFUSED_FIELDS);
  for (const [name, root, instead] of RENAMED)
    if ((body[name] ?? null) !== null && (body[root] ?? null) === null)
      throw wrongField(name, `a request with items of Responses has \`${instead}\` instead`);
  const { message, terms } = readResponses({ ...asResponses(body), input: body[listName] ?? null }, listName);
  const fields = new Map(terms.origins.fields);
  const hasLimit = (body['max_output_tokens'] ?? null) !== null;
  const { system: ofItems = [] } = message;
  const ofMessages = readSystem(body, 'system');
  const system = [...ofMessages.map(({ block }) => block), ...jsonObjects(ofItems)];
  return {
    message: {
      ...message,
      ...sameFields(body),
      ...(!hasLimit && maxTokensMember(body, fields)),
      ...stopMember(body, fields),
      ...(system.length > 0 && { system }),
      ...spokenMember(body),
    },
    terms: {
      usage: usagePlace(body['stream_options'] ?? null),
      tier: terms.tier,
      callsFunctions: false,
      customTools: formsOfCustom(terms, body['tools']),
      origins: {
        ...terms.origins,
        system: [...ofMessages.map(({ path }) => path), ...terms.origins.system],
        fields,
      },
    },
  };
}

/** `store` requests nothing of an answer in this protocol. Tools may be those of other requests of this path. */
function asResponses({ store: _, tools = null, tool_choice = null, ...rest }: JsonObject): JsonObject {
  const body = Object.fromEntries(Object.entries(rest).filter(([name]) => !isOnlyOfChat(name)));
  return {
    ...body,
    ...(tools !== null && { tools: asTools(tools) }),
    ...(tool_choice !== null && { tool_choice: asChoice(tool_choice) }),
    ...(forbidsParallel(tool_choice) && { parallel_tool_calls: false }),
  };
}

/** These fields are translated beside the others, and are not extra fields of Responses. */
function isOnlyOfChat(name: string): boolean {
  return TRANSLATED_FIELDS.has(name) && !RESPONSE_FIELDS.has(name);
}

function asTools(tools: JsonValue): JsonValue {
  return Array.isArray(tools) ? tools.map((tool) => (isExactObject(tool) ? asTool(tool) : tool)) : tools;
}

/** Those of Chat Completions are nested; those of Messages have no type, or are custom with a schema. */
function asTool(tool: JsonObject): JsonObject {
  const { type = 'function', name, input_schema } = tool;
  const nested = nestedIn(tool);
  if (name === undefined && nested !== null) {
    const { [String(type)]: _, ...rest } = tool;
    const format = objectOf(nested['format']);
    return {
      ...rest,
      ...nested,
      type,
      ...(type === 'custom' && { format: { ...format, ...objectOf(format['grammar']) } }),
    };
  }
  return { ...tool, type: type === 'custom' && isExactObject(input_schema) ? 'function' : type };
}

/** The member with the name of the type. */
function nestedIn(tool: JsonObject): JsonObject | null {
  const { type = 'function' } = tool;
  const nested = type === 'function' || type === 'custom' ? tool[type] : null;
  return isExactObject(nested) ? nested : null;
}

function asChoice(choice: JsonValue): JsonValue {
  if (!isExactObject(choice)) return choice;
  const { type = null, allowed_tools: allowed } = choice;
  if (findMode(type) !== null) return type;
  if (type === 'tool') return { ...choice, type: 'function' };
  if (type !== 'allowed_tools' || !isExactObject(allowed)) return asTool(choice);
  return { ...allowed, type, tools: asTools(allowed['tools'] ?? null) };
}

/** A call of a tool that the client nests is nested, too. */
function formsOfCustom({ called }: ResponseTerms, tools: JsonValue | undefined): CustomTools {
  const nested = new Set(
    jsonObjects(tools).map((tool) => (tool['type'] === 'custom' ? nestedIn(tool)?.['name'] : null)),
  );
  const custom = [...called].filter(([, { kind }]) => kind === 'custom');
  return new Map(custom.map(([flat, { name }]) => [flat, nested.has(name) ? 'custom' : 'function'] as const));
}
