// Maps errors of Chat Completions providers, whose formats differ by family, to faults.

import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import { parseWithArguments } from '../compose-message.ts';
import { faultOf, isErrorStatus, parseErrorJson } from '../map-fault.ts';
import { ProviderFault } from '../provider.ts';

const OUR_CREDIT =
  /insufficient[_ ](?:quota|balance|credits?|funds)|exceeded your current quota|billing|payment required/i;
const OUR_ACCESS = /invalid[_ ]api[_ ]key|incorrect api key|authentication|permission|deployment ?not ?found/i;
const OUR_KEY = /^api key (?:not valid|expired)/i; // Gemini, with INVALID_ARGUMENT
const STATUS_OF_TYPE: readonly [type: RegExp, status: number][] = [
  [/unauthenticated|permission_denied/i, 401],
  [/overloaded|server_?busy|unavailable|capacity|insufficient_system_resource/i, 503],
  [/rate_?limit|too_?many_?requests|tokens_exceeded|resource_exhausted/i, 429],
  [/timeout|deadline_exceeded/i, 504],
  [/invalid_request|invalid_argument|bad_?request|content_filter|context_length|invalid_prompt/i, 400],
];
const DETAILS_MAX = 5;

interface ChatError {
  status: number | null;
  names: string;
  message: string | null;
  /** The client's content was rejected, whatever the status. */
  isOfContent: boolean;
}

/** The fault of an error response, including HTML, empty and broken bodies. Pure. */
export function mapChatFault(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  const error = readChatError(parseErrorJson(bodyText));
  const { message = null, names = '' } = error ?? {};
  return faultOf(statusFor(status, error), headers, { type: null, message, names }, nowMs);
}

/** The fault of an error with status 200: a whole answer, or a stream chunk. */
export function mapChatError(value: JsonObject, upstreamRequestId: string | null): ProviderFault {
  const error = readChatError(value);
  const named = STATUS_OF_TYPE.find(([type]) => type.test(error?.names ?? ''))?.[1];
  const status = statusFor(error?.status ?? named ?? 500, error);
  const said = { type: null, message: error?.message ?? 'the provider sent an error', names: error?.names ?? '' };
  const { kind, message, errorType } = faultOf(status, new Headers(), said, 0);
  return new ProviderFault(kind, message, { errorType, upstreamRequestId, ...(kind === 'rejected' && { status }) });
}

export function isChatError(value: JsonObject): boolean {
  return (value['error'] ?? null) !== null || value['object'] === 'error';
}

/** The status, corrected by the error's body. */
function statusFor(status: number, error: ChatError | null): number {
  if (error === null) return status;
  if (error.isOfContent && status === 403) return 400;
  const words = `${error.names} ${error.message ?? ''}`;
  if ((status === 429 || status === 400) && OUR_CREDIT.test(error.names)) return 402;
  if (status === 429 && OUR_CREDIT.test(words)) return 402;
  if (status === 400 && (OUR_ACCESS.test(error.names) || OUR_KEY.test(error.message ?? ''))) return 401;
  if (status === 498) return 503; // Groq: no capacity
  return status;
}

/** Parses an answer; of a list, in which Gemini's address for Chat Completions sends errors, it is the first element. */
export function parseChat(text: string): JsonValue {
  return firstOf(parseWithArguments(text)) as JsonValue;
}

function firstOf(value: JsonValue | undefined): JsonValue | undefined {
  return Array.isArray(value) && isJsonObject(value[0]) ? value[0] : value;
}

/** null for HTML, an empty body, or other JSON. */
function readChatError(answer: JsonValue | undefined): ChatError | null {
  const value = firstOf(answer);
  if (!isJsonObject(value)) return null;
  const inner = value['error'];
  if (typeof inner === 'string') return describe(value, inner); // Ollama, xAI
  const error = isJsonObject(inner) ? inner : value;
  const message = readMessage(error['message']) ?? readMessage(error['detail']) ?? readMessage(value['detail']);
  return describe(error, message);
}

function describe(error: JsonObject, message: string | null): ChatError {
  const { code, type, metadata } = error;
  const status = [code, error['status'], error['status_code']].find(isErrorStatus);
  const flagged = isJsonObject(metadata) && (metadata['flagged_input'] ?? metadata['reasons'] ?? null) !== null;
  return {
    status: status ?? null,
    names: [type, code, error['status']].filter((name) => typeof name === 'string').join(' '),
    message: withSource(message, metadata),
    isOfContent: flagged || code === 'content_filter' || type === 'invalid_prompt',
  };
}

/** A router's own message is generic: a neighbouring member has the provider's error as text. */
function withSource(message: string | null, metadata: JsonValue | undefined): string | null {
  const raw = isJsonObject(metadata) ? metadata['raw'] : undefined;
  if (typeof raw !== 'string' || raw === '') return message;
  const behind = readChatError(parseErrorJson(raw))?.message ?? raw;
  return message === null ? behind : `${message}: ${behind}`;
}

/** Some send a list of faults, or an object with one, in place of a message. */
function readMessage(value: JsonValue | undefined): string | null {
  if (typeof value === 'string') return value;
  if (isJsonObject(value)) return readMessage(value['detail'] ?? value['message']);
  const lines = jsonObjects(value)
    .slice(0, DETAILS_MAX)
    .map(({ loc, msg: said }) => {
      const path = Array.isArray(loc) ? loc.filter((part) => part !== 'body').join('.') : '';
      return path === '' ? String(said) : `${path}: ${String(said)}`;
    });
  return lines.length === 0 ? null : lines.join('\n');
}
