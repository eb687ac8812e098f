// The list of models in the form that Codex CLI reads. One invalid entry makes it ignore the whole list.

import { isWholeNumber } from '../../base/checked-number.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, textOf } from '../../wire/wire.ts';

/** Codex sends its version, and only with a list that it can read. */
export function isForCodex(query: string): boolean {
  return query.includes('client_version=');
}

export function codexModelsBody({ data }: JsonObject): string {
  return JSON.stringify({ models: jsonObjects(data).map(describeModel) });
}

const TRUNCATION_TOKENS = 10_000; // limit to which Codex shortens a tool's output
/** Replaces Codex's own system prompt for a model of this list. */
const INSTRUCTIONS = `You are Codex, a coding agent in the user's terminal. You and the user share one workspace.

- Do what the user asks, completely: read the code before you change it, make the smallest change that does the whole task, and verify it.
- Use the tools to act. Before a group of calls, say in one sentence what you do next.
- Follow AGENTS.md files of the workspace and the style of the code around your change. Do not revert changes that you did not make.
- Do not commit, push or delete anything unless the user asks for it. Ask before anything that cannot be undone.
- Answer briefly and in plain language. Name files with their paths. Say what you verified and what you could not.`;

function describeModel(model: JsonObject): JsonObject {
  const { id, display_name: displayName, max_input_tokens: inputTokens, capabilities } = model;
  const slug = textOf(id);
  return {
    slug,
    display_name: textOf(displayName) || slug,
    supported_reasoning_levels: ['low', 'medium', 'high'].map((effort) => ({ effort, description: '' })),
    default_reasoning_level: 'medium',
    shell_type: 'unified_exec',
    visibility: 'list',
    supported_in_api: true,
    priority: 1,
    support_verbosity: false,
    truncation_policy: { mode: 'tokens', limit: TRUNCATION_TOKENS },
    experimental_supported_tools: [],
    input_modalities: takesImages(capabilities) ? ['text', 'image'] : ['text'],
    base_instructions: INSTRUCTIONS,
    ...(isWholeNumber(inputTokens) && { context_window: inputTokens }),
  };
}

/** Unless every route is known and one takes none. */
function takesImages(capabilities: JsonValue | undefined): boolean {
  const images = isJsonObject(capabilities) ? capabilities['image_input'] : null;
  return !isJsonObject(images) || images['supported'] !== false;
}
