// Takes the requests out of `{"requests": […]}` as it arrives, one at a time: the whole may be far larger than memory should hold.
// Each is checked later, on its own.

import { freeBytes } from '../base/sealed-chunks.ts';
import { TurnpikeError } from '../errors.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [BRACE_OPEN, BRACE_CLOSE, BRACKET_OPEN, BRACKET_CLOSE] = [0x7b, 0x7d, 0x5b, 0x5d];
const [COLON, COMMA, SPACE] = [0x3a, 0x2c, 0x20];
const NAME_BYTES_MAX = 100;

/** The part that comes next. */
type Expected = 'object' | 'name' | 'in name' | 'colon' | 'list' | 'request' | 'in request' | 'after request' | 'end';

function isBlank(byte: number): boolean {
  return byte === SPACE || (byte >= 0x09 && byte <= 0x0d);
}

export class RequestSplitter {
  readonly #requestBytesMax: number;
  #expected: Expected = 'object';
  #name = '';
  /** The parts of a request that came in earlier pieces. */
  #begun: Uint8Array[] = [];
  #begunBytes = 0;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #count = 0;

  constructor(requestBytesMax: number) {
    this.#requestBytesMax = requestBytesMax;
  }

  /** The requests that end in this piece, each without line breaks. Throws invalid_json, invalid_request, body_too_large. */
  *take(piece: Uint8Array): Generator<Uint8Array> {
    let from = 0;
    for (let at = 0; at < piece.byteLength; at++) {
      const byte = piece[at] as number;
      if (this.#expected !== 'in request') {
        if (this.#expected === 'in name' || !isBlank(byte)) this.#step(byte);
        if (byte === BRACE_OPEN && this.#depth === 1) from = at;
        continue;
      }
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#isInText = false;
        else if (byte < SPACE) throw malformed(`requests.${this.#count}: a string has a control character`);
        continue;
      }
      if (byte === QUOTE) this.#isInText = true;
      else if (byte === BRACE_OPEN || byte === BRACKET_OPEN) this.#depth++;
      else if (byte < SPACE) piece[at] = SPACE;
      else if (byte === BRACE_CLOSE || byte === BRACKET_CLOSE) {
        this.#depth--;
        if (this.#depth > 0) continue;
        this.#add(piece.subarray(from, at + 1));
        this.#expected = 'after request';
        this.#count++;
        yield this.#takeBegun();
      }
    }
    if (this.#expected === 'in request') this.#add(piece.slice(from));
  }

  /** Throws invalid_json if the body is not complete, invalid_request if it has no list of requests. */
  end(): void {
    if (this.#expected !== 'end') throw malformed('the body is not complete JSON');
    if (this.#count === 0) throw new TurnpikeError('invalid_request', 'requests: List should have at least 1 item');
  }

  #add(bytes: Uint8Array): void {
    this.#begunBytes += bytes.byteLength;
    if (this.#begunBytes > this.#requestBytesMax)
      throw new TurnpikeError(
        'body_too_large',
        `requests.${this.#count}: must not have more than ${this.#requestBytesMax} bytes`,
      );
    this.#begun.push(bytes);
  }

  #takeBegun(): Uint8Array {
    const whole = Buffer.concat(this.#begun);
    for (const part of this.#begun.slice(0, -1)) freeBytes(part);
    this.#begun = [];
    this.#begunBytes = 0;
    return whole;
  }

  #step(byte: number): void {
    switch (this.#expected) {
      case 'object':
        this.#require(byte, BRACE_OPEN, 'name');
        return;
      case 'name':
        if (byte === BRACE_CLOSE) {
          if (this.#name === '') throw new TurnpikeError('invalid_request', 'requests: Field required');
          this.#expected = 'end';
          return;
        }
        if (byte === COMMA && this.#name !== '') return;
        this.#name = '';
        this.#require(byte, QUOTE, 'in name');
        return;
      case 'in name':
        if (byte === QUOTE) {
          this.#expected = 'colon';
          return;
        }
        if (this.#name.length >= NAME_BYTES_MAX) throw unknownField(this.#name);
        this.#name += String.fromCharCode(byte);
        return;
      case 'colon':
        if (this.#name !== 'requests') throw unknownField(this.#name);
        this.#require(byte, COLON, 'list');
        return;
      case 'list':
        if (byte !== BRACKET_OPEN) throw new TurnpikeError('invalid_request', 'requests: Input should be a valid list');
        this.#expected = 'request';
        return;
      case 'request':
        if (byte === BRACKET_CLOSE && this.#count === 0) {
          this.#expected = 'name';
          return;
        }
        if (byte !== BRACE_OPEN)
          throw new TurnpikeError('invalid_request', `requests.${this.#count}: Input should be a valid dictionary`);
        this.#depth = 1;
        this.#expected = 'in request';
        return;
      case 'after request':
        if (byte === BRACKET_CLOSE) this.#expected = 'name';
        else this.#require(byte, COMMA, 'request');
        return;
      default:
        throw malformed('something follows the body');
    }
  }

  #require(byte: number, wanted: number, next: Expected): void {
    if (byte !== wanted) throw malformed(`"${String.fromCharCode(wanted)}" is missing`);
    this.#expected = next;
  }
}

function malformed(sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_json', `body: ${sentence}`);
}

function unknownField(name: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${name}: Extra inputs are not permitted`);
}
