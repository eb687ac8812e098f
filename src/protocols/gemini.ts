// Gemini's names for the settings of a request and for the statuses of errors.

/** Members of generationConfig by their names in Messages, and in the provider kinds that have fields of the front. */
export const GEMINI_CONFIG = {
  maxOutputTokens: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stopSequences: 'stop_sequences',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  seed: 'seed',
} as const;

/** A name, the HTTP status of an error that has only that name (null: it is not read), and the statuses that are written so. */
const STATUSES: readonly [name: string, read: number | null, ...written: number[]][] = [
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['OUT_OF_RANGE', 400],
  ['UNAUTHENTICATED', 401, 401],
  ['PERMISSION_DENIED', 403, 403],
  ['NOT_FOUND', 404, 404],
  ['UNIMPLEMENTED', null, 405],
  ['DEADLINE_EXCEEDED', 504, 408, 504],
  ['ABORTED', null, 409],
  ['RESOURCE_EXHAUSTED', 429, 429],
  ['UNAVAILABLE', 503, 502, 503, 529],
];

/** The HTTP status for a name, which may be unknown. */
export function statusOfGoogle(name: string): number {
  return STATUSES.find(([known]) => known === name)?.[1] ?? 500;
}

export function googleStatusOf(status: number): string {
  const found = STATUSES.find(([, , ...written]) => written.includes(status));
  return found?.[0] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
}
