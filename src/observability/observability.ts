// The door of observability: the operator's log. Metrics and traces have no place here yet.

export { describeFailure, type LogLine, LogWriter } from './log-line.ts';
export { adminLine, auditLine } from './admin-lines.ts';
export { type AnsweredRequest, type EndedMessage, messageLine, requestLine } from './wide-lines.ts';
