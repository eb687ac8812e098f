// Tools that a client runs and names only by type. Only their vendor's models know the schemas: others are sent them.

import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, objectOf } from '../wire/wire.ts';
import { refuseField, refuseType } from './lost-fields.ts';
import { REQUEST_RULES, type RequestRules } from './request-rules.ts';

interface ClientTool {
  description: string;
  parameters: JsonObject;
}

const string = (description: string): JsonObject => ({ type: 'string', description });
const integer = (description: string): JsonObject => ({ type: 'integer', description });
const range = { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 };

const BASH: ClientTool = {
  description: 'Runs a command in a bash session that persists between calls.',
  parameters: {
    type: 'object',
    properties: {
      command: string('The command to run. Required unless restart is true.'),
      restart: { type: 'boolean', description: 'True to start a new session.' },
    },
  },
};

function editor(commands: readonly string[], insertedText: string): ClientTool {
  return {
    description: 'Views, creates and edits text files.',
    parameters: {
      type: 'object',
      properties: {
        command: { type: 'string', enum: [...commands] },
        path: string('The path of the file or directory.'),
        view_range: { ...range, description: 'For view: the first and last line, counted from 1; -1 is the end.' },
        file_text: string('For create: the content of the file.'),
        old_str: string('For str_replace: the text to replace, which must occur exactly once in the file.'),
        new_str: string('For str_replace: the replacement text.'),
        insert_line: integer('For insert: the line after which to insert the text; 0 inserts at the beginning.'),
        [insertedText]: string('For insert: the text. For str_replace: see new_str.'),
      },
      required: ['command', 'path'],
    },
  };
}

const MEMORY: ClientTool = {
  description: 'Reads and writes files in a memory under /memories that outlasts the conversation.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      path: string('The path of the file or directory, for every command except rename.'),
      view_range: { ...range, description: 'For view: the first and last line, counted from 1.' },
      file_text: string('For create: the content of the file.'),
      old_str: string('For str_replace: the text to replace.'),
      new_str: string('For str_replace: the replacement text.'),
      insert_line: integer('For insert: the line after which to insert the text.'),
      insert_text: string('For insert: the text.'),
      old_path: string('For rename: the current path.'),
      new_path: string('For rename: the new path.'),
    },
    required: ['command'],
  },
};

const EDITING = ['view', 'create', 'str_replace', 'insert'];

/** By prefix of the type; the first match applies. */
const CLIENT_TOOLS: readonly [type: string, tool: ClientTool][] = [
  ['bash_', BASH],
  ['text_editor_20241022', editor([...EDITING, 'undo_edit'], 'new_str')],
  ['text_editor_20250124', editor([...EDITING, 'undo_edit'], 'new_str')],
  ['text_editor_20250429', editor(EDITING, 'new_str')],
  ['text_editor_', editor(EDITING, 'insert_text')],
  ['memory_', MEMORY],
];

export function findClientTool(type: JsonValue | undefined): ClientTool | null {
  if (typeof type !== 'string') return null;
  return CLIENT_TOOLS.find(([beginning]) => type.startsWith(beginning))?.[1] ?? null;
}

/** A tool as a function; one that is named only by its type gets what is known of it. Throws ProviderFault (rejected). */
export function readFunction(
  { type, name, description, input_schema }: JsonObject,
  path: string,
): { name: string; description: JsonValue | undefined; schema: JsonValue | undefined } {
  const known = findClientTool(type);
  if (known === null && typeof type === 'string' && type !== 'custom') refuseType('tool', type, `${path}.type`);
  if (typeof name !== 'string' || name === '') return refuseField(`${path}.name`, 'Field required');
  return { name, description: known?.description ?? description, schema: known?.parameters ?? input_schema };
}

/** Each name once, in order, with its path in the request, such as "tools.0". */
export function gatherTools(body: JsonObject): { tool: JsonObject; path: string }[] {
  const tools = jsonObjects(body['tools']).map((tool, index) => ({ tool, path: `tools.${index}` }));
  const names = new Set(tools.map(({ tool }) => tool['name']));
  for (const [index, { role, content }] of jsonObjects(body['messages']).entries()) {
    if (role !== 'system') continue;
    for (const [place, block] of jsonObjects(content).entries()) {
      const added = objectOf(block['tool'])['definition'];
      if (block['type'] !== 'tool_addition' || !isJsonObject(added) || names.has(added['name'])) continue;
      names.add(added['name']);
      tools.push({ tool: added, path: `messages.${index}.content.${place}.tool.definition` });
    }
  }
  return tools;
}

const NAME_KEPT_CHARACTERS = 51; // with "_" and a digest of 12 characters at most 64

/** The name at a provider: the same where it has the form, else a deterministic replacement. */
export function shortenToolName(
  name: string,
  { toolName: { form, prefix } }: NameRules = REQUEST_RULES.openai,
): string {
  if (form.test(name)) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 12);
  const kept = (prefix + name.replaceAll(/[^\w-]/g, '_')).slice(0, NAME_KEPT_CHARACTERS);
  return `${kept}_${digest}`;
}

type NameRules = Pick<RequestRules, 'toolName'>;

/** Tool name at the provider → tool name of the client, for tools that get another name there. */
export function replacedToolNames(
  body: JsonObject,
  rules: NameRules = REQUEST_RULES.openai,
): ReadonlyMap<string, string> {
  const names = gatherTools(body).flatMap(({ tool: { name } }) => (typeof name === 'string' ? [name] : []));
  const replaced = names.map((name) => [shortenToolName(name, rules), name] as const);
  return new Map(replaced.filter(([sent, name]) => sent !== name));
}
