// Maps Bedrock's errors to faults: by the name of the exception, by its words where the name has several meanings, and
// otherwise by the status.

import { bounds } from '../../config/config.ts';
import { objectOf, textOf } from '../../wire/wire.ts';
import { contextErrorOf } from '../context-error.ts';
import { kindOf, parseErrorJson, readRetryAfterMs, scrubIdentifiers } from '../map-fault.ts';
import { readUpstreamRequestId } from '../parse-json.ts';
import { type FaultKind, ProviderFault } from '../provider.ts';

const CREDENTIALS = [
  ...['AccessDenied', 'AccessDeniedException', 'ExpiredToken', 'ExpiredTokenException', 'IncompleteSignature'],
  ...[
    'IncompleteSignatureException',
    'InvalidClientTokenId',
    'InvalidSignatureException',
    'MissingAuthenticationToken',
  ],
  ...['MissingAuthenticationTokenException', 'NotAuthorized', 'OptInRequired', 'RequestExpired'],
  ...['SignatureDoesNotMatch', 'UnrecognizedClientException'],
];

/** By the name in lower case: streams write it with a small first letter. */
const KINDS: ReadonlyMap<string, FaultKind> = new Map<string, FaultKind>([
  ...CREDENTIALS.map((name) => [name.toLowerCase(), 'credentials'] as const),
  ['internalfailure', 'failed'],
  ['internalserverexception', 'failed'],
  ['modelerrorexception', 'failed'],
  ['modelnotreadyexception', 'overloaded'],
  ['modelstreamerrorexception', 'failed'],
  ['modeltimeoutexception', 'timeout'],
  ['resourcenotfoundexception', 'not_found'],
  ['servicequotaexceededexception', 'rate_limited'],
  ['serviceunavailableexception', 'overloaded'],
  ['throttlingexception', 'rate_limited'],
  ['toomanyrequestsexception', 'rate_limited'],
]);
const VALIDATION = 'validationexception';

// Anchored, because a rejection may quote the client's content.
const MISSING: readonly RegExp[] = [
  /^the provided model identifier is invalid\b/i,
  /^invocation of model id \S+ with on-demand throughput isn.t supported\b/i,
  /^(?:the )?(?:provided |requested |specified )?(?:model|inference profile|resource)\b.{0,300}\b(?:not found|does not exist|could not be found)\b/i,
];
const OF_ACCOUNT = /^operation not allowed\b/i;
const RETURNED = /^the model returned the following errors?: */i;

/** The fault of an error response, including HTML, empty and broken bodies. Pure. */
export function mapError(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  const type = readErrorType(headers, bodyText);
  const said = readErrorMessage(bodyText) ?? `the provider answered with status ${status}`;
  const kind = kindOfException(type, said) ?? kindOf(status, null, null);
  return new ProviderFault(kind, shownMessage(said), {
    status,
    retryAfterMs: readRetryAfterMs(headers, nowMs),
    errorType: kind === 'rejected' ? (status === 413 ? 'request_too_large' : 'invalid_request_error') : null,
    upstreamRequestId: readUpstreamRequestId(headers),
  });
}

/** The fault of an exception in a stream. */
export function mapException(
  type: string | null,
  message: string | null,
  upstreamRequestId: string | null,
): ProviderFault {
  const said = boundMessage(message ?? '') || 'the provider ended the stream with an error';
  const kind = kindOfException(type, said) ?? 'failed';
  const errorType = kind === 'rejected' ? 'invalid_request_error' : null;
  return new ProviderFault(kind, shownMessage(said), { errorType, upstreamRequestId });
}

/** The name of the exception in an error response; null without one, as from a proxy. */
export function readErrorType(headers: Headers, bodyText: string): string | null {
  const { __type: type, code } = objectOf(parseErrorJson(bodyText));
  const named = headers.get('x-amzn-errortype') ?? (textOf(type) || textOf(code));
  const name = named.replace(/:.*$/s, '').replace(/^.*#/s, ''); // "ns#Name", "Name:http://…"
  return name === '' ? null : name;
}

/** The message in the JSON of an error; null without one. */
export function readErrorMessage(text: string): string | null {
  const { message, Message } = objectOf(parseErrorJson(text));
  return textOf(message) || textOf(Message) || null;
}

/** null: the name says nothing. */
function kindOfException(type: string | null, message: string): FaultKind | null {
  const name = type?.toLowerCase() ?? '';
  if (name !== VALIDATION) return KINDS.get(name) ?? null;
  if (MISSING.some((wording) => wording.test(message))) return 'not_found';
  return OF_ACCOUNT.test(message) ? 'credentials' : 'rejected';
}

/** The bound that `readFault` puts on error responses. A frame may be far longer. */
function boundMessage(message: string): string {
  const { read } = new TextEncoder().encodeInto(message, new Uint8Array(bounds.upstreamErrorBytesMax));
  // Cut at a space, because half of an identifier would not be recognized and redacted.
  return read === message.length ? message : message.slice(0, Math.max(0, message.lastIndexOf(' ', read)));
}

function shownMessage(message: string): string {
  const said = message.replace(RETURNED, '');
  return scrubIdentifiers(contextErrorOf(said));
}
