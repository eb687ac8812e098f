// Errors in Google's format. Our code is in `details`, where clients of Google look for a reason and for the time to wait.

import { type ErrorCode, errorTable, TurnpikeError } from '../../errors.ts';
import { googleStatusOf } from '../../protocols/gemini.ts';
import type { JsonObject } from '../../wire/wire.ts';
import type { StreamError } from '../answer-stream.ts';

const BY_TYPE: Readonly<Record<string, string>> = {
  billing_error: 'FAILED_PRECONDITION',
  not_found_error: 'NOT_FOUND',
};

export function geminiErrorBody(error: TurnpikeError, requestId: string): string {
  const { 'retry-after': seconds } = error.headers();
  const retry = error.retry && seconds !== undefined ? [{ '@type': RETRY_INFO, retryDelay: `${seconds}s` }] : [];
  return errorJson(error, requestId, retry);
}

/** The `data` of an error within a stream. */
export function geminiStreamError({ message, type, code, requestId }: StreamError): string {
  const known = code !== null && Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal';
  return errorJson(new TurnpikeError(known, message, type === null ? {} : { type }), requestId, []);
}

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';

function errorJson({ status, message, type, code }: TurnpikeError, requestId: string, retry: JsonObject[]): string {
  const metadata = { code, type, request_id: requestId };
  const info = { '@type': ERROR_INFO, reason: code.toUpperCase(), domain: 'turnpike', metadata };
  const named = BY_TYPE[type] ?? googleStatusOf(status);
  return JSON.stringify({ error: { code: status, message, status: named, details: [info, ...retry] } });
}
