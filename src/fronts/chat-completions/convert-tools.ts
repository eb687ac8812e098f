// Translates tools and tool choice, also in the older `functions` form. A choice of some is made by sending only those.

import type { JsonObject, JsonValue } from '../../wire/wire.ts';
import { isJsonObject, jsonObjects, requireList, requireText, wrongField } from '../../wire/wire.ts';
import { isExactObject, type Placed, requireObject, withCacheControl } from '../placed.ts';

interface ConvertedTools {
  /** `tools` and `tool_choice` of the Messages request, if any. */
  members: JsonObject;
  origins: string[];
  /** Given as `functions`: the response uses `function_call`. */
  areFunctions: boolean;
}

export function convertTools(body: JsonObject): ConvertedTools {
  const given = requireList(body['tools'] ?? [], 'tools');
  const functions = requireList(body['functions'] ?? [], 'functions');
  if (given.length > 0 && functions.length > 0)
    throw wrongField('functions', 'cannot be combined with `tools`: send every function in `tools`');
  const areFunctions = functions.length > 0;
  const tools = areFunctions
    ? functions.map((one, index) => describeTool(requireObject(one, `functions.${index}`), `functions.${index}`))
    : given.map((one, index) => convertTool(one, `tools.${index}`));
  const ofFunctions = readFunctionChoice(body['function_call'] ?? null);
  if (ofFunctions.isDemand && !areFunctions) throw wrongField('function_call', 'there are no `functions` to call');
  const choice = areFunctions ? ofFunctions : readChoice(body['tool_choice'] ?? null);
  if (tools.length === 0) {
    if (choice.isDemand) throw wrongField('tool_choice', 'there are no `tools` to choose from');
    return { members: {}, origins: [], areFunctions };
  }
  const { allowed } = choice;
  const kept = tools.filter(({ block }) => allowed === null || allowed.includes(block['name'] as string));
  if (kept.length === 0) throw wrongField(`${ALLOWED}.tools`, 'none of them is in `tools`');
  const isSingle = areFunctions || body['parallel_tool_calls'] === false;
  return {
    members: { tools: kept.map(({ block }) => block), ...choiceMember(choice.member, isSingle) },
    origins: kept.map(({ path }) => path),
    areFunctions,
  };
}

/** Some clients write functions as in the Responses and Messages protocols, without a nested object. */
function convertTool(value: JsonValue, toolPath: string): Placed {
  const given = requireObject(value, toolPath);
  if (requireText(given['type'] ?? 'function', `${toolPath}.type`) !== 'function')
    throw wrongField(`${toolPath}.type`, "Input should be 'function'");
  const isFlat = given['function'] === undefined && typeof given['name'] === 'string';
  const path = isFlat ? toolPath : `${toolPath}.function`;
  const described = describeTool(isFlat ? given : requireObject(given['function'], path), path);
  return withCacheControl([described], given)[0] as Placed;
}

function describeTool(described: JsonObject, path: string): Placed {
  const { description, parameters, input_schema, strict } = described;
  const name = requireText(described['name'], `${path}.name`);
  const schema = requireObject(parameters ?? input_schema ?? {}, `${path}.parameters`);
  const block = {
    name,
    ...(typeof description === 'string' && { description }),
    input_schema: schema['type'] === undefined ? { type: 'object', ...schema } : schema,
    ...(strict === true && { strict }),
  };
  return { block, path };
}

interface Choice {
  /** `tool_choice` of the Messages request; null: the default. */
  member: JsonObject | null;
  isDemand: boolean;
  /** Names that may be called; null: all. */
  allowed: string[] | null;
}

const USUAL: Choice = { member: null, isDemand: false, allowed: null };
const MODES: Readonly<Record<string, Choice>> = {
  auto: { ...USUAL, member: { type: 'auto' } },
  none: { ...USUAL, member: { type: 'none' } },
  required: { ...USUAL, member: { type: 'any' }, isDemand: true },
  any: { ...USUAL, member: { type: 'any' }, isDemand: true }, // other services' name
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
  if (choice === null || choice === 'auto' || choice === 'none') return MODES[choice ?? ''] ?? USUAL;
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

function choiceMember(member: JsonObject | null, isSingle: boolean): JsonObject {
  if (!isSingle || member?.['type'] === 'none') return member === null ? {} : { tool_choice: member };
  return { tool_choice: { ...(member ?? { type: 'auto' }), disable_parallel_tool_use: true } };
}
