// Remembered refusals, so that a flood of requests without money does not reach the store. Forgotten within a second,
// and immediately when money or a slot is released.

import { bounds } from '../config/config.ts';
import type { Admit, Refusal, Take } from './operation.ts';

interface Remembered {
  refusal: Refusal;
  /** The requested amount. */
  amount: number;
  untilMs: number;
}

export class Refusals {
  /**
   * Keyed by the exhausted meter: "a7" an account's money, "g7 default" a group's rates, "k9" a key. Behind holds:
   * "a7 held", "k9 held".
   */
  readonly #remembered = new Map<string, Remembered>();
  #timesForgotten = 0;

  /** How often everything was forgotten. */
  get timesForgotten(): number {
    return this.#timesForgotten;
  }

  /** The refusal that the ledger would return again, or null if it must be asked. */
  find(operation: Admit | Take, nowMs: number): Refusal | null {
    if (this.#remembered.size === 0) return null;
    if (operation.kind === 'admit' && operation.claim !== undefined) return null; // the record may have been answered
    return (
      this.#match(`a${operation.account}`, operation, nowMs) ??
      this.#match(`a${operation.account} held`, operation, nowMs) ??
      this.#match(`g${operation.account} ${operation.group}`, operation, nowMs) ??
      this.#match(`k${operation.key}`, operation, nowMs) ??
      this.#match(`k${operation.key} held`, operation, nowMs)
    );
  }

  remember(operation: Admit | Take, refusal: Refusal, nowMs: number): void {
    const lastsMs = isBehindOthers(refusal) ? bounds.refusalBehindOthersRememberedMs : bounds.refusalRememberedMs;
    const untilMs = Math.min(nowMs + lastsMs, refusal.retryAtMs ?? Number.POSITIVE_INFINITY);
    const name = nameShort(operation, refusal);
    if (name === null || untilMs <= nowMs) return;
    if (this.#remembered.size >= bounds.rememberedRefusalsMax) this.#remembered.clear();
    const amount = operation.kind === 'admit' ? needOf(operation) : 0;
    this.#remembered.set(name, { refusal, amount, untilMs });
  }

  /** Something of the account or key was given back or changed. */
  forget(account: number, key: number | null, group: string | null): void {
    if (this.#remembered.size === 0) return;
    this.#remembered.delete(`a${account}`);
    this.#remembered.delete(`a${account} held`);
    if (group !== null) this.#remembered.delete(`g${account} ${group}`);
    if (key === null) return;
    this.#remembered.delete(`k${key}`);
    this.#remembered.delete(`k${key} held`);
  }

  /** Limits changed: remembered refusals no longer apply. */
  forgetAll(): void {
    this.#timesForgotten++;
    this.#remembered.clear();
  }

  #match(name: string, operation: Admit | Take, nowMs: number): Refusal | null {
    const remembered = this.#remembered.get(name);
    if (remembered === undefined) return null;
    if (remembered.untilMs <= nowMs) {
      this.#remembered.delete(name);
      return null;
    }
    const { refusal } = remembered;
    if (operation.kind === 'take') return refusal.reason === 'requests_rate' ? refusal : null;
    if (refusal.reason === 'insufficient') return isAnswered(needOf(operation), remembered) ? refusal : null;
    return refusal;
  }
}

/** Holds or slots of other messages cause the refusal. They may end at any time, also on another node. */
function isBehindOthers({ behindHolds, reason }: Refusal): boolean {
  return behindHolds || reason === 'concurrency';
}

function needOf({ amount, least }: Admit): number {
  return least ?? amount;
}

/**
 * Whether the refusal also holds for this amount: a smaller one may fit once holds end, a larger one may never fit.
 */
function isAnswered(amount: number, { refusal, amount: refused }: Remembered): boolean {
  return refusal.behindHolds ? amount > refusal.available && amount <= refused : amount >= refused;
}

/** Refusals behind holds have their own name, otherwise alternating messages of both kinds would evict each other. */
function nameShort(operation: Admit | Take, refusal: Refusal): string | null {
  const owner = refusal.ofKey ? `k${operation.key}` : `a${operation.account}`;
  switch (refusal.reason) {
    case 'insufficient':
      if (refusal.hasPlan && !refusal.ofKey) return null; // the plan or the wallet may pay for another group
      return refusal.behindHolds ? `${owner} held` : owner;
    case 'requests_rate':
    case 'input_tokens_rate':
    case 'output_tokens_rate':
    case 'concurrency':
      return refusal.ofKey ? `k${operation.key}` : `g${operation.account} ${operation.group}`;
    default:
      return null; // a disabled key is refused before the ledger is asked
  }
}
