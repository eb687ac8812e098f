// The door of observability: the log, metrics at /metrics, and OpenTelemetry. Receives facts from the service and
// affects nothing.

import type { startTelemetry, Telemetry } from './otlp/otlp.ts';

export type { AccountReading, AccountReadings, ShownAccount } from './account-metrics.ts';
export { watchEventLoop } from './gauges.ts';
export { LeftOutNotices } from './left-out-notices.ts';
export { type LogEvent, logEvents } from './log-events.ts';
export {
  adminLine,
  auditLine,
  describeFailure,
  type LogLine,
  LogWriter,
  messageLine,
  requestLine,
} from './log-line.ts';
export { type FailurePlace, ServiceMetrics } from './metrics.ts';
export type { Telemetry };

/** OpenTelemetry is loaded only if configured, because of its start time and memory. */
export async function openTelemetry(...given: Parameters<typeof startTelemetry>): Promise<Telemetry> {
  return (await import('./otlp/otlp.ts')).startTelemetry(...given);
}
