// The two kinds of wide log lines: of a message that was admitted, when it ended, and of every
// other request. No text of a message, no secret, ever: there is no member for them.

import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { describeFailure, type LogLine } from './log-line.ts';

/** The usage record as this room sees it: amounts in nanodollars. */
interface ShownRecord {
  requestId: string;
  account: number;
  key: number;
  group: string;
  model: string;
  provider: string | null;
  upstreamModel: string | null;
  stream: boolean;
  outcome: string;
  status: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWrite5mTokens: number;
  cacheWrite1hTokens: number;
  usageSource: string;
  cost: number;
  writtenOff: number;
  attempts: readonly unknown[];
  latencyMs: number;
  firstTokenMs: number | null;
}

/** A message that ended, as the gateway reports it. */
export interface EndedMessage {
  record: ShownRecord;
  address: string;
  code: string | null;
  cause: unknown;
  upstreamRequestId: string | null;
  disbelieved: readonly string[];
  unknown: readonly string[];
}

/** Any other request that was answered. */
export interface AnsweredRequest {
  requestId: string;
  durationMs: number;
  method: string;
  path: string;
  address: string;
  status: number;
  /** Null where nothing was submitted; its caller is null where no key was shown that is known. */
  submission: { caller: { account: { id: number }; key: { id: number } } | null; replayOf: string | null } | null;
  failure: { code: string; status: number; details: { cause?: unknown } } | null;
}

export function messageLine({ record, ...message }: EndedMessage, nowMs: number): LogLine {
  const line: LogLine = {
    at: new Date(nowMs).toISOString(),
    event: 'message',
    request_id: record.requestId,
    account: formatId('acct', record.account),
    key: formatId('key', record.key),
    group: record.group,
    model: record.model,
    provider: record.provider,
    upstream_model: record.upstreamModel,
    upstream_request_id: message.upstreamRequestId,
    stream: record.stream,
    outcome: record.outcome,
    status: record.status,
    code: message.code,
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    cache_read_input_tokens: record.cacheReadTokens,
    cache_creation_input_tokens: record.cacheWrite5mTokens + record.cacheWrite1hTokens,
    usage_source: record.usageSource,
    cost: formatUsd(record.cost),
    written_off: formatUsd(record.writtenOff),
    attempts: record.attempts.length,
    latency_ms: record.latencyMs,
    first_token_ms: record.firstTokenMs,
    address: message.address,
  };
  if (message.disbelieved.length > 0) line['usage_disbelieved'] = message.disbelieved;
  if (message.unknown.length > 0) line['usage_unknown'] = message.unknown;
  if (message.cause !== null && message.cause !== undefined) line['cause'] = describeFailure(message.cause);
  return line;
}

export function requestLine(answered: AnsweredRequest, nowMs: number): LogLine {
  const line: LogLine = {
    at: new Date(nowMs).toISOString(),
    event: 'request',
    request_id: answered.requestId,
    method: answered.method,
    path: answered.path,
    status: answered.status,
    code: answered.failure?.code ?? null,
    latency_ms: answered.durationMs,
    address: answered.address,
  };
  const caller = answered.submission?.caller ?? null;
  if (caller !== null) {
    line['account'] = formatId('acct', caller.account.id);
    line['key'] = formatId('key', caller.key.id);
  }
  // Of a message that was answered before: what that answer cost stands in the line of its own message.
  if (answered.submission !== null && answered.submission.replayOf !== null)
    line['replay_of'] = answered.submission.replayOf;
  // Why a request was refused is in its code; only what the service or its store did wrong has a cause to tell.
  const failure = answered.failure;
  if (failure !== null && failure.status >= 500 && failure.details.cause !== undefined)
    line['cause'] = describeFailure(failure.details.cause);
  return line;
}
