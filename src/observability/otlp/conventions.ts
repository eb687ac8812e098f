// Names from the GenAI conventions of OpenTelemetry (github.com/open-telemetry/semantic-conventions-genai, status
// "development", so they may change), and names of our own. They are declared here because the package of the
// conventions exports them only as deprecated constants.

export const OPERATION = 'gen_ai.operation.name';
export const PROVIDER = 'gen_ai.provider.name';
export const REQUEST_MODEL = 'gen_ai.request.model';
export const REQUEST_STREAM = 'gen_ai.request.stream';
export const RESPONSE_MODEL = 'gen_ai.response.model';
export const FINISH_REASONS = 'gen_ai.response.finish_reasons';
export const TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';
export const INPUT_TOKENS = 'gen_ai.usage.input_tokens';
export const OUTPUT_TOKENS = 'gen_ai.usage.output_tokens';
export const CACHE_READ_TOKENS = 'gen_ai.usage.cache_read.input_tokens';
export const CACHE_CREATION_TOKENS = 'gen_ai.usage.cache_creation.input_tokens';
export const TOKEN_TYPE = 'gen_ai.token.type';
/** Name from the general conventions: https://opentelemetry.io/docs/specs/semconv/general/session/ (29 November 2026). */
export const SESSION = 'session.id';
export const AGENT = 'gen_ai.agent.id';
/** Public ids, never names: those may change, and say more than a collector has to know. */
export const ACCOUNT = 'turnpike.account_id';
export const KEY = 'turnpike.key_id';
export const PERSON = 'turnpike.person_id';
export const ERROR_TYPE = 'error.type';
export const STATUS_CODE = 'http.response.status_code';

export const CHAT = 'chat';

const PROVIDERS: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  'openai-responses': 'openai',
  gemini: 'gcp.gemini',
  bedrock: 'aws.bedrock',
  vertex: 'gcp.vertex_ai',
  foundry: 'azure.ai.inference',
};

/** The well-known name of a provider kind, or our own name. */
export function providerName(kind: string): string {
  return PROVIDERS[kind] ?? `turnpike.${kind}`;
}

/** All prompt tokens, as the conventions count them. */
export function inputTokens(record: {
  inputTokens: number;
  cacheReadTokens: number;
  cacheWrite5mTokens: number;
  cacheWrite1hTokens: number;
}): number {
  return record.inputTokens + record.cacheReadTokens + record.cacheWrite5mTokens + record.cacheWrite1hTokens;
}
