// Errors in Google's format. Our code is in `details`, where clients of Google look for a reason and for the time to wait.

import { type ErrorCode, errorTable, TurnpikeError } from '../../errors.ts';
import { googleStatusOf } from '../../protocols/google-statuses.ts';
import { type JsonObject, objectOf, textOf } from '../../wire/wire.ts';
import { type Origins, withClientPath } from '../origins.ts';

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
export function geminiErrorOfEvent(event: JsonObject, origins: Origins | null): string {
  const { message, type, code } = objectOf(event['error']);
  const said = origins === null ? textOf(message) : withClientPath(textOf(message), origins);
  const known = typeof code === 'string' && Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'internal';
  const error = new TurnpikeError(known, said, typeof type === 'string' ? { type } : {});
  return errorJson(error, textOf(event['request_id']), []);
}

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo';
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';

function errorJson({ status, message, type, code }: TurnpikeError, requestId: string, retry: JsonObject[]): string {
  const metadata = { code, type, request_id: requestId };
  const info = { '@type': ERROR_INFO, reason: code.toUpperCase(), domain: 'turnpike', metadata };
  const named = BY_TYPE[type] ?? googleStatusOf(status);
  return JSON.stringify({ error: { code: status, message, status: named, details: [info, ...retry] } });
}
