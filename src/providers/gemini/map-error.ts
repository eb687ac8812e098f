// Google's error answers as faults: `{"error": {"code", "status", "message", "details"}}`, also in a list of one.
// What is the operator's (key, quota of the project, billing) never reaches a caller.

import { DAY_MS } from '../../base/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import { kindOf, readRetryAfterMs, scrubIdentifiers } from '../map-fault.ts';
import { ProviderFault } from '../provider.ts';

/** The fault of an answer, also when its body is HTML, empty or broken. Pure. */
export function mapError(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  const error = findError(parseJson(bodyText)) ?? {};
  const fault = faultOf(status, error);
  return fault.retryAfterMs === null ? withRetry(fault, readRetryAfterMs(headers, nowMs)) : fault;
}

/** The fault of an error that came inside an answer of status 200; null for what is no error. */
export function mapErrorInside(value: JsonValue): ProviderFault | null {
  const error = findError(value);
  if (error === null) return null;
  const code = error['code'];
  return faultOf(typeof code === 'number' ? code : (STATUS_CODES.get(String(error['status'])) ?? 500), error);
}

const STATUS_CODES: ReadonlyMap<string, number> = new Map([
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['OUT_OF_RANGE', 400],
  ['UNAUTHENTICATED', 401],
  ['PERMISSION_DENIED', 403],
  ['NOT_FOUND', 404],
  ['RESOURCE_EXHAUSTED', 429],
  ['UNAVAILABLE', 503],
  ['DEADLINE_EXCEEDED', 504],
]);

function faultOf(status: number, error: JsonObject): ProviderFault {
  const kind = status === 400 && isAboutOurProject(error) ? 'credentials' : kindOf(status, null, null);
  const said = error['message'];
  const message = typeof said === 'string' && said !== '' ? said : `the provider answered with status ${status}`;
  return new ProviderFault(kind, scrubProject(tellLength(message)), {
    status,
    retryAfterMs: readRetryDelayMs(error),
    errorType: kind === 'rejected' ? (status === 413 ? 'request_too_large' : 'invalid_request_error') : null,
  });
}

function withRetry(fault: ProviderFault, retryAfterMs: number | null): ProviderFault {
  const { kind, message, status, errorType } = fault;
  return new ProviderFault(kind, message, { status, errorType, retryAfterMs });
}

const PROJECT_WORDINGS: readonly RegExp[] = [
  /^api[ -]key (not (valid|found)|expired|invalid)\b/i,
  /^user location is not supported\b/i,
  /\bfree tier is not available in your country\b/i,
  /^(please )?(enable|check your) billing\b|\bbilling (account|to be enabled)\b/i,
];

/** Whether a 400 speaks of the key or of its project. A precondition is always theirs: a caller sets none. */
function isAboutOurProject(error: JsonObject): boolean {
  const { status, message, details } = error;
  if (status === 'FAILED_PRECONDITION') return true;
  if (jsonObjects(details).some(({ reason }) => typeof reason === 'string' && /^API_KEY_/.test(reason))) return true;
  return typeof message === 'string' && PROJECT_WORDINGS.some((wording) => wording.test(message));
}

/** In the words by which agents know that they have to shorten what they send. */
function tellLength(message: string): string {
  const match = /input token count\D{0,20}(\d+)\D{0,80}maximum number of (?:input )?tokens\D{0,20}(\d+)/i.exec(message);
  return match === null ? message : `prompt is too long: ${match[1]} tokens > ${match[2]} maximum`;
}

function scrubProject(message: string): string {
  return scrubIdentifiers(message)
    .replaceAll(/\bprojects?\/[\w-]+/g, 'projects/[redacted]')
    .replaceAll(/\b(project_number:|project )\d+/g, '$1[redacted]')
    .replaceAll(/\bAIza[\w-]{10,}/g, '[redacted]');
}

/** Of a RetryInfo among the details: "37s", "0.5s". */
function readRetryDelayMs({ details }: JsonObject): number | null {
  for (const { retryDelay } of jsonObjects(details)) {
    const seconds = typeof retryDelay === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(retryDelay)?.[1] : undefined;
    if (seconds !== undefined) return Math.min(Math.ceil(Number(seconds) * 1000), DAY_MS);
  }
  return null;
}

function findError(value: JsonValue | undefined): JsonObject | null {
  const holder = Array.isArray(value)
    ? value.find((entry) => isJsonObject(entry) && isJsonObject(entry['error']))
    : value;
  if (!isJsonObject(holder)) return null;
  return isJsonObject(holder['error']) ? holder['error'] : null;
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // HTML, nothing, or half an answer: the status speaks for itself
  }
}
