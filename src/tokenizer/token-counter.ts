// Counts tokens for many accounts at once. Accounts take turns by slices of text, each holds a fair share of the text that
// waits, and a count that would take too long is given up.

import { FairQueue } from '../base/fair-queue.ts';
import { FairShareQuota } from '../base/fair-share-quota.ts';
import { machineTimers, type Timers, within } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { overloaded } from '../errors.ts';
import { familyOf } from './families.ts';
import { type CountedSlice, sliceTexts } from './slices.ts';

export interface CountQuestion {
  account: number;
  /** The provider's name of the model. */
  model: string;
  texts: readonly string[];
  /** Tokens to add that are not text. */
  extraTokens?: number;
}

/** `refused`: too much waits, in all or of the account. `failed`: the thread died, or the tokenizer is closed. */
export const TOKEN_COUNT_RESULTS = ['counted', 'refused', 'late', 'failed'] as const;
export type CountResult = (typeof TOKEN_COUNT_RESULTS)[number];

export interface EndedCount {
  result: CountResult;
  seconds: number;
}

/** Counts one slice at a time. */
export interface SliceCounter {
  count(slice: CountedSlice): Promise<number>;
  close(): void;
}

export class Tokenizer {
  readonly #slices: SliceCounter;
  readonly #onEnded: (ended: EndedCount) => void;
  readonly #timers: Timers;
  readonly #characters = new FairShareQuota(() => bounds.tokenizerCharactersMax);
  readonly #counts = new FairShareQuota(() => bounds.tokenizerCountsMax);
  /** Counts are bounded above; each waits here for its next slice while one is counted. */
  readonly #turns = new FairQueue<number>(
    {
      running: 1,
      runningPerOwner: 1,
      tasks: 2 * bounds.tokenizerCountsMax,
      tasksPerOwner: 2 * bounds.tokenizerCountsMax,
    },
    () => overloaded('Too many counts wait.'),
  );
  #isClosed = false;

  /** `onEnded` is called at the end of each count. */
  constructor(slices: SliceCounter, onEnded: (ended: EndedCount) => void = () => {}, timers: Timers = machineTimers) {
    this.#slices = slices;
    this.#onEnded = onEnded;
    this.#timers = timers;
  }

  /** The tokens of the texts for the model, rounded; null if they cannot be counted now. Never rejects. */
  async count(question: CountQuestion): Promise<number | null> {
    const startedMs = performance.now();
    const { result, tokens } = await this.#answer(question);
    this.#onEnded({ result, seconds: (performance.now() - startedMs) / 1000 });
    return tokens;
  }

  /** Counts in progress end with null. */
  close(): void {
    this.#isClosed = true;
    this.#slices.close();
  }

  async #answer(question: CountQuestion): Promise<{ result: CountResult; tokens: number | null }> {
    const { account, texts } = question;
    if (this.#isClosed) return { result: 'failed', tokens: null };
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (this.#counts.take(account, 1) !== null) return { result: 'refused', tokens: null };
    if (this.#characters.take(account, characters) !== null) {
      this.#counts.giveBack(account, 1);
      return { result: 'refused', tokens: null };
    }
    const ending = new AbortController();
    const counting = this.#countAll(question, ending.signal).finally(() => {
      this.#counts.giveBack(account, 1);
      this.#characters.giveBack(account, characters);
    });
    const late = new Error('the count takes too long');
    try {
      const tokens = await within(this.#timers, bounds.tokenizerWaitMsMax, counting, () => late);
      return { result: 'counted', tokens };
    } catch (failure) {
      ending.abort(late);
      return { result: failure === late ? 'late' : 'failed', tokens: null };
    }
  }

  async #countAll({ account, model, texts, extraTokens = 0 }: CountQuestion, signal: AbortSignal): Promise<number> {
    const { vocabulary, hasSingleDigits, scripts, factor } = familyOf(model);
    let tokens = 0;
    let turn: Disposable | null = null;
    try {
      for (const slice of sliceTexts(texts)) {
        const entering = this.#turns.enter(account, signal); // before its turn ends, to keep its place among the accounts
        turn?.[Symbol.dispose]();
        turn = null;
        turn = await entering;
        tokens += await this.#slices.count({ vocabulary, hasSingleDigits, scripts, texts: slice });
      }
    } finally {
      turn?.[Symbol.dispose]();
    }
    return Math.round(tokens * factor) + extraTokens;
  }
}
