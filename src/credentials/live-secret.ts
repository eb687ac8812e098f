// A credential that is read again before it expires, so that no message waits for it.

import { assert } from '../base/assert.ts';
import { bounds } from '../config/config.ts';
import { Secret, type SecretUse } from '../secrets/secrets.ts';

export interface Loaded {
  /** For `use: 'aws'` the JSON of AwsKeys. */
  text: string;
  use: SecretUse;
  /** Every text that must not be shown, also of what it was made from; absent: the text. */
  parts?: readonly string[];
  /** When providers begin to refuse it, in milliseconds since 1970; null: not known. */
  expiresAtMs: number | null;
  /** When to read it again at the latest, whether or not it expires; null: never. */
  rereadMs: number | null;
}

/**
 * Reads a credential; with `isFresh` without an answer from an earlier reading. Rejects with an Error whose message is for
 * the operator and has no secret.
 */
export type Load = (signal: AbortSignal, isFresh: boolean) => Promise<Loaded>;

export interface Timer {
  nowMs(): number;
  /** Calls once, later. Returns a function that cancels it. */
  after(ms: number, call: () => void): () => void;
}

interface LiveSecretOptions {
  load: Load;
  timer: Timer;
  /** Aborts readings in progress. */
  stopped: AbortSignal;
  /** Called when reading begins to fail, with the reason, and with null when it works again. */
  onState(failure: string | null): void;
}

/** Begins to load at once. */
export class LiveSecret extends Secret {
  readonly #options: LiveSecretOptions;
  #loaded: Loaded | null = null;
  /** With those of the text before it, which messages in progress still use. */
  #parts: readonly string[] = NO_PARTS;
  #loading: Promise<void> | null = null;
  #cancelTimer: () => void = () => undefined;
  #failure: Error | null = null;
  #failures = 0;
  #nextLoadMs = 0;
  #isClosed = false;

  constructor(options: LiveSecretOptions) {
    super('');
    this.#options = options;
    this.#refresh(false);
  }

  override reveal(): string {
    assert(this.#loaded !== null, 'a credential is revealed once it is ready');
    return this.#loaded.text;
  }

  override get use(): SecretUse {
    return this.#loaded?.use ?? 'key';
  }

  /**
   * For a few seconds after a reading, no message waits for another one: it failed, or gave what has expired by this
   * clock, which the provider then decides.
   */
  override ready(): Promise<void> | null {
    if (this.#isUsable()) return null;
    if (this.#loading !== null || this.#nowMs() >= this.#nextLoadMs) return this.#begin(false);
    return this.#failure === null ? null : Promise.reject(this.#failure);
  }

  override get failure(): string | null {
    return this.#failure?.message ?? null;
  }

  override onRefused(): void {
    if (this.#nowMs() >= this.#nextLoadMs) this.#refresh(true);
  }

  override reread(): Promise<void> {
    return this.#begin(true);
  }

  override identity(): unknown {
    return this.#loaded?.use === 'key' ? this.#loaded.text : this;
  }

  override parts(): readonly string[] {
    return this.#parts;
  }

  /** Stops refreshing. A message that still has it can read it. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
  }

  #nowMs(): number {
    return this.#options.timer.nowMs();
  }

  #isUsable(): boolean {
    if (this.#loaded === null) return false;
    const { expiresAtMs } = this.#loaded;
    return expiresAtMs === null || this.#nowMs() < expiresAtMs;
  }

  /** In the background: `ready` and `onState` report what fails. */
  #refresh(isFresh: boolean): void {
    this.#begin(isFresh).catch(() => undefined);
  }

  /** One reading at a time. */
  #begin(isFresh: boolean): Promise<void> {
    this.#loading ??= this.#read(isFresh).finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #read(isFresh: boolean): Promise<void> {
    this.#cancelTimer();
    try {
      const signal = AbortSignal.any([this.#options.stopped, AbortSignal.timeout(bounds.credentialLoadMsMax)]);
      this.#accept(await settleBy(this.#options.load(signal, isFresh), signal));
      if (this.#failure !== null) this.#options.onState(null);
      this.#failure = null;
      this.#failures = 0;
    } catch (thrown) {
      const failure = thrown instanceof Error ? thrown : new Error(String(thrown));
      const isNew = this.#failure === null && !this.#options.stopped.aborted;
      this.#failure = failure;
      this.#failures++;
      if (isNew) this.#options.onState(failure.message);
      throw failure;
    } finally {
      this.#schedule();
    }
  }

  #accept(loaded: Loaded): void {
    const parts = loaded.parts ?? [loaded.text];
    const before = this.#loaded?.parts ?? NO_PARTS;
    if (parts.some((part) => !before.includes(part))) this.#parts = [...new Set([...parts, ...before])];
    this.#loaded = { ...loaded, parts };
  }

  #schedule(): void {
    const nowMs = this.#nowMs();
    this.#nextLoadMs = nowMs + bounds.credentialReloadMsLeast;
    if (this.#isClosed || this.#options.stopped.aborted) return;
    const delayMs = this.#failures > 0 ? retryDelayMs(this.#failures) : refreshDelayMs(this.#loaded, nowMs);
    if (delayMs !== null) this.#cancelTimer = this.#options.timer.after(delayMs, () => this.#refresh(false));
  }
}

const NO_PARTS: readonly string[] = [];

/** Not every library can be aborted; loaders know better what did not answer. */
async function settleBy(loading: Promise<Loaded>, signal: AbortSignal): Promise<Loaded> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const failure = new Error(`there was no answer within ${bounds.credentialLoadMsMax / 1000} s`);
  const onAbort = () => void setTimeout(() => reject(failure), bounds.credentialAbortMsMax);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([loading, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function retryDelayMs(failures: number): number {
  return Math.min(bounds.credentialReloadMsLeast * 2 ** Math.min(failures - 1, 16), bounds.credentialRetryMsMax);
}

/** Well ahead of expiry; null: never. */
function refreshDelayMs(loaded: Loaded | null, nowMs: number): number | null {
  if (loaded === null) return null;
  const { expiresAtMs, rereadMs } = loaded;
  if (expiresAtMs === null && rereadMs === null) return null;
  const leftMs = expiresAtMs === null ? bounds.credentialWaitMsMax : expiresAtMs - nowMs;
  const aheadMs = leftMs - Math.min(bounds.credentialAheadMs, leftMs / 2);
  const delayMs = Math.min(aheadMs, rereadMs ?? aheadMs, bounds.credentialWaitMsMax);
  return Math.max(bounds.credentialReloadMsLeast, delayMs);
}
