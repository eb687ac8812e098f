// What a stream holds against what it has used. The hold grows ahead of need, so that the relay waits for it
// only when nothing is covered any more; what a crash would bill is written down as the stream goes on.

import { setTimeout as sleep } from 'node:timers/promises';
import { ABSENT, type Placed } from '../base/roster.ts';
import { machineTimers, within } from '../base/timers.ts';
import {
  type Offer,
  outputTokensAfter,
  outputTokensThatFit,
  priceMessage,
  priceWorstCase,
} from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import type { Admitted, NodeLedger, UsageRecord } from '../ledger/ledger.ts';
import type { MessageCounter } from '../usage/usage.ts';
import type { TokenCounts } from '../wire/wire.ts';
import type { MessagePlan } from './plan-message.ts';
import { endedElsewhere } from './stop-error.ts';

const RETRY_MS_FIRST = 50;
const RETRY_MS_MAX = 2_000;
const NOT_WRITTEN = -1;
const SHORT_OF_MONEY = 16; // times what is held: where no more is there, what is held too much is given back at once

/** What a cover asks of its message. */
export interface Covered {
  readonly requestId: string;
  /** Of the stream that is under way: another one where that was given up. */
  readonly counter: MessageCounter;
  readonly plan: MessagePlan;
  readonly offer: Offer;
  /** The max_tokens that went to the provider. */
  readonly maxTokens: number;
  readonly settleWaitMs: number;
  /** The record as it would be if this service ended now. */
  checkpoint(): UsageRecord;
  /** The money is at its end, or someone else ended the hold: the upstream is to be stopped. */
  stopForMoney(): void;
  stopElsewhere(): void;
}

export class Cover implements Placed {
  place = ABSENT; // among the covers that are looked at
  readonly #ledger: NodeLedger;
  readonly #message: Covered;
  readonly #isPoor: boolean;
  #held: number;
  /** The counts of the prompt, once the provider has told them. */
  #prompt: TokenCounts | null = null;
  #coveredTokens: number;
  /** Used when it was last found to be covered. */
  #givenTokens = 0;
  /** The last extension gave less than was asked for. */
  #isShort = false;
  #asking: Promise<void> | null = null;
  #checkpointedTokens = NOT_WRITTEN;
  /** One was written, of this stream or of one before it. */
  #hasCheckpoint = false;
  #isWriting = false;
  #isClosed = false;

  constructor(ledger: NodeLedger, message: Covered, { amount, available }: Admitted) {
    this.#ledger = ledger;
    this.#message = message;
    this.#held = amount;
    this.#isPoor = available < amount * SHORT_OF_MONEY;
    this.#coveredTokens = this.#tokensFor(amount);
  }

  /** The output tokens that what is held pays for. */
  get coveredTokens(): number {
    return this.#coveredTokens;
  }

  /** The message ends: what is still on its way changes nothing any more. */
  close(): void {
    this.#isClosed = true;
  }

