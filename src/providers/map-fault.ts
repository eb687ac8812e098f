// Maps error responses to faults. Clients see neither our problems (credit, keys, access) nor our identifiers.

import { isWholeNumber, parseFraction, parseTimeMs } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { type JsonObject, type JsonValue, objectOf } from '../wire/wire.ts';
import { contextErrorOf } from './context-error.ts';
import { readUpstreamRequestId } from './parse-json.ts';
import { type FaultKind, ProviderFault } from './provider.ts';

/** Fields of an error body, in any provider's format. */
export interface ErrorFields {
  type: string | null;
  message: string | null;
  /** Its type and code in another protocol's words. */
  names?: string;
}

/** The fault of an error response in Messages format, including HTML, empty and broken bodies. Pure. */
export function mapFault(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  return faultOf(status, headers, readError(parseErrorJson(bodyText)), nowMs);
}

/** The fault of a parsed error; its type is one of the Messages protocol, or null. Pure. */
export function faultOf(
  status: number,
  headers: Headers,
  { type, message, names = '' }: ErrorFields,
  nowMs: number,
): ProviderFault {
  const kind = kindOf(status, type, message);
  const said = message ?? `the provider answered with status ${status}`;
  return new ProviderFault(kind, scrubIdentifiers(kind === 'rejected' ? contextErrorOf(said, names) : said), {
    status,
    retryAfterMs: readRetryAfterMs(headers, nowMs),
    errorType: type ?? (status === 413 ? 'request_too_large' : kind === 'rejected' ? 'invalid_request_error' : null),
    upstreamRequestId: readUpstreamRequestId(headers),
  });
}

/** The fault of an `error` event in a stream, or of an error object with status 200. */
export function mapErrorEvent(value: JsonObject, upstreamRequestId: string | null): ProviderFault {
  const { type, message } = readError(value);
  const isOurs = type === 'invalid_request_error' && isAboutOurAccount(type, message);
  const kind = isOurs ? 'credentials' : (EVENT_KINDS.get(type ?? '') ?? 'failed');
  const said = message ?? 'the provider sent an error';
  const shown = scrubIdentifiers(kind === 'rejected' ? contextErrorOf(said) : said);
  return new ProviderFault(kind, shown, { errorType: type, upstreamRequestId });
}

const EVENT_KINDS: ReadonlyMap<string, FaultKind> = new Map([
  ['overloaded_error', 'overloaded'],
  ['rate_limit_error', 'rate_limited'],
  ['timeout_error', 'timeout'],
  ['invalid_request_error', 'rejected'],
]);

export function isErrorStatus(value: JsonValue | undefined): value is number {
  return isWholeNumber(value) && value >= 400 && value < 600;
}

/** Other statuses mean a failure. */
const STATUS_KINDS: ReadonlyMap<number, FaultKind> = new Map([
  ...[401, 402, 403].map((status) => [status, 'credentials'] as const),
  [404, 'not_found'],
  ...[400, 413, 422].map((status) => [status, 'rejected'] as const),
  [429, 'rate_limited'],
  ...[503, 529].map((status) => [status, 'overloaded'] as const),
  ...[408, 504].map((status) => [status, 'timeout'] as const),
]);

/** The fault kind for a status, or by its message where the status is ambiguous. */
export function kindOf(status: number, type: string | null, message: string | null): FaultKind {
  if (status === 400 && isAboutOurAccount(type, message)) return 'credentials';
  return STATUS_KINDS.get(status) ?? 'failed';
}

const OUR_TYPES = ['authentication_error', 'billing_error', 'permission_error', 'not_found_error'];
// A rejection of content begins with the field ("messages.0.content: …") and may quote the content.
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

/** Whether a 400 concerns our credit or access. Strict, because a client must see why its content was rejected. */
function isAboutOurAccount(type: string | null, message: string | null): boolean {
  if (type !== null && OUR_TYPES.includes(type)) return true;
  if (message === null || FIELD_PATH.test(message)) return false;
  return ACCOUNT_WORDINGS.some((wording) => wording.test(message));
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const OUR_IDENTIFIERS: readonly RegExp[] = [
  /\bsk-[A-Za-z0-9_-]{8,}/g,
  /\b(org|req|acct|wrkspc|workspace|apikey|key)[_-](?=[A-Za-z0-9]*\d)[A-Za-z0-9]{12,}\b/g,
  new RegExp(`(?<=\\b(organi[sz]ation|org|workspace|account|request(?:id)?)\\b[^\\n]{0,40})${UUID}`, 'gi'),
  /\barn:aws[\w-]*:[\w-]*:[^\s"'`,;()]*/g,
  /\b(?:AKIA|ASIA|AROA|AIDA|ABSK)[A-Za-z0-9+/=]{12,}/g,
  /(?<=\baccount\b[^\n]{0,40})\b\d{12}\b/gi,
];

/** The text without identifiers of our account at the provider; those of messages and tools stay. */
export function scrubIdentifiers(text: string): string {
  return OUR_IDENTIFIERS.reduce((scrubbed, pattern) => scrubbed.replaceAll(pattern, '[redacted]'), text);
}

/** `retry-after-ms`, else `retry-after` in seconds or as a date, at most a day; null without either. */
export function readRetryAfterMs(headers: Headers, nowMs: number): number | null {
  const milliseconds = parseFraction(headers.get('retry-after-ms')?.trim() ?? '');
  if (milliseconds !== null) return Math.min(Math.ceil(milliseconds), DAY_MS);
  const text = headers.get('retry-after')?.trim() ?? '';
  const seconds = parseFraction(text);
  if (seconds !== null) return Math.min(Math.ceil(seconds * 1000), DAY_MS);
  const dateMs = /^[A-Z]/i.test(text) ? parseTimeMs(text) : null; // a date begins with its weekday
  return dateMs === null ? null : Math.min(Math.max(0, dateMs - nowMs), DAY_MS);
}

function readError(value: JsonValue | undefined): ErrorFields {
  const { type, message } = objectOf(objectOf(value)['error']);
  return { type: typeof type === 'string' ? type : null, message: typeof message === 'string' ? message : null };
}

/** undefined if the text is not JSON. */
export function parseErrorJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // HTML, empty or truncated: the status is all there is
  }
}
