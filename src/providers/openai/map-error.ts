// Maps errors of Chat Completions providers, whose formats differ by family, to faults.

import { parseWholeNumber } from '../../base/checked-number.ts';
import { countOf } from '../../protocols/token-counts.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import { parseWithArguments } from '../compose-message.ts';
import { contextErrorOf } from '../context-error.ts';
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
  const { names = '', message = null } = error ?? {};
  const named = STATUS_OF_TYPE.find(([type]) => type.test(names))?.[1];
  const isOfContext = message !== null && contextErrorOf(message, names) !== message;
  const status = statusFor(error?.status ?? named ?? (isOfContext ? 400 : 500), error);
  const fault = faultOf(
    status,
    new Headers(),
    { type: null, message: message ?? 'the provider sent an error', names },
    0,
  );
  const { kind, errorType } = fault;
  return new ProviderFault(kind, fault.message, {
    errorType,
    upstreamRequestId,
    ...(kind === 'rejected' && { status }),
  });
}

/** The error in a chunk or an answer, or in its choice; null without one. An empty one beside content says nothing. */
export function chatErrorIn(value: JsonObject): JsonObject | null {
  const choice = jsonObjects(value['choices'])[0];
  if (isError(value['error']) || value['object'] === 'error') return value;
  if (choice !== undefined) return isError(choice['error']) ? choice : null;
  const hasChoices = Array.isArray(value['choices']); // without any, as in usage alone
  const isOther = isError(value['errors']) || isFailure(value['base_resp']);
  return isOther || (!hasChoices && (isError(value['detail']) || isCoded(value))) ? value : null;
}

function isError(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  if (typeof value !== 'object' || value === null) return value === true;
  return Object.values(value).some((member) => member !== null && member !== '');
}

/** MiniMax has it in every answer. */
function isFailure(value: JsonValue | undefined): boolean {
  return isJsonObject(value) && (countOf(value['status_code']) ?? 0) !== 0;
}

function isCoded({ code, status, message, msg: said }: JsonObject): boolean {
  const isNamed = [code, status].some((name) => NAMED.includes(typeof name) && !SUCCESS.test(`${name}`));
  return isNamed && [message, said].some((text) => typeof text === 'string' && text !== '');
}

const NAMED: readonly string[] = ['string', 'number'];
const SUCCESS = /^(?:0?|2\d\d|ok|success)$/i;

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
  if (typeof inner === 'string' && inner !== '') return describe(value, inner); // Ollama, xAI
  const { errors, base_resp: base } = value;
  const listed = Array.isArray(errors) ? errors[0] : undefined;
  if (typeof listed === 'string') return describe(value, listed);
  const error = [inner, listed, isFailure(base) ? base : undefined].find(isJsonObject) ?? value;
  const said = [
    error['message'],
    error['detail'],
    error['msg'],
    error['status_msg'],
    value['detail'],
    value['message'],
  ];
  return describe(error, said.map(readMessage).find((text) => text !== null) ?? null);
}

/** https://platform.minimax.io/docs/api-reference/errorcode.md, 29 November 2026. */
const STATUS_OF_MINIMAX: ReadonlyMap<JsonValue | undefined, number> = new Map([
  ...([
    [1001, 504],
    [1002, 429],
    [1004, 401],
    [1008, 402],
  ] as const),
]);

function describe(error: JsonObject, message: string | null): ChatError {
  const { code, type, metadata } = error;
  const codes = [code, error['status'], error['status_code']];
  const status = codes.map(wholeNumberOf).find(isErrorStatus) ?? STATUS_OF_MINIMAX.get(error['status_code']);
  const flagged = isJsonObject(metadata) && (metadata['flagged_input'] ?? metadata['reasons'] ?? null) !== null;
  return {
    status: status ?? null,
    names: [type, code, error['status'], error['details']].filter((name) => typeof name === 'string').join(' '),
    message: withSource(message, metadata),
    isOfContent: flagged || code === 'content_filter' || type === 'invalid_prompt',
  };
}

/** Some servers write a status as text. */
function wholeNumberOf(value: JsonValue | undefined): number | null {
  return typeof value === 'string' ? parseWholeNumber(value) : countOf(value);
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
