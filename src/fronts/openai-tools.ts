// Functions and tool choices of OpenAI's clients. A choice of some tools is made by sending only those.

import { type Placed, requireObject } from '../protocols/placed.ts';
import { OPENAI_CHOICES, typeOfChoice } from '../protocols/tool-choice.ts';
import { type JsonObject, type JsonValue, jsonObjects, requireToolName, wrongField } from '../wire/wire.ts';

/** A function as a tool. Throws invalid_request. */
export function describeFunction(described: JsonObject, path: string): Placed {
  const { description, parameters, input_schema, strict } = described;
  const name = requireToolName(described['name'], `${path}.name`);
  const schema = requireObject(parameters ?? input_schema ?? {}, `${path}.parameters`);
  const block = {
    name,
    ...(typeof description === 'string' && { description }),
    input_schema: schema['type'] === undefined ? { type: 'object', ...schema } : schema,
    ...(strict === true && { strict }),
  };
  return { block, path };
}

export interface Choice {
  /** `tool_choice` of the Messages request; null: the default. */
  member: JsonObject | null;
  isDemand: boolean;
  /** Names that may be called; null: all. */
  allowed: ReadonlySet<string> | null;
}

export const USUAL: Choice = { member: null, isDemand: false, allowed: null };

/** null for anything but a mode's name. */
export function findMode(name: JsonValue | undefined): Choice | null {
  const type = typeOfChoice(name, OPENAI_CHOICES);
  return type === null ? null : { ...USUAL, member: { type }, isDemand: type === 'any' };
}

export function demand(name: string): Choice {
  return { ...USUAL, member: { type: 'tool', name }, isDemand: true };
}

/** The choice of some tools, from an object with `mode` and `tools` at `path`. Throws invalid_request. */
export function readAllowed(
  { mode, tools }: JsonObject,
  path: string,
  nameIn: (tool: JsonObject, path: string) => string,
): Choice {
  if (mode !== 'auto' && mode !== 'required') throw wrongField(`${path}.mode`, "Input should be 'auto' or 'required'");
  const allowed = jsonObjects(tools).map((tool, index) => nameIn(tool, `${path}.tools.${index}`));
  if (allowed.length === 0) throw wrongField(`${path}.tools`, 'Input should name at least one tool');
  return { ...(findMode(mode) as Choice), allowed: new Set(allowed) };
}

interface ChosenTools {
  /** `tools` and `tool_choice` of the Messages request, if any. */
  members: JsonObject;
  origins: string[];
}

/** Throws invalid_request. `allowedPath` is the place of the choice of some. */
export function chooseTools(
  tools: readonly Placed[],
  { member, isDemand, allowed }: Choice,
  isSingle: boolean,
  allowedPath: string,
): ChosenTools {
  if (tools.length === 0) {
    if (isDemand) throw wrongField('tool_choice', 'there are no `tools` to choose from');
    return { members: {}, origins: [] };
  }
  const kept = tools.filter(({ block }) => allowed === null || allowed.has(block['name'] as string));
  if (kept.length === 0) throw wrongField(`${allowedPath}.tools`, 'none of them is in `tools`');
  return {
    members: { tools: kept.map(({ block }) => block), ...choiceMember(member, isSingle) },
    origins: kept.map(({ path }) => path),
  };
}

function choiceMember(member: JsonObject | null, isSingle: boolean): JsonObject {
  if (!isSingle || member?.['type'] === 'none') return member === null ? {} : { tool_choice: member };
  return { tool_choice: { ...(member ?? { type: 'auto' }), disable_parallel_tool_use: true } };
}
