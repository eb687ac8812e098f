// The tools of the Messages protocol that the caller runs and whose form the model of its vendor knows: for
// another model, functions with that form.

import type { JsonObject } from '../../wire/wire.ts';

const text: JsonObject = { type: 'string' };
const line: JsonObject = { type: 'integer' };
const lines: JsonObject = { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 };

const bash: JsonObject = {
  description: 'Runs a command in a persistent shell, or restarts the shell.',
  input_schema: { type: 'object', properties: { command: text, restart: { type: 'boolean' } } },
};

function editor(commands: string[], more: JsonObject): JsonObject {
  const properties: JsonObject = {
    command: { type: 'string', enum: commands },
    path: text,
    view_range: lines,
    file_text: text,
    old_str: text,
    new_str: text,
    insert_line: line,
    ...more,
  };
  return {
    description: 'Views, creates and edits text files.',
    input_schema: { type: 'object', properties, required: ['command', 'path'] },
  };
}

const memory: JsonObject = {
  description: 'Keeps files in a memory directory, /memories, that outlasts the conversation.',
  input_schema: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      path: text,
      view_range: lines,
      file_text: text,
      old_str: text,
      new_str: text,
      insert_line: line,
      insert_text: text,
      old_path: text,
      new_path: text,
    },
    required: ['command'],
  },
};

const EDITS = ['view', 'create', 'str_replace', 'insert'];

/** By the beginning of the tool's type; the first that fits is the tool. */
const CLIENT_TOOLS: readonly [prefix: string, tool: JsonObject][] = [
  ['bash_', bash],
  ['text_editor_20241022', editor([...EDITS, 'undo_edit'], {})],
  ['text_editor_20250124', editor([...EDITS, 'undo_edit'], {})],
  ['text_editor_', editor(EDITS, { insert_text: text })],
  ['memory_', memory],
];

/** The description and schema of a tool of this type, or null when it is not one that the caller runs so. */
export function findClientTool(type: string): JsonObject | null {
  return CLIENT_TOOLS.find(([prefix]) => type.startsWith(prefix))?.[1] ?? null;
}
