// Translates tools and tool choice, also in the older `functions` form. A choice of some is made by sending only those.

import { describeCustom } from '../../protocols/custom-tool.ts';
import { isExactObject, type Placed, requireObject, withCacheControl } from '../../protocols/placed.ts';
import type { JsonObject, JsonValue } from '../../wire/wire.ts';
import { isJsonObject, objectOf, requireList, requireText, requireToolName, wrongField } from '../../wire/wire.ts';
import { type Choice, chooseTools, demand, describeFunction, findMode, readAllowed, USUAL } from '../openai-tools.ts';

interface ConvertedTools {
  /** `tools` and `tool_choice` of the Messages request, if any. */
  members: JsonObject;
  origins: string[];
  /** Given as `functions`: the response uses `function_call`. */
  areFunctions: boolean;
  customTools: CustomTools;
}

/**
 * Tools whose input is a text, and the form of their calls in the answer: OpenAI's own, or a function whose arguments are
 * the text, where a client gives such a tool as in Responses. Cursor does, and reads no other form
 * (https://github.com/icebear0828/codex-proxy/pull/708).
 */
export type CustomTools = ReadonlyMap<string, 'custom' | 'function'>;

export function convertTools(body: JsonObject): ConvertedTools {
  const given = requireList(body['tools'] ?? [], 'tools');
  const functions = requireList(body['functions'] ?? [], 'functions');
  if (given.length > 0 && functions.length > 0)
    throw wrongField('functions', 'cannot be combined with `tools`: send every function in `tools`');
  const areFunctions = functions.length > 0;
  const customTools = new Map<string, 'custom' | 'function'>();
  const tools = areFunctions
    ? functions.map((one, index) => describeFunction(requireObject(one, `functions.${index}`), `functions.${index}`))
    : given.map((one, index) => convertTool(one, `tools.${index}`, customTools));
  const ofFunctions = readFunctionChoice(body['function_call'] ?? null);
  if (ofFunctions.isDemand && !areFunctions) throw wrongField('function_call', 'there are no `functions` to call');
  const choice = areFunctions ? ofFunctions : readChoice(body['tool_choice'] ?? null);
  const isSingle = areFunctions || body['parallel_tool_calls'] === false || forbidsParallel(body['tool_choice']);
  return { ...chooseTools(tools, choice, isSingle, ALLOWED), areFunctions, customTools };
}

/** Some clients write functions as in the Responses and Messages protocols, without a nested object. In the latter, `custom` is their type. */
function convertTool(value: JsonValue, toolPath: string, customTools: Map<string, 'custom' | 'function'>): Placed {
  const given = requireObject(value, toolPath);
  const type = requireText(given['type'] ?? 'function', `${toolPath}.type`);
  if (type === 'custom' && !isExactObject(given['input_schema'])) return convertCustom(given, toolPath, customTools);
  if (type !== 'function' && type !== 'custom')
    throw wrongField(`${toolPath}.type`, "Input should be 'function' or 'custom'");
  const isFlat = given['function'] === undefined && typeof given['name'] === 'string';
  const path = isFlat ? toolPath : `${toolPath}.function`;
  const described = describeFunction(isFlat ? given : requireObject(given['function'], path), path);
  return withCacheControl([described], given)[0] as Placed;
}

/** The grammar of a nested one is one level deeper. */
function convertCustom(given: JsonObject, toolPath: string, customTools: Map<string, 'custom' | 'function'>): Placed {
  const isNested = given['custom'] !== undefined;
  const path = isNested ? `${toolPath}.custom` : toolPath;
  const custom = isNested ? requireObject(given['custom'], path) : given;
  const name = requireToolName(custom['name'], `${path}.name`);
  customTools.set(name, isNested ? 'custom' : 'function');
  const format = objectOf(custom['format']);
  const described = describeCustom({ ...custom, format: { ...format, ...objectOf(format['grammar']) } }, name, path);
  return withCacheControl([described], given)[0] as Placed;
}

const ALLOWED = 'tool_choice.allowed_tools';

function readChoice(choice: JsonValue): Choice {
  if (choice === null) return USUAL;
  const mode = isExactObject(choice) ? choice['type'] : choice; // some clients send {"type": "auto"}
  const known = findMode(mode);
  if (known !== null) return known;
  if (!isJsonObject(choice)) throw wrongField('tool_choice', "Input should be 'none', 'auto', 'required' or an object");
  if (NAMING.includes(choice['type'] as string)) return demand(nameIn(choice, 'tool_choice'));
  if (choice['type'] === 'allowed_tools')
    return readAllowed(requireObject(choice['allowed_tools'], ALLOWED), ALLOWED, nameIn);
  throw wrongField('tool_choice.type', "Input should be 'function', 'custom' or 'allowed_tools'");
}

const NAMING: readonly string[] = ['function', 'custom', 'tool'];

/** In a choice of Messages. */
export function forbidsParallel(choice: JsonValue | undefined): boolean {
  return isJsonObject(choice) && choice['disable_parallel_tool_use'] === true;
}

function readFunctionChoice(choice: JsonValue): Choice {
  if (choice === null || choice === 'auto' || choice === 'none') return findMode(choice) ?? USUAL;
  if (!isExactObject(choice)) throw wrongField('function_call', "Input should be 'none', 'auto' or an object");
  return demand(requireText(choice['name'], 'function_call.name'));
}

function nameIn(choice: JsonObject, path: string): string {
  const member = choice['type'] === 'custom' ? 'custom' : 'function';
  if (choice[member] === undefined && (typeof choice['name'] === 'string' || choice['type'] === 'tool'))
    return requireText(choice['name'], `${path}.name`);
  return requireText(requireObject(choice[member], `${path}.${member}`)['name'], `${path}.${member}.name`);
}
