// What a caller submits and what goes back, without a word about HTTP's mechanics: the door
// between public-api and gateway.

import type { TraceContext } from '../base/trace-context.ts';
import type { UsageRecord } from '../ledger/ledger.ts';
import type { Protocol } from '../wire/wire.ts';
import type { MessageTimes } from './message-times.ts';

/** One request to the service, before anything of it is known to be true. */
export interface Submission {
  requestId: string;
  receivedAtMs: number;
  /** The key shown, from `x-api-key` or `authorization: Bearer`; null when there is none. */
  secret: string | null;
  /** In whose words the body came, before it was that of a message. */
  protocol: Protocol;
  /** The `origin` header; null when it is no browser's request. */
  origin: string | null;
  /** Whether `<vendor>-dangerous-direct-browser-access: true` was sent. */
  browserDeclared: boolean;
  /** The caller's address: the socket's, or through trusted proxies the one they name. */
  address: string;
  /** The vendor prefix that the request itself used, `anthropic` where it used none. */
  vendorPrefix: string;
  /** What stands behind the path's question mark; empty when nothing does. Only listings read it. */
  query: string;
  /** `<vendor>-version`, one that is known; null when absent. */
  version: string | null;
  /** `<vendor>-beta`, all values joined by commas; null when absent. */
  betas: string | null;
  /** `idempotency-key` as it came; null when absent. Only messages look at it. */
  idempotencyKey: string | null;
  /**
   * Reads the body, bounded, for whom it is held: throws body_too_large, content_type_unsupported, overloaded, request_timeout.
   * Called once, and only for a known caller.
   */
  readBody(bytesMax: number, accountId: number): Promise<Uint8Array>;
  /** Aborted when the caller leaves. */
  signal: AbortSignal;
  /** The trace that its caller says it is part of; null when there is none. */
  trace: TraceContext | null;
  /** Noted as it passes. */
  readonly times: MessageTimes;
  /** Whose key it shows; set by the gateway when that is known. */
  caller: { account: { id: number }; key: { id: number } } | null;
  /** Set by the gateway when a message was admitted: from then on its report is the gateway's. */
  isAdmitted: boolean;
  /** The message whose answer was given once more instead; set by the gateway. */
  replayOf: string | null;
  /** Tells the socket what is coming, so that its idle limits suit it. */
  expect(kind: 'stream' | 'slow-json' | 'end'): void;
}

/** What one admitted message came to, for log, metrics and trace: told when it has ended. */
export interface MessageReport {
  requestId: string;
  record: UsageRecord;
  times: MessageTimes;
  /** The kind of the record's provider, and the model that it says has answered; null when none did. */
  providerKind: string | null;
  responseModel: string | null;
  stopReason: string | null;
  address: string;
  /** The code of the error that the caller got, before or within the answer. */
  code: string | null;
  cause: unknown;
  upstreamRequestId: string | null;
  /** Counts in the provider's usage that were not believed, and those that nobody knows. */
  disbelieved: string[];
  unknown: string[];
}

/** What goes back. Headers beside the CORS ones and `request-id`, which are the caller of the gateway's. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  /** Text of JSON, or text of an event stream as it comes. */
  body: string | AsyncIterable<string>;
  /** Of a stream: settled when the request's own text is not needed any more. It may outlast the reply's beginning. */
  requestKept?: Promise<unknown>;
}
