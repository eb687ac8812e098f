// Errors of Responses: OpenAI's format, with the codes by which its clients decide.

import { type JsonObject, textOf } from '../../wire/wire.ts';
import type { StreamError } from '../answer-stream.ts';
import { openAiError } from '../openai-error.ts';
import { FIELDS } from './response-fields.ts';

const TOO_LONG = /prompt is too long|context (?:length|window|limit)/i;

/** The code that clients know for one of docs/errors.md. The original one is in `details`. */
function codeFor({ type, code, message }: JsonObject): string {
  if (code === 'insufficient_user_quota') return 'insufficient_quota';
  if (type === 'rate_limit_error') return 'rate_limit_exceeded';
  if (code === 'upstream_rejected' && TOO_LONG.test(textOf(message))) return 'context_length_exceeded';
  return textOf(code);
}

/** Types of errors that the same request would get again. */
const FINAL_TYPES: readonly string[] = [
  'authentication_error',
  'invalid_request_error',
  'not_found_error',
  'permission_error',
  'request_too_large',
];

/** The code of a failed response: clients repeat the request after any that they do not know. */
function codeOfFailure(error: JsonObject): string {
  const code = textOf(error['code']);
  if (KNOWN.includes(code)) return code;
  return FINAL_TYPES.includes(textOf(error['type'])) ? 'invalid_prompt' : 'server_error';
}

const KNOWN: readonly string[] = ['insufficient_quota', 'rate_limit_exceeded', 'context_length_exceeded'];

function withCode(error: JsonObject): JsonObject {
  return { ...error, code: codeFor(error), details: { error_code: error['code'] ?? null } };
}

export function responseErrorBody(error: Pick<StreamError, 'message' | 'type' | 'code'>): string {
  return JSON.stringify({ error: withCode(openAiError(error, FIELDS)) });
}

interface ResponseErrors {
  /** The members of the error. */
  error: JsonObject;
  /** `error` of the failed response. */
  failure: JsonObject;
}

/** The errors within a stream. */
export function responseErrors(failed: StreamError): ResponseErrors {
  const error = withCode(openAiError(failed, FIELDS));
  return { error, failure: { code: codeOfFailure(error), message: error['message'] ?? '' } };
}
