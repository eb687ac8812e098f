// A client's request and the reply to it, independent of HTTP mechanics, and its report and trace: the interfaces between
// public-api, gateway and observability.

import type { AgentCaller, Caller } from '../accounts/accounts.ts';
import type { TraceContext } from '../base/trace-context.ts';
import type { UsageRecord } from '../ledger/ledger.ts';
import type { JsonObject, MessageRequest, ReceivedBody, StreamPiece } from '../wire/wire.ts';

/** Headers of the Messages protocol, without the vendor's prefix. */
export const SELECTORS = ['workspace-id', 'user-profile-id'] as const;

/** Names a workspace or a user profile at the provider. */
export interface Selector {
  name: (typeof SELECTORS)[number];
  value: string;
}

/** Changes the text of a body before it is read. */
export type TextChange = (text: string) => string | Promise<string>;

export type BodyParser = (received: ReceivedBody, change: TextChange) => Promise<MessageRequest>;

/** A request of a batch, which this service sends on behalf of the key that made the batch. */
export interface BatchItem {
  keyId: number;
  /** In place of an idempotency key. No client can send it, because it has a space. */
  claim: string;
  /** The request id of the reserve that its hold is taken from; null: none for this group. */
  reserveOf(group: string): string | null;
  /** Work that a provider did in a batch of its own; null: the request is to be sent. */
  done: DoneWork | null;
}

/** The answer to a request of a batch that a provider ran. It is billed, whatever its key may do by now. */
export interface DoneWork {
  /** The target: names as in the catalog. */
  provider: string;
  upstreamModel: string;
  credential: string | null;
  /** The groups that the key had when the batch was made. */
  groups: readonly string[];
  status: number;
  /** JSON, in the provider's protocol. */
  body: string;
}

/** One request as received. Nothing in it has been verified. */
export interface ClientRequest {
  requestId: string;
  receivedAtMs: number;
  /** The key sent in `x-api-key` or `authorization: Bearer`; null if absent. */
  readonly secret: string | null;
  /** The key sent in `authorization: Bearer`, which may be the same; null if absent. */
  readonly bearer: string | null;
  /** The `origin` header; null if absent. */
  readonly origin: string | null;
  /** Whether `<vendor>-dangerous-direct-browser-access: true` was sent. */
  readonly browserDeclared: boolean;
  /** The client's IP address: the socket's, or the one reported by trusted proxies. Reading it first is slow. */
  readonly address: string;
  /** The vendor prefix of the request's headers; `anthropic` by default. */
  readonly vendorPrefix: string;
  /** The query string without the question mark. Only lists use it. */
  readonly query: string;
  /** `<vendor>-version`, a known value; null if absent. */
  readonly version: string | null;
  /** `<vendor>-beta`, all values joined by commas; null if absent. */
  readonly betas: string | null;
  /** Headers that select objects of the provider's customer; null without any. */
  readonly selectors: readonly Selector[] | null;
  /** The value of any other header, by its name in lower case; null if absent. */
  header(name: string): string | null;
  /** null: a client sends it. */
  readonly item: BatchItem | null;
  /** `idempotency-key` as received; null if absent. Only messages use it. */
  readonly idempotencyKey: string | null;
  /**
   * Reads the body, charged to the account's share of body memory. Throws body_too_large, content_type_unsupported,
   * overloaded, request_timeout. Called once, after authentication.
   */
  readBody(bytesMax: number, accountId: number): Promise<ReceivedBody>;
  /** Counts as many bytes more for the body, until the request no longer needs it. Throws overloaded. */
  growBody(bytes: number, accountId: number): void;
  /** Reads a message in the body, in the client's protocol. Throws invalid_json, invalid_request, feature_unavailable. */
  readonly parseBody: BodyParser;
  /** A message to a model that makes images, as a request for an image. Throws invalid_request. null: such models are not found. */
  readonly asImages: ((request: MessageRequest) => Promise<MessageRequest>) | null;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** The client's trace context; null if absent. */
  readonly trace: TraceContext | null;
  /** Filled in as the request is processed. */
  readonly times: MessageTimes;
  /** Set by authentication if the key is known, also if it is refused. */
  caller: { account: { id: number }; above: readonly { id: number }[]; key: { id: number } } | null;
  /** Set by authentication for a token of a coding agent. */
  agent: AgentCaller | null;
  /** Set by the gateway on admission: from then on, the gateway reports the message. */
  isAdmitted: boolean;
  /** Set by the gateway if a stored response is replayed: the request id of the original message. */
  replayOf: string | null;
  /** Adjusts the socket's idle timeout to the kind of answer. */
  expect(kind: 'stream' | 'slow-json' | 'end'): void;
}

