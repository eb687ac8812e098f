// What the Messages protocol has and other protocols have no place for, in one table for all kinds: what is refused before
// anything is sent, because its silent loss would change what was asked for, and what is left out, because only a hint
// is lost. docs/providers.md has the same lists.

import type { JsonObject } from '../wire/wire.ts';
import { refuseAsked, refuseField } from './refuse-field.ts';

export interface LostFields {
  /** Fields of a request that are refused wherever they ask for anything, and why. */
  refused: Readonly<Record<string, string>>;
  /** Fields that are left out, by their path, as is every one that nobody here knows. */
  dropped: readonly string[];
}

const REFUSED = {
  mcp_servers: 'the provider of this model is not given servers of tools',
  container: 'the provider of this model has no containers',
  compaction: 'the provider of this model does not summarize conversations',
};
const DROPPED = [
  'cache_control',
  'context_management',
  'diagnostics',
  'fallbacks',
  'inference_geo',
  'safeguards',
  'tags',
] as const;

/** By the kind of provider. */
export const LOST_FIELDS = {
  openai: { refused: REFUSED, dropped: [...DROPPED, 'service_tier', 'top_k'] },
  'openai-responses': {
    refused: { stop_sequences: 'the provider of this model has no stop sequences', ...REFUSED },
    dropped: [...DROPPED, 'top_k'],
  },
  gemini: {
    refused: REFUSED,
    dropped: [
      ...DROPPED,
      'metadata',
      'service_tier',
      'output_config.task_budget',
      'tool_choice.disable_parallel_tool_use',
    ],
  },
} as const satisfies Record<string, LostFields>;

/** Members of content blocks and tools that are left out, whatever the kind. */
export const DROPPED_MEMBERS: readonly string[] = [
  'allowed_callers',
  'cache_control',
  'citations',
  'defer_loading',
  'eager_input_streaming',
  'input_examples',
  'max_characters',
  'transformations',
];

/** Throws ProviderFault (rejected) for the first field that asks for what a provider of this kind cannot do. */
export function refuseFields(body: JsonObject, kind: keyof typeof LOST_FIELDS): void {
  refuseAsked(body, LOST_FIELDS[kind].refused);
  if (body['speed'] === 'fast') refuseField('speed', 'the provider of this model has no fast mode');
}
