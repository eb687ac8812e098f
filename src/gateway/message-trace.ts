// The trace of one message as the gateway knows it: what a provider is told, and when something
// begins and ends. Who makes spans of it, and where they go, is not known here.

import type { TraceContext } from '../base/trace-context.ts';
import type { MessageReport } from './submission.ts';

/** A message that was admitted, at its beginning. */
export interface TraceStart {
  requestId: string;
  receivedAtMs: number;
  /** The same moment on the clock of `performance.now()`. */
  startedMs: number;
  /** As its caller named it. */
  parent: TraceContext | null;
}

/** Where an attempt goes. */
export interface TracedRoute {
  provider: string;
  /** The kind of the provider, such as "anthropic". */
  kind: string;
  baseUrl: string;
  /** The model's name there. */
  model: string;
}

export interface MessageTrace {
  /** An attempt begins; one at a time. Returns what its provider is told. */
  beginAttempt(route: TracedRoute): TraceContext;
  /** It failed, or has begun to answer: then it lasts as long as the message. */
  endAttempt(result: string, status: number | null): void;
  /** The message has ended. */
  end(report: MessageReport): void;
}