/** The outcome of an admitted message, for logs, metrics and traces. Reported once, when the message has ended. */
export interface MessageReport {
  record: UsageRecord;
  /** The accounts above, and the person whose key it is, when it was admitted: the ledger adds them to its own copy of the record. */
  caller: Pick<Caller, 'above' | 'person'>;
  /** Names of the tags by which metrics count it. */
  tagsInMetrics: readonly string[];
  clientRequest: Pick<ClientRequest, 'times' | 'address'>;
  /** Kind of the record's provider, and the model that the provider says has answered; null if none did. */
  providerKind: string | null;
  responseModel: string | null;
  stopReason: string | null;
  /** Error code sent to the client, before or within the answer. */
  code: string | null;
  cause: unknown;
  upstreamRequestId: string | null;
  /** Usage counts of the provider that were rejected as implausible, and unknown ones. */
  disbelieved: string[];
  /** Names of reported counts that fell in the course of the stream. */
  contradicted: string[];
  unknown: string[];
  /** Fields of the request that the last provider did not get. */
  leftOut: readonly string[];
  /** The part of the cost that was not paid; null without a write-off. */
  writeOffReason: 'prompt' | 'output' | null;
}

/** The reply. `headers` excludes CORS headers and `request-id`, which public-api adds. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** JSON text, a whole answer, or events or bytes as they arrive. */
  body: string | WholeAnswer | ByteAnswer | AsyncIterable<StreamPiece>;
  /** For streams: settles when the request's body is no longer needed. May settle after the reply begins. */
  requestInUse?: Promise<unknown>;
}

/** An answer of bytes as they arrive. */
export interface ByteAnswer extends AsyncIterable<Uint8Array> {
  readonly contentType: string;
}

/** An answer that is not streamed. */
export interface WholeAnswer {
  /** Its JSON: of the message, or as the provider wrote it in the client's own protocol. */
  text: string;
  /** null: the text is in the client's own protocol. Long numbers are exact in the text only. */
  message: JsonObject | null;
}

/** Milliseconds of `performance.now()`, meaningful only within this process; null until the event happens. */
export interface MessageTimes {
  readonly startedMs: number;
  /** Time spent waiting for the body: the client's time, not the service's. */
  bodyMs: number;
  /** When admission was requested from the ledger, and when it answered. */
  askedMs: number | null;
  admittedMs: number | null;
  /** Total time of all attempts until their first events, whole message or failure. */
  upstreamMs: number;
  /** When the first events or the whole message of the successful target arrived. */
  answeredMs: number | null;
  /** When the ending was requested from the ledger, and when it answered. */
  endedMs: number | null;
  settledMs: number | null;
}

/** The times of a request that begins now. */
export function startTimes(): MessageTimes {
  return {
    startedMs: performance.now(),
    bodyMs: 0,
    askedMs: null,
    admittedMs: null,
    upstreamMs: 0,
    answeredMs: null,
    endedMs: null,
    settledMs: null,
  };
}

/** An admitted message at its beginning. */
export interface TraceStart {
  requestId: string;
  receivedAtMs: number;
  /** The same moment on the clock of `performance.now()`. */
  startedMs: number;
  /** The client's trace context. */
  parent: TraceContext | null;
}

/** The target of an attempt. */
export interface TracedRoute {
  provider: string;
  /** Kind of the provider, such as "anthropic". */
  kind: string;
  baseUrl: string;
  /** Model name at the provider. */
  model: string;
}

export interface MessageTrace {
  /** An attempt begins; one at a time. Returns the trace context for the provider. */
  beginAttempt(route: TracedRoute): TraceContext;
  /** The attempt failed, or began to answer; then its span lasts as long as the message. */
  endAttempt(result: string, status: number | null): void;
  /** The message has ended. */
  end(report: MessageReport): void;
}
