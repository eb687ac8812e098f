// Fields of a request that a provider cannot serve: refused by name, or left out and reported.

import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import { ProviderFault } from './provider.ts';

/** Throws ProviderFault (rejected). `path` is such as "messages.0.content.1.source". */
export function refuseField(path: string, sentence: string): never {
  const facts = { status: 400, errorType: 'invalid_request_error', isUnsupported: true };
  throw new ProviderFault('rejected', `${path}: ${sentence}`, facts);
}

const TYPE_CHARACTERS_MAX = 64;

/** Refuses a block or tool that the provider does not have. */
export function refuseType(what: 'block' | 'tool', type: JsonValue | undefined, path: string): never {
  const shown = String(type).slice(0, TYPE_CHARACTERS_MAX);
  refuseField(path, `a ${what} of type "${shown}" is not available for the provider of this model`);
}

/** null and empty values request nothing: clients write out unset members. */
export function requests(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isJsonObject(value)) return Object.keys(value).length > 0;
  return (value ?? null) !== null && value !== '';
}

export interface LostFields {
  /** Fields that are refused if they request anything, with the reason. */
  refused: Readonly<Record<string, string>>;
  /** Fields that are dropped, by path, as are all unknown ones. */
  dropped: readonly string[];
}

/** Members that the answer depends on, with the reason for which providers without them refuse them. */
export const REFUSED = {
  mcp_servers: 'the provider of this model does not support MCP servers',
  container: 'the provider of this model has no containers',
  compaction: 'the provider of this model does not support compaction',
};
const DROPPED = [
  'billing_policy',
  'cache_control',
  'context_management',
  'diagnostics',
  'fallback_credit_token',
  'inference_geo',
  'safeguards',
  'tags',
] as const;

const DISABLE_PARALLEL = 'tool_choice.disable_parallel_tool_use';

export const LOST_FIELDS = {
  openai: { refused: REFUSED, dropped: [...DROPPED, 'service_tier', 'top_k'] },
  'openai-responses': {
    refused: { stop_sequences: 'the provider of this model has no stop sequences', ...REFUSED },
    dropped: [...DROPPED, 'top_k'],
  },
  gemini: {
    refused: REFUSED,
    dropped: [...DROPPED, 'metadata', 'service_tier', 'output_config.task_budget', DISABLE_PARALLEL],
  },
  bedrock: {
    refused: REFUSED,
    dropped: [...DROPPED, 'metadata', 'service_tier', 'top_k', 'output_config.task_budget', DISABLE_PARALLEL],
  },
} as const satisfies Record<string, LostFields>;

/** Members of content blocks and tools that are dropped, for every kind. */
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

/** Throws ProviderFault (rejected) for the first field that a provider of this kind cannot support. */
export function refuseFields(body: JsonObject, kind: keyof typeof LOST_FIELDS): void {
  for (const [name, sentence] of Object.entries(LOST_FIELDS[kind].refused))
    if (requests(body[name])) refuseField(name, sentence);
}

const PASSED: readonly (string | undefined)[] = ['https:', 'http:', 'data:'];

/** The URL as given. Throws ProviderFault (rejected) for other schemes, such as file. */
export function passAddress(url: JsonValue | undefined, path: string): string {
  if (typeof url === 'string' && PASSED.includes(URL.parse(url)?.protocol)) return url;
  return refuseField(path, 'the provider of this model accepts only https:// and http:// URLs');
}
