// The door of observability: the operator's log, the metrics at /metrics, traces and metrics for a
// collector. It is told facts by the rest of the service, and tells it nothing.

export { adminLine, auditLine } from './admin-lines.ts';
export { watchEventLoop } from './event-loop-delay.ts';
export type { Readings, TelemetryReadings } from './gauges.ts';
export { describeFailure, type LogLine, LogWriter } from './log-line.ts';
export type { MeasuredAnswer, MeasuredMessage } from './measured-message.ts';
export { ServiceMetrics } from './metrics.ts';
export { openTelemetry, type Telemetry } from './telemetry.ts';
export { type AnsweredRequest, type EndedMessage, messageLine, requestLine } from './wide-lines.ts';
