// The trace of one message. An error in tracing leaves a gap in the trace, and affects no message.

import type { TraceContext } from '../base/trace-context.ts';
import type { ClientRequest, MessageReport, MessageTrace } from './client-request.ts';
import type { Gateway } from './dependencies.ts';
import type { Target } from './route-health.ts';

export class GuardedTrace {
  readonly #trace: MessageTrace;

  private constructor(trace: MessageTrace) {
    this.#trace = trace;
  }

  /** null if tracing is off. */
  static begin(
    gateway: Gateway,
    { requestId, receivedAtMs, times, trace: parent }: ClientRequest,
  ): GuardedTrace | null {
    if (gateway.trace === undefined) return null;
    try {
      return new GuardedTrace(gateway.trace({ requestId, receivedAtMs, startedMs: times.startedMs, parent }));
    } catch {
      return null;
    }
  }

  /** The trace context of the next attempt; null in a gap. */
  beginAttempt({ route, settings }: Target): TraceContext | null {
    const { kind, baseUrl } = settings;
    const { provider, upstreamModel: model } = route;
    try {
      return this.#trace.beginAttempt({ provider, kind, baseUrl, model });
    } catch {
      return null;
    }
  }

  /** The attempt failed, or began to answer. */
  endAttempt(result: string, status: number | null): void {
    try {
      this.#trace.endAttempt(result, status);
    } catch {
      // A gap in the trace.
    }
  }

  end(report: MessageReport): void {
    try {
      this.#trace.end(report);
    } catch {
      // A gap in the trace.
    }
  }
}
