// A credential that is read again before it expires, so that no message waits for it.

import { assert } from '../base/assert.ts';
import { bounds } from '../config.ts';
import { Secret, type SecretUse } from '../secrets/secrets.ts';

export interface Loaded {
  /** For `use: 'aws'` the JSON of AwsKeys. */
  text: string;
  use: SecretUse;
  /** Every part that must not be shown; absent: the text. */
  parts?: readonly string[];
  /** When providers begin to refuse it, in milliseconds since 1970; null: not known. */
  expiresAtMs: number | null;
  /** When to read it again at the latest, whether or not it expires; null: never. */
  rereadMs: number | null;
}

/** Reads a credential. Rejects with an Error whose message is for the operator and has no secret. */
export type Load = (signal: AbortSignal) => Promise<Loaded>;

/** Begins to load at once. */
export class LiveSecret extends Secret {
  readonly #load: Load;
  readonly #nowMs: () => number;
  readonly #closed = new AbortController();
  #loaded: Loaded | null = null;
  #loading: Promise<void> | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #nextLoadMs = 0;

  constructor(load: Load, nowMs: () => number) {
    super('');
    this.#load = load;
    this.#nowMs = nowMs;
    this.#begin().catch(() => undefined); // whoever needs it asks `ready`
  }

  override reveal(): string {
    assert(this.#loaded !== null, 'a credential is revealed once it is ready');
    return this.#loaded.text;
  }

  override get use(): SecretUse {
    return this.#loaded?.use ?? 'key';
  }

  override ready(): Promise<void> | null {
    return this.#isUsable() ? null : this.#begin();
  }

  override onRefused(): void {
    if (this.#nowMs() >= this.#nextLoadMs) this.#begin().catch(() => undefined);
  }

  override parts(): readonly string[] {
    return this.#loaded?.parts ?? NO_PARTS;
  }

  close(): void {
    this.#closed.abort();
    clearTimeout(this.#timer);
  }

  #isUsable(): boolean {
    if (this.#loaded === null) return false;
    const { expiresAtMs } = this.#loaded;
    return expiresAtMs === null || this.#nowMs() < expiresAtMs;
  }

  /** One attempt at a time; after a failure the next waits. */
  #begin(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const signal = AbortSignal.any([this.#closed.signal, AbortSignal.timeout(bounds.credentialLoadMsMax)]);
      const loaded = await this.#load(signal);
      this.#loaded = { ...loaded, parts: loaded.parts ?? [loaded.text] };
      this.#failures = 0;
    } catch (thrown) {
      this.#failures++;
      throw thrown;
    } finally {
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#closed.signal.aborted) return;
    const nowMs = this.#nowMs();
    this.#nextLoadMs = nowMs + bounds.credentialReloadMsLeast;
    const delayMs = this.#failures > 0 ? retryDelayMs(this.#failures) : refreshDelayMs(this.#loaded, nowMs);
    if (delayMs === null) return;
    this.#timer = setTimeout(() => void this.#begin().catch(() => undefined), delayMs);
    this.#timer.unref();
  }
}

const NO_PARTS: readonly string[] = [];

function retryDelayMs(failures: number): number {
  return Math.min(bounds.credentialReloadMsLeast * 2 ** Math.min(failures - 1, 16), bounds.credentialRetryMsMax);
}

/** Well ahead of expiry; null: never. */
function refreshDelayMs(loaded: Loaded | null, nowMs: number): number | null {
  if (loaded === null) return null;
  const { expiresAtMs, rereadMs } = loaded;
  const leftMs = expiresAtMs === null ? Number.POSITIVE_INFINITY : expiresAtMs - nowMs;
  const aheadMs = leftMs - Math.min(bounds.credentialAheadMs, leftMs / 2);
  const delayMs = Math.min(aheadMs, rereadMs ?? Number.POSITIVE_INFINITY);
  return delayMs === Number.POSITIVE_INFINITY ? null : Math.max(bounds.credentialReloadMsLeast, delayMs);
}
