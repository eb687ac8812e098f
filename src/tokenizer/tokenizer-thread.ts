// The tokenizer's thread as the main thread sees it. Starts with the first slice, ends when idle so that the memory of
// the vocabularies is free again, and is replaced when it dies or hangs.

import { assert } from '../base/assert.ts';
import { machineTimers, within } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import type { VocabularyName } from './families.ts';
import type { CountedSlice } from './slices.ts';
import type { SliceCounter } from './token-counter.ts';

/** The texts are in `bytes` as UTF-8, one after the other; `ends` has their ends. */
export interface ToTokenizer {
  vocabulary: VocabularyName;
  hasSingleDigits: boolean;
  scripts: CountedSlice['scripts'];
  bytes: ArrayBuffer;
  ends: number[];
}

export type FromTokenizer = { tokens: number } | { failed: string };

const encoder = new TextEncoder();

/** Bytes are moved to the thread; strings would be copied as objects. */
export function packSlice({ vocabulary, hasSingleDigits, scripts, texts }: CountedSlice): ToTokenizer {
  const encoded = texts.map((text) => encoder.encode(text));
  const bytes = new Uint8Array(encoded.reduce((sum, { length }) => sum + length, 0));
  const ends: number[] = [];
  let end = 0;
  for (const one of encoded) {
    bytes.set(one, end);
    end += one.length;
    ends.push(end);
  }
  return { vocabulary, hasSingleDigits, scripts, bytes: bytes.buffer, ends };
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

export function unpackSlice({ vocabulary, hasSingleDigits, scripts, bytes, ends }: ToTokenizer): CountedSlice {
  const texts = ends.map((end, at) => decoder.decode(new Uint8Array(bytes).subarray(ends[at - 1] ?? 0, end)));
  return { vocabulary, hasSingleDigits, scripts, texts };
}

interface Asked {
  resolve(tokens: number): void;
  reject(failure: Error): void;
}

export class TokenizerThread implements SliceCounter {
  readonly #script: URL;
  readonly #onDeath: (cause: string) => void;
  readonly #sliceMsMax: () => number;
  readonly #idleMs: number;
  #worker: Worker | null = null;
  #asked: Asked | null = null;
  #isClosed = false;
  #isUsed = false;
  /** The thread has counted a slice. */
  #hasAnswered = false;
  #stopWatching = () => {};
  #restUntilMs = 0;

  /** `onDeath` is called when the thread dies or hangs; a later slice starts another. */
  constructor(
    script: URL,
    onDeath: (cause: string) => void,
    sliceMsMax = () => bounds.tokenizerSliceMsMax as number,
    idleMs: number = bounds.tokenizerIdleMs,
  ) {
    this.#script = script;
    this.#onDeath = onDeath;
    this.#sliceMsMax = sliceMsMax;
    this.#idleMs = idleMs;
  }

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /** Rejects if the thread dies, hangs, does not start, or is closed. */
  async count(slice: CountedSlice): Promise<number> {
    assert(this.#asked === null, 'the tokenizer is asked for one slice at a time');
    if (this.#isClosed) throw new Error('the tokenizer is closed');
    if (performance.now() < this.#restUntilMs) throw new Error('the thread does not start');
    const worker = this.#worker ?? this.#begin();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#asked = { resolve, reject };
    this.#isUsed = true;
    const packed = packSlice(slice);
    worker.postMessage(packed, [packed.bytes]);
    const late = new Error('the thread does not respond');
    try {
      return await within(machineTimers, this.#sliceMsMax(), promise, () => late);
    } catch (failure) {
      if (failure === late) this.#die(worker, late.message);
      throw failure;
    } finally {
      this.#asked = null;
    }
  }

  /** Ends the thread. A slice that is being counted fails. */
  close(): void {
    this.#isClosed = true;
    this.#end('the service is shutting down');
  }

  #begin(): Worker {
    const worker = new Worker(this.#script.href, { smol: true, ref: false });
    worker.onmessage = ({ data }) => this.#receive(worker, data);
    worker.onerror = (event) => this.#die(worker, event.message);
    worker.addEventListener('close', () => this.#die(worker, 'the thread ended'));
    this.#stopWatching = machineTimers.every(this.#idleMs, () => this.#endIfIdle());
    this.#worker = worker;
    return worker;
  }

  #receive(worker: Worker, answer: FromTokenizer): void {
    if (this.#worker !== worker) return;
    if ('failed' in answer) this.#die(worker, answer.failed);
    else {
      this.#hasAnswered = true;
      this.#asked?.resolve(answer.tokens);
    }
  }

  #endIfIdle(): void {
    if (!this.#isUsed && this.#asked === null) this.#end('idle');
    this.#isUsed = false;
  }

  #die(worker: Worker, cause: string): void {
    if (this.#worker !== worker) return; // it was ended here, or its death is known
    if (!this.#hasAnswered) this.#restUntilMs = performance.now() + bounds.tokenizerRestartMs;
    this.#end(cause);
    this.#onDeath(cause);
  }

  #end(cause: string): void {
    const worker = this.#worker;
    this.#worker = null;
    this.#hasAnswered = false;
    this.#stopWatching();
    worker?.terminate();
    this.#asked?.reject(new Error(cause));
  }
}
