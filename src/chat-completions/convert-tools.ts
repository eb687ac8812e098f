// Functions and the choice among them. A choice of some is made by sending no others. What was called `functions` and
// `function_call` before there were tools is read as tools, of which one is called at a time.

import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, wrongField } from '../wire/wire.ts';
import { isExactObject, requireObject, requireText } from './convert-parts.ts';

export interface ConvertedTools {
  /** `tools` and `tool_choice` of the Messages request, where there are any. */
  members: JsonObject;
  /** Where each of the tools comes from. */
  origins: string[];
  /** They were given as `functions`, and the answer calls one as `function_call`. */
  areFunctions: boolean;
}

/** Throws invalid_request. */
export function convertTools(body: JsonObject): ConvertedTools {
  const { tools, origins, areFunctions } = readTools(body);
  const ofFunctions = readFunctionChoice(body['function_call'] ?? null);
  if (ofFunctions.isDemand && !areFunctions) throw wrongField('function_call', 'there are no `functions` to call');
  const choice = areFunctions ? ofFunctions : readChoice(body['tool_choice'] ?? null);
  if (tools.length === 0) {
    if (choice.isDemand) throw wrongField('tool_choice', 'there are no `tools` to choose from');
    return { members: {}, origins: [], areFunctions };
  }
  const places = tools.map((_tool, index) => index).filter((index) => isAllowed(tools[index]?.['name'], choice));
  if (places.length === 0) throw wrongField(`${ALLOWED}.tools`, 'none of them is one of `tools`');
  const isSingle = areFunctions || body['parallel_tool_calls'] === false;
  return {
    members: {
      tools: places.map((index) => tools[index] as JsonObject),
      ...choiceMember(choice.member, isSingle),
    },
    origins: places.map((index) => origins[index] as string),
    areFunctions,
  };
}

interface ReadTools {
  tools: JsonObject[];
  origins: string[];
  areFunctions: boolean;
}

function readTools(body: JsonObject): ReadTools {
  const given = listIn(body, 'tools');
  const functions = listIn(body, 'functions');
  if (given.length > 0 && functions.length > 0) throw wrongField('functions', 'send them as `tools`, with the others');
  if (functions.length > 0) {
    const origins = functions.map((_function, index) => `functions.${index}`);
    const tools = functions.map((one, index) => describeTool(requireObject(one, `functions.${index}`), origins[index]));
    return { tools, origins, areFunctions: true };
  }
  const tools: JsonObject[] = [];
  const origins: string[] = [];
  for (const [index, value] of given.entries()) {
    const { tool, path } = convertTool(value, `tools.${index}`);
    tools.push(tool);
    origins.push(path);
  }
  return { tools, origins, areFunctions: false };
}

function listIn(body: JsonObject, name: string): JsonValue[] {
  const list = body[name] ?? [];
  if (!Array.isArray(list)) throw wrongField(name, 'Input should be a valid list');
  return list;
}

/** Some clients write a function as the Responses and the Messages protocols have it, its members beside its type. */
function convertTool(value: JsonValue, toolPath: string): { tool: JsonObject; path: string } {
  const given = requireObject(value, toolPath);
  if (requireText(given['type'] ?? 'function', `${toolPath}.type`) !== 'function')
    throw wrongField(`${toolPath}.type`, "Input should be 'function'");
  const isFlat = given['function'] === undefined && typeof given['name'] === 'string';
  const path = isFlat ? toolPath : `${toolPath}.function`;
  const tool = describeTool(isFlat ? given : requireObject(given['function'], path), path);
  const control = given['cache_control'];
  return { tool: { ...tool, ...(isJsonObject(control) && { cache_control: control }) }, path };
}

function describeTool(described: JsonObject, path = ''): JsonObject {
  const { description, parameters, input_schema, strict } = described;
  const name = requireText(described['name'], `${path}.name`);
  const schema = requireObject(parameters ?? input_schema ?? {}, `${path}.parameters`);
  return {
    name,
    ...(typeof description === 'string' && { description }),
    input_schema: schema['type'] === undefined ? { type: 'object', ...schema } : schema,
    ...(strict === true && { strict }),
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

const USUAL: Choice = { member: null, isDemand: false, allowed: null };
const MODES: Readonly<Record<string, Choice>> = {
  auto: { ...USUAL, member: { type: 'auto' } },
  none: { ...USUAL, member: { type: 'none' } },
  required: { ...USUAL, member: { type: 'any' }, isDemand: true },
  any: { ...USUAL, member: { type: 'any' }, isDemand: true }, // as other services call it
};
const ALLOWED = 'tool_choice.allowed_tools';

function readChoice(choice: JsonValue): Choice {
  if (choice === null) return USUAL;
  const mode = isExactObject(choice) ? choice['type'] : choice; // some clients send {"type": "auto"}
  if (typeof mode === 'string' && Object.hasOwn(MODES, mode)) return MODES[mode] as Choice;
  if (!isJsonObject(choice)) throw wrongField('tool_choice', "Input should be 'none', 'auto', 'required' or an object");
  if (choice['type'] === 'function') return demand(nameIn(choice, 'tool_choice'));
  if (choice['type'] === 'allowed_tools') return readAllowed(requireObject(choice['allowed_tools'], ALLOWED));
  throw wrongField('tool_choice.type', "Input should be 'function' or 'allowed_tools'");
}

function readFunctionChoice(choice: JsonValue): Choice {
  if (choice === null) return USUAL;
  if (choice === 'auto' || choice === 'none') return MODES[choice] as Choice;
  if (!isExactObject(choice)) throw wrongField('function_call', "Input should be 'none', 'auto' or an object");
  return demand(requireText(choice['name'], 'function_call.name'));
}

function demand(name: string): Choice {
  return { ...USUAL, member: { type: 'tool', name }, isDemand: true };
}

function readAllowed(allowed: JsonObject): Choice {
  const { mode, tools } = allowed;
  if (mode !== 'auto' && mode !== 'required')
    throw wrongField(`${ALLOWED}.mode`, "Input should be 'auto' or 'required'");
  const names = jsonObjects(tools).map((tool, index) => nameIn(tool, `${ALLOWED}.tools.${index}`));
  if (names.length === 0) throw wrongField(`${ALLOWED}.tools`, 'Input should name at least one tool');
  return { ...(MODES[mode] as Choice), allowed: names };
}

function nameIn(choice: JsonObject, path: string): string {
  if (choice['function'] === undefined && typeof choice['name'] === 'string') return choice['name'];
  return requireText(requireObject(choice['function'], `${path}.function`)['name'], `${path}.function.name`);
}

function isAllowed(name: JsonValue | undefined, { allowed }: Choice): boolean {
  return allowed === null || (typeof name === 'string' && allowed.includes(name));
}

function choiceMember(member: JsonObject | null, isSingle: boolean): JsonObject {
  if (!isSingle || member?.['type'] === 'none') return member === null ? {} : { tool_choice: member };
  return { tool_choice: { ...(member ?? { type: 'auto' }), disable_parallel_tool_use: true } };
}
