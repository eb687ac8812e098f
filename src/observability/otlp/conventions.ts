// Names that the GenAI conventions of OpenTelemetry give (github.com/open-telemetry/semantic-conventions-genai,
// status "development": they still change), and our own beside them. The package of the conventions has them
// as deprecated constants of another place, so they stand here.

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
export const ERROR_TYPE = 'error.type';
export const STATUS_CODE = 'http.response.status_code';

export const CHAT = 'chat';

const PROVIDERS: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  openai: 'openai',
  'openai-responses': 'openai',
  gemini: 'gcp.gemini',
};

/** The well-known name of a kind of provider; of a kind without one, ours. */
export function providerName(kind: string): string {
  return PROVIDERS[kind] ?? `turnpike.${kind}`;
}

/** Tokens of the prompt of every kind, as the conventions count them. */
export function inputTokens(record: {
  inputTokens: number;
  cacheReadTokens: number;
  cacheWrite5mTokens: number;
  cacheWrite1hTokens: number;
}): number {
  return record.inputTokens + record.cacheReadTokens + record.cacheWrite5mTokens + record.cacheWrite1hTokens;
}
