// Tools and the choice among them. Tools that a client runs by itself are functions, also those of a fixed schema;
// tools that only another provider can run are refused.

import { isJsonObject, type JsonObject } from '../../wire/wire.ts';
import { findClientTool } from '../client-tools.ts';
import { gatherTools } from '../gather-tools.ts';
import { refuseField } from '../refuse-field.ts';
import { nameOf, textOf } from './convert-blocks.ts';
import { sentToolName } from './convert-names.ts';
import type { Profile } from './profile.ts';

/** `tools`, `tool_choice` and `parallel_tool_calls`; nothing for a request without tools. Throws ProviderFault (rejected). */
export function convertTools(body: JsonObject, profile: Profile): JsonObject {
  const tools = gatherTools(body).map(({ tool, path }) => convertTool(tool, path, profile));
  const choice = isJsonObject(body['tool_choice']) ? body['tool_choice'] : {};
  // Who does not listen to a choice is given nothing to choose from.
  const isUnheard = choice['type'] === 'none' && !profile.demandsTools;
  if (tools.length === 0 || isUnheard) return {};
  const isSingle = profile.parallelToolCalls && choice['disable_parallel_tool_use'] === true;
  return {
    tools,
    ...convertChoice(choice, profile),
    ...(isSingle && { parallel_tool_calls: false }),
  };
}

/** The caller's own name of every tool of the request whose name was replaced, by the name that was sent. */
export function replacedToolNames(body: JsonObject): ReadonlyMap<string, string> {
  const replaced = new Map<string, string>();
  for (const { tool } of gatherTools(body)) {
    const name = textOf(tool['name']);
    if (sentToolName(name) !== name) replaced.set(sentToolName(name), name);
  }
  return replaced;
}

function convertTool(tool: JsonObject, path: string, profile: Profile): JsonObject {
  const type = tool['type'] ?? 'custom';
  const known = findClientTool(type);
  if (type !== 'custom' && known === null)
    refuseField(`${path}.type`, `the provider of this model has no tool of the type ${nameOf(tool)}`);
  const description = known?.description ?? tool['description'];
  return {
    type: 'function',
    function: {
      name: sentToolName(textOf(tool['name'])),
      ...(typeof description === 'string' && { description }),
      parameters: known?.parameters ?? convertSchema(tool['input_schema']),
      ...(profile.strictTools && tool['strict'] === true && { strict: true }),
    },
  };
}

/** The caller's own schema in its own order; what a schema of an object must have is added where it lacks. */
function convertSchema(schema: unknown): JsonObject {
  const given = isJsonObject(schema as JsonObject) ? (schema as JsonObject) : {};
  const lacks = {
    ...(given['type'] === undefined && { type: 'object' }),
    ...(!given['properties'] && { properties: {} }),
  };
  return Object.keys(lacks).length === 0 ? given : { ...given, ...lacks };
}

function convertChoice(choice: JsonObject, profile: Profile): JsonObject {
  const { type, name } = choice;
  if (type === 'none') return { tool_choice: 'none' };
  if (type !== 'any' && type !== 'tool') return type === 'auto' ? { tool_choice: 'auto' } : {};
  if (!profile.demandsTools)
    refuseField('tool_choice', 'the provider of this model cannot be made to use a tool; only "auto" and "none" work');
  if (type === 'any') return { tool_choice: 'required' };
  return { tool_choice: { type: 'function', function: { name: sentToolName(textOf(name)) } } };
}
