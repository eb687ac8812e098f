// Tools and how they may be called. The provider's names are shorter than the protocol's may be: a long one is
// replaced by one made of it, the same in every turn, and given back under its own. Pure.

import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { findClientTool } from '../client-tools.ts';
import { gatherTools } from '../gather-tools.ts';
import { isStrictSchema } from '../is-strict-schema.ts';
import { refuseField } from '../refuse-field.ts';

const NAME_CHARACTERS_MAX = 64;
const MARK_CHARACTERS = 12; // of a hash, so that two names do not become one

/** The name of a tool at the provider. */
export function convertToolName(name: string): string {
  if (name.length <= NAME_CHARACTERS_MAX && /^[\w-]+$/.test(name)) return name;
  const mark = createHash('sha256').update(name).digest('hex').slice(0, MARK_CHARACTERS);
  return `${name.replaceAll(/[^\w-]/g, '_').slice(0, NAME_CHARACTERS_MAX - MARK_CHARACTERS - 1)}_${mark}`;
}

/** Name at the provider → the caller's, of the tools whose names had to be replaced. */
export function replacedToolNames(body: JsonObject): ReadonlyMap<string, string> {
  const names = gatherTools(body).flatMap(({ tool: { name } }) => (typeof name === 'string' ? [name] : []));
  return new Map(
    names.map((name): [string, string] => [convertToolName(name), name]).filter(([theirs, ours]) => theirs !== ours),
  );
}

/** `tools`, `tool_choice` and `parallel_tool_calls`, as far as the request has any. Throws ProviderFault (rejected). */
export function convertTools(body: JsonObject): JsonObject {
  const tools = gatherTools(body).map(({ tool, path }) => convertTool(tool, path));
  const choice = isJsonObject(body['tool_choice']) ? body['tool_choice'] : {};
  const isDemanded = choice['type'] === 'any' || choice['type'] === 'tool';
  if (tools.length === 0) return isDemanded ? refuseField('tool_choice', 'there are no tools to choose from') : {};
  return {
    tools,
    ...present('tool_choice', convertChoice(choice)),
    ...(choice['disable_parallel_tool_use'] === true && { parallel_tool_calls: false }),
  };
}

function convertTool(tool: JsonObject, path: string): JsonObject {
  const { name, type, description, input_schema: schema } = tool;
  if (typeof name !== 'string' || name === '') return refuseType(tool, path);
  const known = findClientTool(type);
  if (known !== null) return makeFunction(name, known.description, known.parameters, false);
  if ((type ?? 'custom') !== 'custom') return refuseType(tool, path);
  const parameters = isJsonObject(schema) ? schema : {};
  // By default the provider takes every schema as strict, and refuses those that are not.
  const isStrict = tool['strict'] === true && isStrictSchema(parameters);
  return makeFunction(name, description, parameters, isStrict);
}

function makeFunction(
  name: string,
  description: JsonValue | undefined,
  parameters: JsonObject,
  strict: boolean,
): JsonObject {
  return {
    type: 'function',
    name: convertToolName(name),
    ...(typeof description === 'string' && { description }),
    parameters: completeSchema(parameters),
    strict,
  };
}

/** Keys stay in their order, which matters to models and to what the provider keeps of a prompt. */
function completeSchema(schema: JsonObject): JsonObject {
  const typed = 'type' in schema ? schema : { type: 'object', ...schema };
  return isJsonObject(typed['properties']) ? typed : { ...typed, properties: {} };
}

function refuseType({ type }: JsonObject, path: string): never {
  return refuseField(path, `the provider of this model has no tool of the type "${String(type ?? 'custom')}"`);
}

function convertChoice({ type, name }: JsonObject): JsonValue | undefined {
  switch (type) {
    case 'auto':
    case 'none':
      return type;
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', name: convertToolName(typeof name === 'string' ? name : '') };
    default:
      return undefined;
  }
}

function present(name: string, value: JsonValue | undefined): JsonObject {
  return value === undefined ? {} : { [name]: value };
}
