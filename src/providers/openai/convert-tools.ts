// Tools and the choice among them. Tools that a client runs by itself are functions, also those of a fixed schema;
// tools that only another provider can run are refused.

import { isJsonObject, type JsonObject, jsonObjects } from '../../wire/wire.ts';
import { refuseField } from '../refuse-field.ts';
import { nameOf, textOf } from './convert-blocks.ts';
import { sentToolName } from './convert-names.ts';
import type { Profile } from './profile.ts';

const text = { type: 'string' };
const line = { type: 'integer' };
const lineRange = { type: 'array', items: line, minItems: 2, maxItems: 2 };
const objectOf = (required: string[], properties: JsonObject): JsonObject => ({ type: 'object', properties, required });
const commandOf = (...commands: string[]): JsonObject => ({ type: 'string', enum: commands });

const editing = { path: text, file_text: text, old_str: text, new_str: text, insert_line: line, view_range: lineRange };

/** What a client runs by itself of a fixed schema, by the beginning of its type. */
const CLIENT_TOOLS: readonly { type: string; description: string; schema: JsonObject }[] = [
  {
    type: 'bash_',
    description: 'Runs a command in a persistent bash session, or restarts the session.',
    schema: objectOf([], { command: text, restart: { type: 'boolean' } }),
  },
  {
    type: 'text_editor_20250124',
    description: 'Views, creates and edits files.',
    schema: objectOf(['command', 'path'], {
      command: commandOf('view', 'create', 'str_replace', 'insert', 'undo_edit'),
      ...editing,
    }),
  },
  {
    type: 'text_editor_20241022',
    description: 'Views, creates and edits files.',
    schema: objectOf(['command', 'path'], {
      command: commandOf('view', 'create', 'str_replace', 'insert', 'undo_edit'),
      ...editing,
    }),
  },
  {
    type: 'text_editor_',
    description: 'Views, creates and edits files.',
    schema: objectOf(['command', 'path'], {
      command: commandOf('view', 'create', 'str_replace', 'insert'),
      ...editing,
      insert_text: text,
    }),
  },
  {
    type: 'memory_',
    description: 'Keeps notes in files below /memories, for later conversations.',
    schema: objectOf(['command'], {
      command: commandOf('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
      ...editing,
      insert_text: text,
      old_path: text,
      new_path: text,
    }),
  },
];

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

interface PlacedTool {
  tool: JsonObject;
  path: string;
}

/** The tools of the request and those that a message adds in the middle of the conversation. */
function gatherTools(body: JsonObject): PlacedTool[] {
  const tools = jsonObjects(body['tools']).map((tool, index) => ({ tool, path: `tools.${index}` }));
  const names = new Set(tools.map(({ tool }) => tool['name']));
  for (const [index, { role, content }] of jsonObjects(body['messages']).entries()) {
    if (role !== 'system') continue;
    for (const [place, block] of jsonObjects(content).entries()) {
      const added = isJsonObject(block['tool']) ? block['tool']['definition'] : undefined;
      if (block['type'] !== 'tool_addition' || !isJsonObject(added) || names.has(added['name'])) continue;
      names.add(added['name']);
      tools.push({ tool: added, path: `messages.${index}.content.${place}.tool.definition` });
    }
  }
  return tools;
}

function convertTool(tool: JsonObject, path: string, profile: Profile): JsonObject {
  const type = tool['type'] ?? 'custom';
  const known = CLIENT_TOOLS.find((client) => typeof type === 'string' && type.startsWith(client.type));
  if (type !== 'custom' && known === undefined)
    refuseField(`${path}.type`, `the provider of this model has no tool of the type ${nameOf(tool)}`);
  const description = known?.description ?? tool['description'];
  return {
    type: 'function',
    function: {
      name: sentToolName(textOf(tool['name'])),
      ...(typeof description === 'string' && { description }),
      parameters: known?.schema ?? convertSchema(tool['input_schema']),
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
