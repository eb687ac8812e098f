// Functions and the choice among them. A choice of some is made by sending no others.

import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, wrongField } from '../wire/wire.ts';
import { requireObject, requireText } from './convert-parts.ts';

export interface ConvertedTools {
  /** `tools` and `tool_choice` of the Messages request, where there are any. */
  members: JsonObject;
  /** Where each of the tools comes from. */
  origins: string[];
}

/** Throws invalid_request. */
export function convertTools(body: JsonObject): ConvertedTools {
  const given = body['tools'] ?? [];
  if (!Array.isArray(given)) throw wrongField('tools', 'Input should be a valid list');
  const tools = given.map((tool, index) => convertTool(tool, `tools.${index}`));
  const choice = readChoice(body['tool_choice'] ?? null);
  if (tools.length === 0) {
    if (choice.isDemand) throw wrongField('tool_choice', 'there are no `tools` to choose from');
    return { members: {}, origins: [] };
  }
  const places = tools.map((_tool, index) => index).filter((index) => isAllowed(tools[index]?.['name'], choice));
  return {
    members: {
      tools: places.map((index) => tools[index] as JsonObject),
      ...choiceMember(choice.member, body['parallel_tool_calls'] === false),
    },
    origins: places.map((index) => `tools.${index}.function`),
  };
}

function convertTool(value: JsonValue, path: string): JsonObject {
  const tool = requireObject(value, path);
  if (requireText(tool['type'] ?? 'function', `${path}.type`) !== 'function')
    throw wrongField(`${path}.type`, "Input should be 'function'");
  const described = requireObject(tool['function'], `${path}.function`);
  const { description, parameters, strict } = described;
  const name = requireText(described['name'], `${path}.function.name`);
  const schema = requireObject(parameters ?? {}, `${path}.function.parameters`);
  const control = tool['cache_control'];
  return {
    name,
    ...(typeof description === 'string' && { description }),
    input_schema: schema['type'] === undefined ? { type: 'object', ...schema } : schema,
    ...(strict === true && { strict }),
    ...(isJsonObject(control) && { cache_control: control }),
  };
}

interface Choice {
  /** `tool_choice` of the Messages request; null: what is usual. */
  member: JsonObject | null;
  /** Something has to be called. */
  isDemand: boolean;
  /** The names that may be called; null: all. */
  allowed: string[] | null;
}

function readChoice(choice: JsonValue): Choice {
  const usual: Choice = { member: null, isDemand: false, allowed: null };
  if (choice === null) return usual;
  if (choice === 'auto') return { ...usual, member: { type: 'auto' } };
  if (choice === 'none') return { ...usual, member: { type: 'none' } };
  if (choice === 'required') return { ...usual, member: { type: 'any' }, isDemand: true };
  if (!isJsonObject(choice)) throw wrongField('tool_choice', "Input should be 'none', 'auto', 'required' or an object");
  if (choice['type'] === 'function') {
    const name = nameIn(choice, 'tool_choice');
    return { ...usual, member: { type: 'tool', name }, isDemand: true };
  }
  if (choice['type'] === 'allowed_tools') return readAllowed(requireObject(choice['allowed_tools'], ALLOWED));
  throw wrongField('tool_choice.type', "Input should be 'function' or 'allowed_tools'");
}

const ALLOWED = 'tool_choice.allowed_tools';

function readAllowed(allowed: JsonObject): Choice {
  const { mode, tools } = allowed;
  if (mode !== 'auto' && mode !== 'required')
    throw wrongField(`${ALLOWED}.mode`, "Input should be 'auto' or 'required'");
  const names = jsonObjects(tools).map((tool, index) => nameIn(tool, `${ALLOWED}.tools.${index}`));
  if (names.length === 0) throw wrongField(`${ALLOWED}.tools`, 'Input should name at least one tool');
  const isDemand = mode === 'required';
  return { member: { type: isDemand ? 'any' : 'auto' }, isDemand, allowed: names };
}

function nameIn(choice: JsonObject, path: string): string {
  return requireText(requireObject(choice['function'], `${path}.function`)['name'], `${path}.function.name`);
}

function isAllowed(name: JsonValue | undefined, { allowed }: Choice): boolean {
  return allowed === null || (typeof name === 'string' && allowed.includes(name));
}

function choiceMember(member: JsonObject | null, isSingle: boolean): JsonObject {
  if (!isSingle || member?.['type'] === 'none') return member === null ? {} : { tool_choice: member };
  return { tool_choice: { ...(member ?? { type: 'auto' }), disable_parallel_tool_use: true } };
}
