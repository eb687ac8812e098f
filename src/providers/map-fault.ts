// A provider's error answer as a fault: who is to blame decides. What is the operator's (credit, keys,
// access) never reaches a caller; what is the caller's keeps its wording, without our identifiers.

import { DAY_MS } from '../base/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import { type FaultKind, ProviderFault } from './provider.ts';
import { readUpstreamRequestId } from './read-answer.ts';

/** What an error says of itself, whatever its shape. */
export interface SaidError {
  type: string | null;
  message: string | null;
}

/** The fault of an answer in the Messages shape, also when its body is HTML, empty or broken. Pure. */
export function mapFault(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  return faultOf(status, headers, readError(parseErrorJson(bodyText)), nowMs);
}

/** The fault of an answer whose error was read already; its type is one of the Messages protocol, or null. Pure. */
export function faultOf(status: number, headers: Headers, { type, message }: SaidError, nowMs: number): ProviderFault {
  const kind = kindOf(status, type, message);
  return new ProviderFault(kind, scrubIdentifiers(message ?? `the provider answered with status ${status}`), {
    status,
    retryAfterMs: readRetryAfterMs(headers, nowMs),
    errorType: type ?? (status === 413 ? 'request_too_large' : kind === 'rejected' ? 'invalid_request_error' : null),
    upstreamRequestId: readUpstreamRequestId(headers),
  });
}

/** The fault of an `error` event inside a stream, or of an error object that came with status 200. */
export function mapErrorEvent(value: JsonObject, upstreamRequestId: string | null): ProviderFault {
  const { type, message } = readError(value);
  const isOurs = type === 'invalid_request_error' && isAboutOurAccount(type, message);
  const kind = isOurs ? 'credentials' : (EVENT_KINDS.get(type ?? '') ?? 'failed');
  return new ProviderFault(kind, scrubIdentifiers(message ?? 'the provider sent an error'), {
    errorType: type,
    upstreamRequestId,
  });
}

const EVENT_KINDS: ReadonlyMap<string, FaultKind> = new Map([
  ['overloaded_error', 'overloaded'],
  ['rate_limit_error', 'rate_limited'],
  ['timeout_error', 'timeout'],
  ['invalid_request_error', 'rejected'],
]);

/** Who is to blame for an answer of this status, by its words where the status does not tell. */
export function kindOf(status: number, type: string | null, message: string | null): FaultKind {
  switch (status) {
    case 401:
    case 402:
    case 403:
    case 404:
      return 'credentials';
    case 400:
      return isAboutOurAccount(type, message) ? 'credentials' : 'rejected';
    case 413:
    case 422:
      return 'rejected';
    case 429:
      return 'rate_limited';
    case 503:
    case 529:
      return 'overloaded';
    case 408:
    case 504:
      return 'timeout';
    default:
      return 'failed';
  }
}

const OUR_TYPES: readonly (string | null)[] = [
  'authentication_error',
  'billing_error',
  'permission_error',
  'not_found_error',
];
// A refusal of content names the field first ("messages.0.content: …"), and may quote the content itself.
const FIELD_PATH = /^[a-z_]+(\.[\w-]+)*: /;
const ACCOUNT_WORDINGS: readonly RegExp[] = [
  /\bcredit balance is too low\b/i,
  /\b(purchase|buy|add) (more )?credits\b|\bplans & billing\b/i,
  /\borgani[sz]ation (has been|is) (currently )?(disabled|suspended|on hold)\b/i,
  /\byou have reached your specified (\w+ )?(api )?usage limits?\b/i,
  /^(this|the|your) (api key|credential|organi[sz]ation|workspace|account)\b.*\b(disabled|suspended|expired|invalid|revoked|not (allowed|authorized|active)|only authorized|does not have access)\b/i,
  /^(invalid|incorrect|missing) (x-)?api[ -]key\b/i,
  /^(insufficient (credits?|balance|funds|quota)\b|billing\b)/i,
];

/** Whether a 400 speaks of our credit or access. Strict: a caller whose content was refused must be told. */
function isAboutOurAccount(type: string | null, message: string | null): boolean {
  if (OUR_TYPES.includes(type)) return true;
  if (message === null || FIELD_PATH.test(message)) return false;
  return ACCOUNT_WORDINGS.some((wording) => wording.test(message));
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const OUR_IDENTIFIERS: readonly RegExp[] = [
  /\bsk-[A-Za-z0-9_-]{8,}/g,
  /\b(org|req|acct|wrkspc|workspace|apikey|key)[_-](?=[A-Za-z0-9]*\d)[A-Za-z0-9]{12,}\b/g,
  new RegExp(`(?<=\\b(organi[sz]ation|org|workspace|account|request)\\b[^\\n]{0,40})${UUID}`, 'gi'),
];

/** The text without identifiers of our account at the provider; those of messages and tools stay. */
export function scrubIdentifiers(text: string): string {
  return OUR_IDENTIFIERS.reduce((scrubbed, pattern) => scrubbed.replaceAll(pattern, '[redacted]'), text);
}

/** `retry-after-ms`, else `retry-after` in seconds or as a date, at most a day; null when neither says anything. */
export function readRetryAfterMs(headers: Headers, nowMs: number): number | null {
  const milliseconds = readDecimal(headers.get('retry-after-ms'));
  if (milliseconds !== null) return Math.min(Math.ceil(milliseconds), DAY_MS);
  const text = headers.get('retry-after');
  const seconds = readDecimal(text);
  if (seconds !== null) return Math.min(Math.ceil(seconds * 1000), DAY_MS);
  const dateMs = /^[A-Z]/i.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN; // a date begins with its weekday
  return Number.isNaN(dateMs) ? null : Math.min(Math.max(0, dateMs - nowMs), DAY_MS);
}

function readDecimal(text: string | null): number | null {
  return text !== null && /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : null;
}

function readError(value: JsonValue | undefined): SaidError {
  const error = isJsonObject(value) ? value['error'] : undefined;
  if (!isJsonObject(error)) return { type: null, message: null };
  const { type, message } = error;
  return { type: typeof type === 'string' ? type : null, message: typeof message === 'string' ? message : null };
}

/** Undefined for what is no JSON. */
export function parseErrorJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // HTML, nothing, or half an answer: the status speaks for itself
  }
}
