// The table of errors that a client can receive: code → status, type, whether to retry. A test checks that
// docs/errors.md lists the same.

interface ErrorRow {
  status: number;
  type: string;
  /** Whether the same request may succeed later. False becomes `x-should-retry: false`. */
  retry: boolean;
}

export const errorTable = {
  invalid_json: { status: 400, type: 'invalid_request_error', retry: false },
  invalid_request: { status: 400, type: 'invalid_request_error', retry: false },
  thread_unsupported_request: { status: 400, type: 'invalid_request_error', retry: false },
  feature_not_priced: { status: 400, type: 'invalid_request_error', retry: false },
  feature_unavailable: { status: 400, type: 'invalid_request_error', retry: false },
  upstream_rejected: { status: 400, type: 'invalid_request_error', retry: false },
  key_missing: { status: 401, type: 'authentication_error', retry: false },
  key_invalid: { status: 401, type: 'authentication_error', retry: false },
  key_disabled: { status: 401, type: 'authentication_error', retry: false },
  key_expired: { status: 401, type: 'authentication_error', retry: false },
  account_disabled: { status: 401, type: 'authentication_error', retry: false },
  token_missing: { status: 401, type: 'authentication_error', retry: false },
  token_invalid: { status: 401, type: 'authentication_error', retry: false },
  sign_in_failed: { status: 401, type: 'authentication_error', retry: false },
  second_factor_failed: { status: 401, type: 'authentication_error', retry: false },
  cross_site_refused: { status: 403, type: 'permission_error', retry: false },
  consent_required: { status: 403, type: 'permission_error', retry: false },
  second_factor_required: { status: 403, type: 'permission_error', retry: false },
  role_not_allowed: { status: 403, type: 'permission_error', retry: false },
  origin_not_allowed: { status: 403, type: 'permission_error', retry: false },
  address_not_allowed: { status: 403, type: 'permission_error', retry: false },
  browser_access_not_declared: { status: 403, type: 'permission_error', retry: false },
  file_quota_exceeded: { status: 403, type: 'permission_error', retry: false },
  insufficient_user_quota: { status: 400, type: 'billing_error', retry: false },
  model_not_found: { status: 400, type: 'not_found_error', retry: false },
  object_not_found: { status: 404, type: 'not_found_error', retry: false },
  code_invalid: { status: 404, type: 'not_found_error', retry: false },
  route_not_found: { status: 404, type: 'not_found_error', retry: false },
  method_not_allowed: { status: 405, type: 'invalid_request_error', retry: false },
  request_timeout: { status: 408, type: 'timeout_error', retry: true },
  client_too_slow: { status: 408, type: 'timeout_error', retry: true },
  code_used: { status: 409, type: 'invalid_request_error', retry: false },
  code_expired: { status: 409, type: 'invalid_request_error', retry: false },
  code_once_per_account: { status: 409, type: 'invalid_request_error', retry: false },
  conflict: { status: 409, type: 'invalid_request_error', retry: false },
  body_too_large: { status: 413, type: 'request_too_large', retry: false },
  content_type_unsupported: { status: 415, type: 'invalid_request_error', retry: false },
  websocket_unsupported: { status: 426, type: 'invalid_request_error', retry: false },
  idempotency_in_progress: { status: 409, type: 'invalid_request_error', retry: true },
  idempotency_answer_gone: { status: 409, type: 'invalid_request_error', retry: false },
  idempotency_mismatch: { status: 422, type: 'invalid_request_error', retry: false },
  requests_rate_exceeded: { status: 429, type: 'rate_limit_error', retry: true },
  input_tokens_rate_exceeded: { status: 429, type: 'rate_limit_error', retry: true },
  output_tokens_rate_exceeded: { status: 429, type: 'rate_limit_error', retry: true },
  concurrency_exceeded: { status: 429, type: 'rate_limit_error', retry: true },
  too_many_failures: { status: 429, type: 'rate_limit_error', retry: true },
  upstream_rate_limited: { status: 429, type: 'rate_limit_error', retry: true },
  upstream_overloaded: { status: 529, type: 'overloaded_error', retry: true },
  upstream_failed: { status: 502, type: 'api_error', retry: true },
  upstream_credentials: { status: 502, type: 'api_error', retry: false },
  upstream_timeout: { status: 504, type: 'timeout_error', retry: true },
  payment_event_invalid: { status: 400, type: 'invalid_request_error', retry: false },
  payment_provider_refused: { status: 502, type: 'api_error', retry: false },
  payment_provider_failed: { status: 502, type: 'api_error', retry: false },
  payment_provider_unavailable: { status: 503, type: 'api_error', retry: true },
  bill_unavailable: { status: 502, type: 'api_error', retry: true },
  overloaded: { status: 529, type: 'overloaded_error', retry: true },
  internal: { status: 500, type: 'api_error', retry: true },
  store_unavailable: { status: 503, type: 'api_error', retry: true },
  draining: { status: 503, type: 'api_error', retry: true },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

/** Where the statuses of the API's vendor differ from the table's. */
const VENDOR_STATUSES: Partial<Record<ErrorCode, number>> = { insufficient_user_quota: 402, model_not_found: 404 };

/** Codes whose messages may quote the body of the request or the answer of the provider. */
const QUOTING: readonly ErrorCode[] = [
  'invalid_json',
  'invalid_request',
  'thread_unsupported_request',
  'feature_unavailable',
  'upstream_rejected',
  'upstream_failed',
];

/** The message of an error as it may be stored: empty if it could quote what people wrote, which is stored nowhere. */
export function storableMessage({ code, message }: Pick<TurnpikeError, 'code' | 'message'>): string {
  return QUOTING.includes(code) ? '' : message;
}

/** Owners of a limit that refused a request; "held": only messages in progress stand in its way. */
export const limitScopes = ['account', 'account_held', 'key', 'key_held'] as const;
export type LimitScope = (typeof limitScopes)[number];

export interface ErrorDetails {
  /** Becomes `retry-after`, rounded up to whole seconds. */
  retryAfterMs?: number;
  /** Replace the table's status and type: a provider's own. */
  status?: number;
  type?: string;
  /** Replaces the table's: true if only holds of other messages exhaust the balance. */
  retry?: boolean;
  /** Stored with the count of refusals; clients never see it. Absent: no limit refused the request. */
  scope?: LimitScope;
  /** Additional headers, such as `allow`. */
  headers?: Record<string, string>;
  /** More members of the body's `error`, such as `faults` of a refused file. */
  members?: Record<string, unknown>;
  /** For the log only; clients never see it. */
  cause?: unknown;
}

const NO_DETAILS: ErrorDetails = Object.freeze({});

/** An error that a client may receive. Its message is for the client, its cause for the operator. */
export class TurnpikeError extends Error {
  static {
    TurnpikeError.prototype.name = 'TurnpikeError';
  }

  readonly code: ErrorCode;
  readonly status: number;
  readonly type: string;
  readonly retry: boolean;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = NO_DETAILS) {
    // Where a refusal was made is never reported, and finding it takes longer than the rest of the refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    if (details.cause !== undefined) this.cause = details.cause;
    const row: ErrorRow = errorTable[code];
    this.code = code;
    this.status = details.status ?? row.status;
    this.type = details.type ?? row.type;
    this.retry = details.retry ?? row.retry;
    this.details = details;
  }

  /** The body of the response, and of a stream's `error` event. It has no message at the top level. */
  body(requestId: string): string {
    const { code, message } = this;
    const type = JSON.stringify(this.type);
    const { members } = this.details;
    const rest =
      members === undefined
        ? `"details":{"error_code":"${code}"}}`
        : JSON.stringify({ ...members, details: { error_code: code } }).slice(1);
    return `{"type":"error","error":{"type":${type},"code":"${code}","message":${JSON.stringify(message)},${rest},"request_id":"${requestId}"}`;
  }

  /** All headers. */
  headers(): Record<string, string> {
    return { ...this.details.headers, ...this.retryHeaders() };
  }

  /** Headers that tell clients whether and when to retry. */
  retryHeaders(): Record<string, string> {
    const headers: Record<string, string> = {};
    if (this.details.retryAfterMs !== undefined)
      headers['retry-after'] = String(Math.max(1, Math.ceil(this.details.retryAfterMs / 1000)));
    else if (this.status === 429) headers['retry-after'] = '1';
    if (!this.retry) headers['x-should-retry'] = 'false';
    return headers;
  }
}

/** The error with the status that the API's vendor has for it. */
export function withVendorStatus(error: TurnpikeError): TurnpikeError {
  const status = VENDOR_STATUSES[error.code];
  if (status === undefined || status === error.status || error.details.status !== undefined) return error;
  return new TurnpikeError(error.code, error.message, { ...error.details, status });
}

/** Converts any thrown value. An unknown one becomes `internal`, with its cause for the log only. */
export function asTurnpikeError(thrown: unknown): TurnpikeError {
  if (thrown instanceof TurnpikeError) return thrown;
  return new TurnpikeError('internal', 'An internal error occurred. The request id identifies it in the logs.', {
    cause: thrown,
  });
}

const OVERLOADED_RETRY_MS_LEAST = 1_000;
const OVERLOADED_RETRY_MS_SPREAD = 4_000;

/** The error for shed load. `retry-after` is random, so that clients refused at the same moment do not return together. */
export function overloaded(message: string, random: () => number = Math.random): TurnpikeError {
  return new TurnpikeError('overloaded', message, {
    retryAfterMs: OVERLOADED_RETRY_MS_LEAST + random() * OVERLOADED_RETRY_MS_SPREAD,
  });
}
