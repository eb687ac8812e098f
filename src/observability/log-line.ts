// The operator's log: one wide line a request, written behind the request's back. It never
// blocks and never grows without bound; what does not fit is counted and said later.

import { write, writeSync } from 'node:fs';
import { bounds, type LogFormat } from '../config.ts';

const FLUSH_MS = 100;
const AGAIN_MS = 50;
const STRING_CHARACTERS_MAX = 1_024;
const CAUSES_MAX = 4;
const NEWLINE = 10;
/** Names of errors that say that a program is wrong; whatever has a name of its own says what happened. */
const MISTAKES = new Set(['Error', 'TypeError', 'ReferenceError', 'RangeError', 'BrokenInvariant']);
const PLAIN = /^[\w.:/+@%[\]-]+$/;

/** Names and values as they shall stand in the log. A Secret among them prints "[secret]". */
export type LogLine = Record<string, unknown>;

export class LogWriter {
  readonly #format: LogFormat;
  readonly #descriptor: number;
  readonly #bufferBytesMax: number;
  #waiting: string[] = [];
  #waitingCharacters = 0;
  #dropped = 0;
  #droppedInAll = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** What the system has been given and not yet taken. */
  #underWay: Buffer | null = null;

  /** Writes to an open file descriptor, standard output unless told otherwise. */
  constructor(format: LogFormat, descriptor = 1, bufferBytesMax: number = bounds.logBufferBytesMax) {
    this.#format = format;
    this.#descriptor = descriptor;
    this.#bufferBytesMax = bufferBytesMax;
  }

  /** False when nothing is written: then no line need be made. */
  get isOn(): boolean {
    return this.#format !== 'off';
  }

  /** How many lines were dropped so far. */
  get droppedCount(): number {
    return this.#droppedInAll;
  }

  /** Queues a line; it is dropped, and counted, while the reader of the log is too far behind. */
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

  /** Writes what waits before it returns, as far as the system takes it: for the end of the process. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const rest = this.#underWay;
    this.#underWay = null; // A write that the system is at already may repeat a line: better than to lose it.
    const bytes = Buffer.concat([rest ?? Buffer.alloc(0), this.#takeWaiting()]);
    let at = 0;
    try {
      while (at < bytes.length) at += writeSync(this.#descriptor, bytes, at);
    } catch {
      // Nobody reads the log any more, and there is nobody else to tell.
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
    if (this.#underWay === null && (this.#waiting.length > 0 || this.#dropped > 0)) this.#writeOn(this.#takeWaiting());
  }

  #writeOn(bytes: Buffer): void {
    this.#underWay = bytes;
    write(this.#descriptor, bytes, 0, bytes.length, null, (fault, written) => {
      if (this.#underWay !== bytes) return; // `flush` has taken over.
      if (fault?.code === 'EAGAIN') {
        setTimeout(() => this.#underWay === bytes && this.#writeOn(bytes), AGAIN_MS).unref();
        return;
      }
      if (fault === null && written < bytes.length) {
        this.#writeOn(bytes.subarray(written));
        return;
      }
      // Any other fault: nobody reads the log any more. These lines are lost and the next ones are tried.
      if (fault !== null) this.#droppedInAll += countLines(bytes);
      this.#underWay = null;
      this.#startWrite();
    });
  }
}

/** A thrown value with its causes, for the operator. Where it was thrown is told of our own mistakes alone. */
export function describeFailure(thrown: unknown): string {
  const parts: string[] = [];
  let cause: unknown = thrown;
  let isPlace = true;
  for (let depth = 0; depth < CAUSES_MAX && cause !== undefined && cause !== null; depth++) {
    isPlace &&= cause instanceof Error && MISTAKES.has(cause.name); // what a named failure was caused by is its explanation
    parts.push(cause instanceof Error ? describeError(cause, isPlace) : String(cause));
    cause = cause instanceof Error ? cause.cause : null;
  }
  return parts.join('\ncaused by ');
}

function describeError({ name, message, stack }: Error, isPlace: boolean): string {
  return isPlace && stack !== undefined ? stack : `${name}: ${message}`;
}

/** Whoever puts a key or a token where none belongs, such as into a path, finds its beginning in the log and no more. */
function hideKeys(text: string): string {
  return text.includes('k-tp-') ? text.replaceAll(/\b([st]k-tp-\w{4})\w+/g, '$1…') : text;
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (const byte of bytes) if (byte === NEWLINE) lines++;
  return lines;
}

function jsonLine(line: LogLine): string {
  const text = JSON.stringify(capStrings(line));
  if (text.length < bounds.logLineCharactersMax) return `${text}\n`;
  // Still one line of JSON: its plain values, and a word that the rest was too long.
  const plain: LogLine = {};
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

/** Text that could break the line, or pass for another member, is quoted. */
function prettyValue(value: unknown): string {
  const capped = capString(value);
  return typeof capped === 'string' && PLAIN.test(capped) ? capped : JSON.stringify(capped);
}

function capStrings(line: LogLine): LogLine {
  const capped: LogLine = {};
  for (const name in line) capped[name] = capString(line[name]);
  return capped;
}

function capString(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'string' || value.length <= STRING_CHARACTERS_MAX) return value;
  return `${value.slice(0, STRING_CHARACTERS_MAX)}…`;
}
