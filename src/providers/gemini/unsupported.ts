// What of the Messages protocol Gemini has no place for, as two lists: what is left out, because it only advises,
// and what is refused, because the answer would be another without it. docs/providers.md has the same lists.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { refuseField } from '../refuse-field.ts';

/** Left out without a word. `cache_control` is so wherever it stands: Gemini caches by itself. */
export const DROPPED = {
  fields: [
    'cache_control',
    'container',
    'context_management',
    'diagnostics',
    'inference_geo',
    'metadata',
    'service_tier',
    'speed',
    'tool_choice.disable_parallel_tool_use',
    'output_config.task_budget',
  ],
  blockMembers: ['cache_control', 'citations', 'image.transformations'],
  toolMembers: [
    'allowed_callers',
    'cache_control',
    'defer_loading',
    'eager_input_streaming',
    'input_examples',
    'max_characters',
    'strict',
  ],
  blocks: ['thinking (of another provider)', 'redacted_thinking'],
} as const;

/** Refused with 400 and the path of the field, before anything is sent. */
export const REFUSED = {
  fields: ['compaction', 'fallbacks', 'mcp_servers', 'speed: "fast"'],
  blocks: 'every block but text, image, document, search_result, tool_use, tool_result and thinking',
  tools: 'every tool but functions, bash, the text editor and memory',
} as const;

/** Throws ProviderFault (rejected) for a field that asks for what cannot be done. */
export function refuseFields(body: JsonObject): void {
  for (const name of REFUSED.fields) if (asksFor(body, name)) refuseField(plainName(name), WORDS);
}

const WORDS = 'is not available for the provider of this model';

function plainName(name: string): string {
  return name.split(':')[0] as string;
}

function asksFor(body: JsonObject, name: string): boolean {
  if (name === 'speed: "fast"') return body['speed'] === 'fast';
  return !isEmpty(body[name]);
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}
