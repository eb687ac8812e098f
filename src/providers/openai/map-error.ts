// The errors of those who speak Chat Completions, each family in a shape of its own, as faults. A refusal of content
// keeps its words; what is about our credit or access never reaches a caller.

import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import { faultOf, parseErrorJson } from '../map-fault.ts';
import { ProviderFault } from '../provider.ts';

const OUR_CREDIT =
  /insufficient[_ ](?:quota|balance|credits?|funds)|exceeded your current quota|billing|payment required/i;
const OUR_ACCESS = /invalid[_ ]api[_ ]key|incorrect api key|authentication|permission|deployment ?not ?found/i;
const STATUS_OF_TYPE: readonly [type: RegExp, status: number][] = [
  [/overloaded|server_?busy|unavailable|capacity|insufficient_system_resource/i, 503],
  [/rate_?limit|too_?many_?requests|tokens_exceeded/i, 429],
  [/timeout/i, 504],
  [/invalid_request|bad_?request|content_filter|context_length|invalid_prompt/i, 400],
];
const DETAILS_MAX = 5;

interface ChatError {
  /** The HTTP status that the error names in its body. */
  status: number | null;
  /** Whatever it calls itself: its type and code. */
  names: string;
  message: string | null;
  /** What was refused is the caller's content, whatever the status says. */
  isOfContent: boolean;
}

/** The fault of an answer that is no 2xx, also when its body is HTML, empty or broken. Pure. */
export function mapChatFault(status: number, headers: Headers, bodyText: string, nowMs: number): ProviderFault {
  const error = readChatError(parseErrorJson(bodyText));
  return faultOf(statusFor(status, error), headers, { type: null, message: error?.message ?? null }, nowMs);
}

/** The fault of an error that came with status 200: whole, or as a chunk of a stream. */
export function mapChatError(value: JsonObject, upstreamRequestId: string | null): ProviderFault {
  const error = readChatError(value);
  const named = STATUS_OF_TYPE.find(([type]) => type.test(error?.names ?? ''))?.[1];
  const status = statusFor(error?.status ?? named ?? 500, error);
  const said = { type: null, message: error?.message ?? 'the provider sent an error' };
  const { kind, message, errorType } = faultOf(status, new Headers(), said, 0);
  return new ProviderFault(kind, message, { errorType, upstreamRequestId, ...(kind === 'rejected' && { status }) });
}

/** Whether a value of status 200 is an error. */
export function isChatError(value: JsonObject): boolean {
  return (value['error'] ?? null) !== null || value['object'] === 'error';
}

/** What of an error's body decides more than its status does. */
function statusFor(status: number, error: ChatError | null): number {
  if (error === null) return status;
  if (error.isOfContent && status === 403) return 400;
  const words = `${error.names} ${error.message ?? ''}`;
  if ((status === 429 || status === 400) && OUR_CREDIT.test(error.names)) return 402;
  if (status === 429 && OUR_CREDIT.test(words)) return 402;
  if (status === 400 && OUR_ACCESS.test(error.names)) return 401;
  if (status === 498) return 503; // Groq: no capacity
  return status;
}

/** Null for what says nothing: HTML, nothing, or JSON of another kind. */
function readChatError(value: JsonValue | undefined): ChatError | null {
  if (!isJsonObject(value)) return null;
  const inner = value['error'];
  if (typeof inner === 'string') return describe(value, inner); // Ollama, xAI
  const error = isJsonObject(inner) ? inner : value;
  const message = readMessage(error['message']) ?? readMessage(error['detail']) ?? readMessage(value['detail']);
  return describe(error, message);
}

function describe(error: JsonObject, message: string | null): ChatError {
  const { code, type, metadata } = error;
  const status = [code, error['status'], error['status_code']].find(
    (value): value is number => typeof value === 'number' && value >= 400 && value < 600,
  );
  const flagged = isJsonObject(metadata) && (metadata['flagged_input'] ?? metadata['reasons'] ?? null) !== null;
  return {
    status: status ?? null,
    names: [type, code].filter((name) => typeof name === 'string').join(' '),
    message: withSource(message, metadata),
    isOfContent: flagged || code === 'content_filter' || type === 'invalid_prompt',
  };
}

/** A router says little of what the provider behind it said: that stands beside it, as text. */
function withSource(message: string | null, metadata: JsonValue | undefined): string | null {
  const raw = isJsonObject(metadata) ? metadata['raw'] : undefined;
  if (typeof raw !== 'string' || raw === '') return message;
  const behind = readChatError(parseErrorJson(raw))?.message ?? raw;
  return message === null ? behind : `${message}: ${behind}`;
}

/** Some send a list of what is wrong, or an object that holds one, in the place of words. */
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
