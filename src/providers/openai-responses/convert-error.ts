// The provider's errors as faults: answers of a status, and those that come inside of a stream, which have a code alone.
// Words by which clients mend their own requests are given as the Messages protocol has them. Pure.

import { DAY_MS } from '../../base/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { faultOf, kindOf, parseErrorJson, scrubIdentifiers } from '../map-fault.ts';
import { type FaultKind, ProviderFault } from '../provider.ts';

/** Codes and types that speak of our credit or access, whatever their status. */
const OUR_CODES: readonly string[] = [
  'account_deactivated',
  'billing_hard_limit_reached',
  'billing_not_active',
  'insufficient_quota',
  'invalid_api_key',
  'model_not_found',
  'organization_restricted',
];
const OUR_WORDS = /\borgani[sz]ation must be verified\b|\bexceeded your current quota\b/i;

const REASONING_REFUSED = /^(?:unsupported parameter: 'reasoning\b|encrypted content is not supported)/i;

const CODE_KINDS: ReadonlyMap<string, FaultKind> = new Map([
  ['rate_limit_exceeded', 'rate_limited'],
  ['server_is_overloaded', 'overloaded'],
  ['slow_down', 'overloaded'],
  ['timeout', 'timeout'],
]);
const REJECTED_CODE =
  /^(invalid_|image_|empty_image|unsupported_|failed_to_download|context_length|content_policy|string_)/;

interface SaidError {
  code: string;
  message: string | null;
}

/** The fault of an answer of this status, also when its body is HTML, empty or broken. */
export function convertError(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  const said = readError(parseErrorJson(bodyText));
  const message = wordsOf(said);
  const fault = faultOf(status, headers, { type: null, message }, nowMs);
  return isOurs(said) ? withKind(fault, 'credentials') : fault;
}

/** The fault of an `error` event, or of the `error` of a response that failed. */
export function convertErrorEvent(value: JsonValue | undefined, upstreamRequestId: string | null): ProviderFault {
  const said = readError(value);
  const kind = isOurs(said) ? 'credentials' : kindOfCode(said);
  return new ProviderFault(kind, scrubIdentifiers(wordsOf(said) ?? 'the provider sent an error'), {
    errorType: kind === 'rejected' ? 'invalid_request_error' : null,
    retryAfterMs: kind === 'rate_limited' ? readWaitMs(said.message) : null,
    upstreamRequestId,
  });
}

/** Whether it is the refusal of a model that does not reason, because it was asked to. */
export function refusesReasoning(thrown: unknown): boolean {
  return thrown instanceof ProviderFault && thrown.kind === 'rejected' && REASONING_REFUSED.test(thrown.message);
}

function isOurs({ code, message }: SaidError): boolean {
  return OUR_CODES.includes(code) || OUR_WORDS.test(message ?? '');
}

function kindOfCode({ code, message }: SaidError): FaultKind {
  const kind = CODE_KINDS.get(code);
  if (kind !== undefined) return kind;
  if (!REJECTED_CODE.test(code)) return 'failed';
  return kindOf(400, null, message);
}

/** Inside of a stream there is no header: how long to wait stands in the words. */
function readWaitMs(message: string | null): number | null {
  const [, digits, unit] = /try again in (\d+(?:\.\d+)?) ?(ms|s)\b/i.exec(message ?? '') ?? [];
  if (digits === undefined) return null;
  return Math.min(Math.ceil(Number(digits) * (unit === 'ms' ? 1 : 1_000)), DAY_MS);
}

function withKind(fault: ProviderFault, kind: FaultKind): ProviderFault {
  const { message, status, retryAfterMs, upstreamRequestId } = fault;
  return new ProviderFault(kind, message, { status, retryAfterMs, upstreamRequestId });
}

function wordsOf({ code, message }: SaidError): string | null {
  if (code === 'context_length_exceeded') return tooLong(message ?? 'it exceeds the context window');
  if (/image/.test(code) && !/could not process image/i.test(message ?? ''))
    return `Could not process image: ${message ?? code}`;
  if (code === 'invalid_encrypted_content') return `Invalid signature in thinking block: ${message ?? code}`;
  return message;
}

/** Agents shorten their conversation when they read these words. */
function tooLong(message: string): string {
  const [, maximum] = /maximum context length is (\d+) tokens/.exec(message) ?? [];
  const [, tokens] = /(?:resulted in|requested) (\d+) tokens/.exec(message) ?? [];
  const isCounted = maximum !== undefined && tokens !== undefined;
  return `prompt is too long: ${isCounted ? `${tokens} tokens > ${maximum} maximum` : message}`;
}

/** An error stands in a member `error`, or is the object itself. */
function readError(value: JsonValue | undefined): SaidError {
  const holder: JsonObject = isJsonObject(value) ? value : {};
  const error = isJsonObject(holder['error']) ? holder['error'] : holder;
  const { code, type, message } = error;
  const said = typeof code === 'string' && code !== '' ? code : type;
  return { code: typeof said === 'string' ? said : '', message: typeof message === 'string' ? message : null };
}
