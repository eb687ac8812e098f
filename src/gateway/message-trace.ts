// The trace of one message as the gateway sees it. Implemented by observability.

import type { TraceContext } from '../base/trace-context.ts';
import type { MessageReport } from './client-request.ts';

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
