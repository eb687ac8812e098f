// Bodies of Responses, which Cursor sends to this path for models with names of OpenAI
// (https://github.com/gabrii/Cursor-Azure-GPT-5/issues/69). They are read by that front and answered in this protocol.

import { type JsonObject, jsonObjects, wrongField } from '../../wire/wire.ts';
import { isExactObject } from '../placed.ts';
import { refuseFields } from '../refused-fields.ts';
import { RESPONSE_FIELDS, readResponses } from '../responses/responses.ts';
import { REFUSED_FIELDS, TRANSLATED_FIELDS } from './chat-fields.ts';
import { type ConvertedRequest, maxTokensMember, sameFields, stopMember, usagePlace } from './chat-request.ts';

/** Whether it has `input` in place of messages. */
export function isResponsesBody({ input = null, messages = null }: JsonObject): boolean {
  return input !== null && (messages === null || (Array.isArray(messages) && messages.length === 0));
}

/** Fields of Chat Completions that have another name beside `input`, and that name. */
const RENAMED: readonly [name: string, root: string, instead: string][] = [
  ['function_call', 'tool_choice', 'tool_choice'],
  ['functions', 'tools', 'tools'],
  ['reasoning_effort', 'reasoning', 'reasoning.effort'],
  ['response_format', 'text', 'text.format'],
];

/** Fields that keep their names beside `input`, such as `stop`, are read as in other requests. Throws as `convertRequest`. */
export function convertResponsesBody(body: JsonObject): ConvertedRequest {
  refuseFields(body, REFUSED_FIELDS);
  for (const [name, root, instead] of RENAMED)
    if ((body[name] ?? null) !== null && (body[root] ?? null) === null)
      throw wrongField(name, `a request with \`input\` has \`${instead}\` instead`);
  const { message, terms } = readResponses(asResponses(body));
  const fields = new Map(terms.origins.fields);
  const hasLimit = (body['max_output_tokens'] ?? null) !== null;
  return {
    message: {
      ...message,
      ...sameFields(body),
      ...(!hasLimit && maxTokensMember(body, fields)),
      ...stopMember(body, fields),
    },
    terms: {
      usage: usagePlace(body['stream_options'] ?? null),
      callsFunctions: false,
      customTools: new Map(
        [...terms.called].filter(([, { kind }]) => kind === 'custom').map(([name]) => [name, 'function'] as const),
      ),
      origins: { ...terms.origins, fields },
    },
  };
}

/** `store` requests nothing of an answer in this protocol. Tools may be nested as in other requests of this path. */
function asResponses({ store: _, tools = null, tool_choice = null, ...rest }: JsonObject): JsonObject {
  const body = Object.fromEntries(Object.entries(rest).filter(([name]) => !isOnlyOfChat(name)));
  const { function: chosen } = isExactObject(tool_choice) ? tool_choice : {};
  return {
    ...body,
    ...(tools !== null && { tools: Array.isArray(tools) ? tools.map((tool) => flatten(tool)) : tools }),
    ...(tool_choice !== null && { tool_choice: isExactObject(chosen) ? { type: 'function', ...chosen } : tool_choice }),
  };
}

/** These fields are translated beside the others, and are not extra fields of Responses. */
function isOnlyOfChat(name: string): boolean {
  return TRANSLATED_FIELDS.has(name) && !RESPONSE_FIELDS.has(name);
}

function flatten<Value>(tool: Value): Value | JsonObject {
  const [{ name, function: inner, ...rest } = {}] = jsonObjects([tool as JsonObject]);
  return name === undefined && isExactObject(inner) ? { ...rest, ...inner } : tool;
}
