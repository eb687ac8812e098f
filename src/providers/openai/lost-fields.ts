// What this protocol cannot say, as lists: what is refused before anything is sent, because its silent loss would
// change what was asked for, and what is left out, because only a hint is lost. docs/providers.md has both.

import type { JsonObject } from '../../wire/wire.ts';
import { refuseAsked, refuseField } from '../refuse-field.ts';

/** Fields that are refused wherever they ask for anything, and why. */
export const REFUSED_FIELDS: Readonly<Record<string, string>> = {
  mcp_servers: 'the provider of this model is not given servers of tools',
  container: 'the provider of this model has no containers',
  compaction: 'the provider of this model does not summarize conversations',
};

/** Fields that are left out, as is every one that nobody here knows. */
export const DROPPED_FIELDS: readonly string[] = [
  'cache_control',
  'context_management',
  'diagnostics',
  'inference_geo',
  'safeguards',
  'service_tier',
  'tags',
  'top_k',
];

/** Members of content blocks and tools that are left out. */
export const DROPPED_MEMBERS: readonly string[] = [
  'allowed_callers',
  'cache_control',
  'citations',
  'defer_loading',
  'eager_input_streaming',
  'input_examples',
  'transformations',
];

/** Throws ProviderFault (rejected) for the first field that asks for what cannot be had. */
export function refuseFields(body: JsonObject): void {
  refuseAsked(body, REFUSED_FIELDS);
  if (body['speed'] === 'fast') refuseField('speed', 'the provider of this model has no fast mode');
}
