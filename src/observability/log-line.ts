// The log: one line per request, written asynchronously. Never blocks and never grows without bound; dropped lines
// are counted and reported later.

import { write, writeSync } from 'node:fs';
import type { AuditRecord } from '../audit/audit.ts';
import { parseHex } from '../base/checked-number.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { bounds, type LogFormat } from '../config/config.ts';
import type { MessageReport } from '../gateway/gateway.ts';
import type { Answered } from '../public-api/public-api.ts';
import type { LogEvent } from './log-events.ts';

const FLUSH_MS = 100;
const AGAIN_MS = 50;
const STRING_CHARACTERS_MAX = 1_024;
const CAUSES_MAX = 4;
const NEWLINE = 10;
/** Names of errors that indicate a bug; other names explain what happened. */
const MISTAKES = new Set(['Error', 'TypeError', 'ReferenceError', 'RangeError', 'BrokenInvariant']);
const PLAIN = /^[\w.:/+@%[\]-]+$/;

/** Names and values. A Secret prints "[secret]". */
export type LogMembers = Record<string, unknown>;

export interface LogLine extends LogMembers {
  event?: LogEvent;
}

export class LogWriter {
  readonly #format: LogFormat;
  readonly #descriptor: number;
  readonly #bufferBytesMax: number;
  #waiting: string[] = [];
  #waitingCharacters = 0;
  #dropped = 0;
  #droppedInAll = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Given to the system and not yet written. */
  #inProgress: Buffer | null = null;

  /** Writes to an open file descriptor; standard output by default. */
  constructor(format: LogFormat, descriptor = 1, bufferBytesMax: number = bounds.logBufferBytesMax) {
    this.#format = format;
    this.#descriptor = descriptor;
    this.#bufferBytesMax = bufferBytesMax;
  }

  /** False if nothing is written: then no line needs to be made. */
  get isOn(): boolean {
    return this.#format !== 'off';
  }

  /** Lines dropped so far. */
  get droppedCount(): number {
    return this.#droppedInAll;
  }

  /** Queues a line. While the reader of the log is too far behind, lines are dropped and counted. */
  write(line: LogLine): void {
    if (this.#format === 'off') return;
    if (this.#waitingCharacters > this.#bufferBytesMax) {
      this.#dropped++;
      this.#droppedInAll++;
      return;
    }
    this.#queue(line);
    this.#timer ??= setTimeout(() => this.#startWrite(), FLUSH_MS).unref();
  }

  /** Queues a line of an event of now. */
  writeEvent(event: LogEvent, members: LogMembers = {}): void {
    this.write({ at: new Date().toISOString(), event, ...members });
  }

  /** Writes waiting lines synchronously, as far as the system takes them: for the end of the process. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const rest = this.#inProgress;
    this.#inProgress = null; // A line of a pending write may be repeated, which is better than losing it.
    const bytes = Buffer.concat([rest ?? Buffer.alloc(0), this.#takeWaiting()]);
    let at = 0;
    try {
      while (at < bytes.length) at += writeSync(this.#descriptor, bytes, at);
    } catch {
      // The log has no reader, and there is no other place to report this.
    }
  }

  #queue(line: LogLine): void {
    const text = hideKeys(this.#format === 'json' ? jsonLine(line) : prettyLine(line));
    this.#waiting.push(text);
    this.#waitingCharacters += text.length;
  }

  #takeWaiting(): Buffer {
    if (this.#dropped > 0) {
      const dropped = this.#dropped;
      this.#dropped = 0;
      this.#queue({ at: new Date().toISOString(), event: 'log_lines_dropped', count: dropped });
    }
    const text = this.#waiting.join('');
    this.#waiting = [];
    this.#waitingCharacters = 0;
    return Buffer.from(text);
  }

  /** One write at a time keeps lines whole and in order. */
  #startWrite(): void {
    this.#timer = null;
    if (this.#inProgress === null && (this.#waiting.length > 0 || this.#dropped > 0))
      this.#writeOn(this.#takeWaiting());
  }

  #writeOn(bytes: Buffer): void {
    this.#inProgress = bytes;
    write(this.#descriptor, bytes, 0, bytes.length, null, (fault, written) => {
      if (this.#inProgress !== bytes) return; // `flush` has taken over.
      if (fault?.code === 'EAGAIN') {
        setTimeout(() => this.#inProgress === bytes && this.#writeOn(bytes), AGAIN_MS).unref();
        return;
      }
      if (fault === null && written < bytes.length) {
        this.#writeOn(bytes.subarray(written));
        return;
      }
      // Any other fault: the log has no reader. These lines are lost; the next ones are tried.
      if (fault !== null) this.#droppedInAll += countLines(bytes);
      this.#inProgress = null;
      this.#startWrite();
    });
  }
}

/** A thrown value with its causes, for the operator. The stack is included only for bugs. */
export function describeFailure(thrown: unknown): string {
  const parts: string[] = [];
  let cause: unknown = thrown;
  let isPlace = true;
  for (let depth = 0; depth < CAUSES_MAX && cause !== undefined && cause !== null; depth++) {
    isPlace &&= cause instanceof Error && MISTAKES.has(cause.name); // the cause of a named failure explains it
    parts.push(cause instanceof Error ? describeError(cause, isPlace) : String(cause));
    cause = cause instanceof Error ? cause.cause : null;
  }
  return parts.join('\ncaused by ');
}

function describeError({ name, message, stack }: Error, isPlace: boolean): string {
  return isPlace && stack !== undefined ? stack : `${name}: ${message}`;
}

const SECRETS = /\b([st]k-(?:tp|inv|pwd|new)-\w{4})\w+/g;

/** A key, token or link secret in the wrong place, such as a path, appears in the log only with its prefix, percent-encoded or not. */
function hideKeys(text: string): string {
  const plain = text.includes('%') ? withoutNeedlessEscapes(text) : text;
  const shown = plain.includes('k-') ? plain.replaceAll(SECRETS, '$1…') : plain;
  return shown === plain ? text : shown;
}

/** Decodes the characters that a URL need not escape (RFC 3986, section 2.3). */
function withoutNeedlessEscapes(text: string): string {
  return text.replaceAll(/%(?:25)*([2-7][0-9a-f])/gi, (escaped, code: string) => {
    const character = String.fromCharCode(parseHex(code) ?? 0);
    return /[\w.~-]/.test(character) ? character : escaped;
  });
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (const byte of bytes) if (byte === NEWLINE) lines++;
  return lines;
}

function jsonLine(line: LogLine): string {
  const text = JSON.stringify(capStrings(line));
  if (text.length < bounds.logLineCharactersMax) return `${text}\n`;
  // Still one line of JSON: its plain values, and a note that the rest was too long.
  const plain: LogMembers = {};
  let charactersLeft = bounds.logLineCharactersMax - STRING_CHARACTERS_MAX;
  for (const [name, value] of Object.entries(line)) {
    if (typeof value === 'object' && value !== null) continue;
    const capped = capString(value);
    charactersLeft -= name.length + JSON.stringify(capped ?? null).length;
    if (charactersLeft > 0) plain[name] = capped;
  }
  return `${JSON.stringify({ ...plain, shortened: true })}\n`;
}

function prettyLine(line: LogLine): string {
  let text = '';
  for (const [name, value] of Object.entries(line)) {
    if (value === null || value === undefined) continue;
    const shown = name === 'at' ? String(value) : `${name}=${prettyValue(value)}`;
    text += text === '' ? shown : ` ${shown}`;
  }
  return `${text.slice(0, bounds.logLineCharactersMax)}\n`;
}

/** Quotes text that could break the line or look like another member. */
function prettyValue(value: unknown): string {
  const capped = capString(value);
  return typeof capped === 'string' && PLAIN.test(capped) ? capped : JSON.stringify(capped);
}

function capStrings(line: LogLine): LogMembers {
  const capped: LogMembers = {};
  for (const name in line) capped[name] = capString(line[name]);
  return capped;
}

function capString(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'string' || value.length <= STRING_CHARACTERS_MAX) return value;
  return `${value.slice(0, STRING_CHARACTERS_MAX)}…`;
}

