// The tools that a client runs and names by a type alone: their schemas are known to the models of one vendor only,
// so any other is told them. What a tool of a type does is the protocol's, not ours.

import type { JsonObject, JsonValue } from '../wire/wire.ts';

export interface ClientTool {
  description: string;
  parameters: JsonObject;
}

const string = (description: string): JsonObject => ({ type: 'string', description });
const integer = (description: string): JsonObject => ({ type: 'integer', description });
const range = { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 };

const BASH: ClientTool = {
  description: 'Runs a command in a bash session that lasts from call to call.',
  parameters: {
    type: 'object',
    properties: {
      command: string('The command to run. Required unless restart is true.'),
      restart: { type: 'boolean', description: 'True to begin a new session.' },
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
        view_range: { ...range, description: 'For view: the first and the last line, from 1; -1 is the end.' },
        file_text: string('For create: the content of the file.'),
        old_str: string('For str_replace: the text to replace, which stands exactly once in the file.'),
        new_str: string('For str_replace: the text that takes its place.'),
        insert_line: integer('For insert: the line after which the text goes; 0 is the beginning.'),
        [insertedText]: string('For insert: the text. For str_replace: see new_str.'),
      },
      required: ['command', 'path'],
    },
  };
}

const MEMORY: ClientTool = {
  description: 'Reads and writes files of a memory that lasts beyond the conversation, below /memories.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
      path: string('The path of the file or directory; for all but rename.'),
      view_range: { ...range, description: 'For view: the first and the last line, from 1.' },
      file_text: string('For create: the content of the file.'),
      old_str: string('For str_replace: the text to replace.'),
      new_str: string('For str_replace: the text that takes its place.'),
      insert_line: integer('For insert: the line after which the text goes.'),
      insert_text: string('For insert: the text.'),
      old_path: string('For rename: the path as it is.'),
      new_path: string('For rename: the path as it shall be.'),
    },
    required: ['command'],
  },
};

const EDITING = ['view', 'create', 'str_replace', 'insert'];

/** By the beginning of the type; the first that fits. */
const CLIENT_TOOLS: readonly [type: string, tool: ClientTool][] = [
  ['bash_', BASH],
  ['text_editor_20241022', editor([...EDITING, 'undo_edit'], 'new_str')],
  ['text_editor_20250124', editor([...EDITING, 'undo_edit'], 'new_str')],
  ['text_editor_20250429', editor(EDITING, 'new_str')],
  ['text_editor_', editor(EDITING, 'insert_text')],
  ['memory_', MEMORY],
];

/** The tool of this type; null for one that its client does not run by such a type. */
export function findClientTool(type: JsonValue | undefined): ClientTool | null {
  if (typeof type !== 'string') return null;
  return CLIENT_TOOLS.find(([beginning]) => type.startsWith(beginning))?.[1] ?? null;
}
