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
    { trace }: Gateway,
    { requestId, receivedAtMs, times: { startedMs }, trace: parent }: ClientRequest,
  ): GuardedTrace | null {
    if (trace === undefined) return null;
    return guard(() => new GuardedTrace(trace({ requestId, receivedAtMs, startedMs, parent })));
  }

  /** The trace context of the next attempt; null in a gap. */
  beginAttempt({ route, settings: { kind, baseUrl } }: Target): TraceContext | null {
    const { provider, upstreamModel: model } = route;
    return guard(() => this.#trace.beginAttempt({ provider, kind, baseUrl, model }));
  }

  /** The attempt failed, or began to answer. */
  endAttempt(result: string, status: number | null): void {
    guard(() => this.#trace.endAttempt(result, status));
  }

  end(report: MessageReport): void {
    guard(() => this.#trace.end(report));
  }
}

/** null: a gap in the trace. */
function guard<Value>(step: () => Value): Value | null {
  try {
    return step();
  } catch {
    return null;
  }
}
