// Traces and metrics for a collector, as the rest of the service sees them. OpenTelemetry is loaded
// only where it was asked for: it costs a start and memory that an installation without it need not pay.

import type { TraceContext } from '../base/trace-context.ts';
import type { TelemetrySettings } from '../config.ts';
import type { TelemetryReadings } from './gauges.ts';
import type { MeasuredMessage, MeasuredTimes } from './measured-message.ts';

/** A message that was admitted, at its beginning. */
export interface TracedStart {
  requestId: string;
  receivedAtMs: number;
  /** The same moment on the clock of `performance.now()`. */
  startedMs: number;
  parent: TraceContext | null;
}

/** Where an attempt goes. */
export interface TracedAttempt {
  provider: string;
  kind: string;
  baseUrl: string;
  model: string;
}

/** A message that has ended. */
export interface TracedMessage {
  record: MeasuredMessage['record'] & {
    requestId: string;
    upstreamModel: string | null;
    status: number;
  };
  times: MeasuredTimes;
  code: string | null;
  providerKind: string | null;
  responseModel: string | null;
  stopReason: string | null;
}

/** Any other request that was answered. */
export interface TracedAnswer {
  requestId: string;
  receivedAtMs: number;
  durationMs: number;
  method: string;
  path: string;
  status: number;
  failure: { code: string } | null;
  submission: { trace: TraceContext | null } | null;
}

/** The spans of one message, from its admission on. */
export interface Trace {
  /** Returns what the provider is told. */
  beginAttempt(attempt: TracedAttempt): TraceContext;
  /** `answered`: it lasts as long as the message. */
  endAttempt(result: string, status: number | null): void;
  end(message: TracedMessage): void;
}

export interface Telemetry {
  /** Null when only metrics are sent. */
  trace: ((start: TracedStart) => Trace) | null;
  /** A message that was admitted has ended. */
  countMessage(message: TracedMessage): void;
  /** Anything else was answered: a message that was refused has a span as well. */
  traceAnswer(answer: TracedAnswer): void;
  readings(): TelemetryReadings;
  /** Sends what waits, bounded in time. */
  close(): Promise<void>;
}

/** `report` is told when the collector of a signal stops taking what it is sent, and when it does again. */
export async function openTelemetry(
  settings: TelemetrySettings,
  version: string,
  report: (signal: string, failure: string | null) => void,
): Promise<Telemetry> {
  const { startTelemetry } = await import('./otlp/otlp.ts');
  return startTelemetry(settings, version, report);
}