  /** What began is not the caller's: another stream will begin. What a crash would bill of it is taken back at once. */
  rewind(): void {
    this.#prompt = null;
    this.#givenTokens = 0;
    this.#coveredTokens = this.#tokensFor(this.#held);
    if (this.#hasCheckpoint) this.#writeCheckpoint();
    // Its prompt may have been less than the next one's: what was given back for that is held again.
    if (this.#asking === null && this.#held < this.#amountAhead(0)) this.#startAsking(0);
  }

  /** The stream began: what is held for its prompt is corrected to what the provider counted. */
  begin(): void {
    this.#prompt = this.#message.counter.reportedPrompt();
    this.#coveredTokens = this.#tokensFor(this.#held);
    this.#checkpointedTokens = NOT_WRITTEN; // what another stream had used is not this one's, though it be as much
    if (this.#isPoor) this.#correct(null);
  }

  /**
   * Looks at what was used so far, and asks for more ahead of need. Null: it is covered. Otherwise resolves to
   * whether it is, when that is known. Rejects with store_unavailable.
   */
  see(): Promise<boolean> | null {
    const used = this.#usedTokens();
    const isCovered = used <= this.#coveredTokens;
    if (isCovered) this.#givenTokens = used;
    if (used <= this.#coveredTokens - this.#aheadTokens(used)) return null;
    const isAskedNow = this.#asking === null && !(isCovered && this.#isShort);
    if (isAskedNow) this.#startAsking(used);
    if (isCovered) return null;
    // A store may neither answer nor fail.
    return within(machineTimers, this.#message.settleWaitMs, this.#decide(used, isAskedNow), storeIsSilent);
  }

  /** Once a second: what is used unseen is looked at, and what a crash would bill is written down if it changed. */
  look(): void {
    if (this.#isClosed) return;
    const { counter } = this.#message;
    const deciding = this.see();
    deciding?.then(
      (isCovered) => {
        // Of a stream that was given up meanwhile nothing has to be paid.
        const isOfThisStream = counter === this.#message.counter;
        if (!isCovered && isOfThisStream && !this.#isClosed) this.#message.stopForMoney();
      },
      () => {}, // the relay hears of a store that is gone when it needs the cover itself
    );
    if (this.#usedTokens() !== this.#checkpointedTokens && !this.#isWriting) this.#writeCheckpoint();
  }

  #writeCheckpoint(): void {
    this.#hasCheckpoint = true;
    this.#checkpointedTokens = this.#usedTokens();
    this.#correct(this.#message.checkpoint());
  }

  async #decide(used: number, isAskedNow: boolean): Promise<boolean> {
    const { counter } = this.#message;
    await this.#asking;
    if (used > this.#coveredTokens && !isAskedNow) {
      if (this.#asking === null) this.#startAsking(used); // the last was asked before this was used
      await this.#asking;
    }
    if (used > this.#coveredTokens) return false;
    if (counter === this.#message.counter) this.#givenTokens = used;
    return true;
  }

  #startAsking(used: number): void {
    this.#asking = this.#extend(used);
    this.#asking.catch(() => {}); // who needs the cover hears of it
  }

  /** How much of what came since it was last covered is paid for, from 0 to 1. */
  payableShare(): number {
    const came = this.#usedTokens() - this.#givenTokens;
    return came <= 0 ? 1 : Math.max(0, Math.min(1, (this.#coveredTokens - this.#givenTokens) / came));
  }

  #usedTokens(): number {
    return this.#message.counter.coverTokens(this.#message.maxTokens);
  }

  /** How far ahead of need more is asked for: half a tranche, but not beyond the message's own end. */
  #aheadTokens(used: number): number {
    const { plan, maxTokens } = this.#message;
    return Math.min(Math.ceil(plan.trancheTokens / 2), Math.max(0, maxTokens - used));
  }

  #amountAhead(used: number): number {
    const { plan, maxTokens } = this.#message;
    return this.#amountFor(Math.max(used, Math.min(used + plan.trancheTokens, maxTokens)));
  }

  async #extend(used: number): Promise<void> {
    const { requestId, settleWaitMs } = this.#message;
    const amount = this.#amountAhead(used);
    const untilMs = performance.now() + settleWaitMs;
    try {
      for (let pauseMs = RETRY_MS_FIRST; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
        try {
          await this.#ask({ kind: 'extend', requestId, amount, checkpoint: null }, amount);
          return;
        } catch (failure) {
          if (this.#isClosed || !isStoreGone(failure) || performance.now() + pauseMs > untilMs) throw failure;
          await sleep(pauseMs);
        }
      }
    } finally {
      this.#asking = null;
    }
  }

  /** Gives back what is held beyond the next tranche. Not waited for: a failing store is asked again at the next look. */
  #correct(checkpoint: UsageRecord | null): void {
    const ahead = this.#amountAhead(this.#usedTokens());
    const amount = this.#asking === null && ahead < this.#held ? ahead : 'same';
    if (amount === 'same' && checkpoint === null) return;
    this.#isWriting = true;
    if (amount !== 'same') this.#holds(amount); // before it is answered: the answer may be lost
    this.#ask(
      { kind: 'extend', requestId: this.#message.requestId, amount, checkpoint },
      amount === 'same' ? 0 : amount,
    )
      .catch(() => {
        this.#checkpointedTokens = NOT_WRITTEN;
      })
      .finally(() => {
        this.#isWriting = false;
      });
  }

  async #ask(operation: Parameters<NodeLedger['extend']>[0], wanted: number): Promise<void> {
    const answer = await this.#ledger.extend(operation);
    if (this.#isClosed) return;
    if (!answer.ok) {
      this.#message.stopElsewhere();
      throw endedElsewhere();
    }
    this.#holds(answer.amount);
    if (operation.amount !== 'same') this.#isShort = answer.amount < wanted;
  }

  #holds(amount: number): void {
    this.#held = amount;
    this.#coveredTokens = this.#tokensFor(amount);
  }

  #amountFor(outputTokens: number): number {
    const { offer, plan } = this.#message;
    const { price } = offer.model;
    const multiplier = offer.group.multiplierMillionths;
    const { speed, webSearches } = plan.firstCase;
    return this.#prompt === null
      ? priceWorstCase(price, { ...plan.firstCase, outputTokens }, multiplier)
      : priceMessage(price, { ...this.#prompt, output: outputTokens, webSearches }, multiplier, speed);
  }

  #tokensFor(amount: number): number {
    const { offer, plan } = this.#message;
    const { price } = offer.model;
    const multiplier = offer.group.multiplierMillionths;
    const { speed, webSearches } = plan.firstCase;
    return this.#prompt === null
      ? outputTokensThatFit(price, plan.firstCase, multiplier, amount)
      : outputTokensAfter(price, { ...this.#prompt, webSearches }, multiplier, speed, amount);
  }
}

function storeIsSilent(): TurnpikeError {
  return new TurnpikeError('store_unavailable', 'The ledger cannot be written at the moment.');
}

function isStoreGone(failure: unknown): boolean {
  return failure instanceof TurnpikeError && failure.code === 'store_unavailable';
}