type AnsweredRequest = Pick<Answered, 'requestId' | 'method' | 'path' | 'status' | 'address' | 'durationMs'>;

export function adminLine(
  answered: AnsweredRequest & { code: string | null; actor: string | null },
  nowMs: number,
): LogLine {
  const { code, actor } = answered;
  return answeredLine('admin_request', answered, { code, actor }, nowMs);
}

function answeredLine(event: LogEvent, answered: AnsweredRequest, members: LogMembers, nowMs: number): LogLine {
  return {
    at: new Date(nowMs).toISOString(),
    event,
    request_id: answered.requestId,
    method: answered.method,
    path: answered.path,
    status: answered.status,
    ...members,
    latency_ms: answered.durationMs,
    address: answered.address,
  };
}

export function auditLine(change: AuditRecord): LogLine {
  return {
    at: new Date(change.atMs).toISOString(),
    event: 'audit',
    request_id: change.actor.requestId,
    actor: change.actor.id,
    role: change.actor.role,
    address: change.actor.address,
    action: change.action,
    object: change.object,
    account: change.account === null ? null : formatId('acct', change.account),
    before: change.before,
    after: change.after,
  };
}

export function messageLine({ record, ...message }: MessageReport, nowMs: number): LogLine {
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
    address: message.clientRequest.address,
  };
  if (message.disbelieved.length > 0) line['usage_disbelieved'] = message.disbelieved;
  if (message.contradicted.length > 0) line['usage_contradicted'] = message.contradicted;
  if (message.unknown.length > 0) line['usage_unknown'] = message.unknown;
  if (message.leftOut.length > 0) line['left_out'] = message.leftOut;
  if (message.cause !== null && message.cause !== undefined) line['cause'] = describeFailure(message.cause);
  return line;
}

export function requestLine(answered: Answered, nowMs: number): LogLine {
  const { clientRequest, failure } = answered;
  const line = answeredLine('request', answered, { code: failure?.code ?? null }, nowMs);
  const caller = clientRequest?.caller ?? null;
  if (caller !== null) {
    line['account'] = formatId('acct', caller.account.id);
    line['key'] = formatId('key', caller.key.id);
  }
  // A replay: the cost is in the line of the original message.
  if (clientRequest !== null && clientRequest.replayOf !== null) line['replay_of'] = clientRequest.replayOf;
  // The code explains other refusals. A model that residency hides is refused like an unknown one.
  const hasCause = failure !== null && (failure.status >= 500 || failure.code === 'model_not_found');
  if (hasCause && failure.details.cause !== undefined) line['cause'] = describeFailure(failure.details.cause);
  return line;
}
