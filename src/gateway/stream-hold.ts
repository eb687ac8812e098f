// The hold of a stream. It is extended ahead of need, so that the relay waits only when nothing is covered anymore, if
// need be for an automatic recharge.
// Checkpoints record what a crash would bill.

import { payingAccountOf } from '../accounts/accounts.ts';
import { ABSENT, type Placed, Roster } from '../base/roster.ts';
import { machineTimers, sleep, within } from '../base/timers.ts';
import { outputTokensAfter, outputTokensThatFit, priceDearest, priceWorstCase } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type Admitted, isStoreUnavailable, type NodeLedger, type UsageRecord } from '../ledger/ledger.ts';
import { type MessageCounter, splitSound } from '../usage/usage.ts';
import type { TokenCounts } from '../wire/wire.ts';
import type { Gateway } from './dependencies.ts';
import { endedElsewhere } from './message-errors.ts';
import type { AdmittedRequest } from './plan-message.ts';
import { noteWallet } from './recharges.ts';

const RETRY_MS_FIRST = 50;
const RETRY_MS_MAX = 2_000;
const NOT_WRITTEN = -1;
const SHORT_OF_MONEY = 16; // times the held amount: with less available, excess holds are lowered at once

/** Called by the hold of a stream. */
interface HoldEvents {
  /** The usage record if the service ended now. */
  checkpoint(): UsageRecord;
  /** Money is exhausted, or the hold was ended elsewhere: the upstream must stop. */
  stop(reason: 'money' | 'elsewhere'): void;
  /** The provider counted the prompt, and the hold is no higher than needed. */
  onLowered(): void;
}

export class StreamHold implements Placed {
  place = ABSENT; // position in StreamHolds
  readonly #gateway: Pick<Gateway, 'ledger' | 'recharges'>;
  readonly #admitted: AdmittedRequest;
  readonly #events: HoldEvents;
  /** Counter of the current attempt; null before the first. */
  #counter: MessageCounter | null = null;
  readonly #isPoor: boolean;
  #held: number;
  /** Prompt counts, once the provider has reported them. */
  #prompt: TokenCounts | null = null;
  #coveredTokens: number;
  /** Output tokens when they were last found covered. */
  #givenTokens = 0;
  /** The last extension got less than it asked for. */
  #isShort = false;
  /** The last extension left nothing in the wallet. */
  #isWalletEmpty = false;
  /** The wait for a recharge, which all checks share, and how the message ends it. */
  #recharging: Promise<boolean> | null = null;
  #ending: AbortController | null = null;
  #extending: Promise<void> | null = null;
  #checkpointedTokens = NOT_WRITTEN;
  /** A checkpoint was written, of this attempt or an earlier one. */
  #hasCheckpoint = false;
  #isWriting = false;
  #isClosed = false;
  /** Checks in a row that threw. */
  #failedChecks = 0;

  constructor(
    gateway: Pick<Gateway, 'ledger' | 'recharges'>,
    admitted: AdmittedRequest,
    { amount, available }: Pick<Admitted, 'amount' | 'available'>,
    events: HoldEvents,
  ) {
    this.#gateway = gateway;
    this.#admitted = admitted;
    this.#events = events;
    this.#held = amount;
    this.#isPoor = available < amount * SHORT_OF_MONEY;
    this.#coveredTokens = this.#tokensFor(amount);
  }

  /** Output tokens that the hold pays for. */
  get coveredTokens(): number {
    return this.#coveredTokens;
  }

  /** The output exceeds the hold, and no more money was available: the last of it was not relayed. */
  get isExhausted(): boolean {
    return this.#isShort && this.#usedTokens() > this.#coveredTokens;
  }

  /** The output is that of this counter from now on. */
  observe(counter: MessageCounter): void {
    this.#counter = counter;
  }

  /** The message ends: pending answers of the ledger are ignored. */
  close(): void {
    this.#isClosed = true;
    this.#ending?.abort();
  }

  /** The attempt failed before the client received anything; another will begin. Withdraws its checkpoint at once. */
  rewind(): void {
    this.#prompt = null;
    this.#givenTokens = 0;
    this.#coveredTokens = this.#tokensFor(this.#held);
    if (this.#hasCheckpoint) this.#writeCheckpoint();
    // The next attempt's prompt may cost more: extends the hold again.
    if (this.#extending === null && this.#held < this.#amountAhead(0)) this.#startExtending(0);
  }

  /** The stream began: corrects the hold to the provider's prompt count. */
  begin(): void {
    // Tools of the provider add to the prompt until the end, and only the end says what a summary cost, or how much was spoken.
    const { hasServerTools, isCompacted, firstCase } = this.#admitted.plan;
    if (!hasServerTools && !isCompacted && firstCase.speaks === undefined) this.#prompt = this.#reportedPrompt();
    this.#coveredTokens = this.#tokensFor(this.#held);
    this.#checkpointedTokens = NOT_WRITTEN; // a failed attempt may have used the same number of tokens
    if (this.#isPoor) this.#correct(null);
  }

  #reportedPrompt(): TokenCounts | null {
    const counter = this.#counter;
    const prompt = counter?.reportedPrompt() ?? null;
    if (counter === null || prompt === null) return null;
    return splitSound(prompt, this.#admitted.plan.firstCase, counter.reportedSound());
  }

  /**
   * Checks the output so far and extends the hold ahead of need. null: covered. Otherwise resolves to whether it is
   * covered. Rejects with store_unavailable.
   */
  see(): Promise<boolean> | null {
    const used = this.#usedTokens();
    const isCovered = used <= this.#coveredTokens;
    if (isCovered) this.#givenTokens = used;
    if (used <= this.#coveredTokens - this.#aheadTokens(used)) return null;
    const isExtendedNow = this.#extending === null && !(isCovered && this.#isShort);
    if (isExtendedNow) this.#startExtending(used);
    if (isCovered) return null;
    return this.#decideInTime(used, isExtendedNow);
  }

  /**
   * The output is not covered: waits for a recharge if the wallet is short, and asks the ledger again. Resolves to
   * whether it is covered then. Rejects with store_unavailable.
   */
  async seeAfterRecharge(): Promise<boolean> {
    const { caller, clientRequest } = this.#admitted;
    const { recharges } = this.#gateway;
    const paying = payingAccountOf(caller);
    if (recharges === null || paying.autoRecharge == null) return false;
    const untilMs = performance.now() + bounds.rechargeWaitMsMax;
    for (let asks = 0; asks < bounds.rechargeAsksMax && this.#isShort && this.#isWalletEmpty; asks++) {
      this.#ending ??= new AbortController();
      const signal = AbortSignal.any([clientRequest.signal, this.#ending.signal]);
      this.#recharging ??= recharges.wait(paying, untilMs - performance.now(), signal).finally(() => {
        this.#recharging = null;
      });
      if (!(await this.#recharging) || this.#isClosed) return false;
      const used = this.#usedTokens();
      if (used <= this.#coveredTokens || (await this.#decideInTime(used, false))) return true;
    }
    return false;
  }

  /** Looks once. Failures are passed on and do not end other messages; several in a row stop this one, because nothing guards its hold. */
  check(onFailure: (failure: unknown) => void): void {
    try {
      this.look();
      this.#failedChecks = 0;
    } catch (failure) {
      onFailure(failure);
      if (++this.#failedChecks === bounds.holdChecksFailedMax) this.#events.stop('elsewhere');
    }
  }

  /** Called once a second: checks output that is not visible, and writes a checkpoint if it changed. */
  look(): void {
    if (this.#isClosed) return;
    const deciding = this.see();
    if (deciding !== null) this.#stopUnlessCovered(deciding).catch(() => {}); // the relay gets the store's error when it needs the extension itself
    if (this.#usedTokens() !== this.#checkpointedTokens && !this.#isWriting) this.#writeCheckpoint();
  }

  async #stopUnlessCovered(deciding: Promise<boolean>): Promise<void> {
    const counter = this.#counter;
    // A failed attempt need not be paid.
    const isRunning = () => counter === this.#counter && counter?.isFinal === false && !this.#isClosed;
    if ((await deciding) || !isRunning() || (await this.seeAfterRecharge()) || !isRunning()) return;
    this.#events.stop('money');
  }

  #writeCheckpoint(): void {
    const checkpoint = this.#events.checkpoint();
    this.#hasCheckpoint = true;
    this.#checkpointedTokens = this.#usedTokens();
    this.#correct(checkpoint);
  }

  /** A store may neither answer nor fail. */
  #decideInTime(used: number, isExtendedNow: boolean): Promise<boolean> {
    return within(machineTimers, this.#settleWaitMs, this.#decide(used, isExtendedNow), storeIsSilent);
  }

  async #decide(used: number, isExtendedNow: boolean): Promise<boolean> {
    const counter = this.#counter;
    await this.#extending;
    if (used > this.#coveredTokens && !isExtendedNow) {
      if (this.#extending === null) this.#startExtending(used); // the last extension was requested before this output
      await this.#extending;
    }
    if (used > this.#coveredTokens) return false;
    if (counter === this.#counter) this.#givenTokens = used;
    return true;
  }

  #startExtending(used: number): void {
    this.#extending = this.#extend(used);
    this.#extending.catch(() => {}); // handled where the extension is awaited
  }

  /** The share of the latest output that is paid for, from 0 to 1. */
  payableShare(): number {
    const came = this.#usedTokens() - this.#givenTokens;
    return came <= 0 ? 1 : Math.max(0, Math.min(1, (this.#coveredTokens - this.#givenTokens) / came));
  }

  get #settleWaitMs(): number {
    return this.#admitted.catalog.settings.settleWaitSeconds * 1000;
  }

  #usedTokens(): number {
    return this.#counter?.coverTokens(this.#admitted.maxTokens) ?? 0;
  }

  /** How far ahead of need the hold is extended: half a tranche, but not beyond max_tokens. */
  #aheadTokens(used: number): number {
    const { plan, maxTokens } = this.#admitted;
    return Math.min(Math.ceil(plan.trancheTokens / 2), Math.max(0, maxTokens - used));
  }

  #amountAhead(used: number): number {
    const { plan, maxTokens } = this.#admitted;
    return this.#amountFor(Math.max(used, Math.min(used + plan.trancheTokens, maxTokens)));
  }

  async #extend(used: number): Promise<void> {
    const { requestId } = this.#admitted.clientRequest;
    const amount = this.#amountAhead(used);
    const untilMs = performance.now() + this.#settleWaitMs;
    try {
      for (let pauseMs = RETRY_MS_FIRST; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS_MAX)) {
        try {
          await this.#ask({ kind: 'extend', requestId, amount, checkpoint: null }, amount);
          return;
        } catch (failure) {
          if (this.#isClosed || !isStoreUnavailable(failure) || performance.now() + pauseMs > untilMs) throw failure;
          await sleep(machineTimers, pauseMs);
        }
      }
    } finally {
      this.#extending = null;
    }
  }

  /** Lowers the hold to the next tranche. Not awaited: after a failure the next look retries. */
  #correct(checkpoint: UsageRecord | null): void {
    const ahead = this.#amountAhead(this.#usedTokens());
    const isExcess = this.#prompt !== null && ahead < this.#held; // an unknown prompt may cost all that is held
    const amount = this.#extending === null && isExcess ? ahead : 'same';
    if (amount === 'same' && checkpoint === null) {
      this.#noteLowered();
      return;
    }
    this.#isWriting = true;
    if (amount !== 'same') this.#holds(amount); // before the answer, which may be lost
    this.#ask(
      { kind: 'extend', requestId: this.#admitted.clientRequest.requestId, amount, checkpoint },
      amount === 'same' ? 0 : amount,
    )
      .then(() => this.#noteLowered())
      .catch(() => {
        this.#checkpointedTokens = NOT_WRITTEN;
      })
      .finally(() => {
        this.#isWriting = false;
      });
  }

  #noteLowered(): void {
    if (this.#prompt !== null && !this.#isClosed) this.#events.onLowered();
  }

  async #ask(operation: Parameters<NodeLedger['extend']>[0], wanted: number): Promise<void> {
    const { ledger } = this.#gateway;
    const answer = await ledger.extend(operation);
    if (this.#isClosed) return;
    if (!answer.ok) {
      this.#events.stop('elsewhere');
      throw endedElsewhere();
    }
    this.#holds(answer.amount);
    if (operation.amount !== 'same') {
      this.#isShort = answer.amount < wanted;
      this.#isWalletEmpty = answer.walletLeft !== null && answer.walletLeft <= 0;
    }
    noteWallet(this.#gateway, payingAccountOf(this.#admitted.caller), answer.walletLeft);
  }

  #holds(amount: number): void {
    this.#held = amount;
    this.#coveredTokens = this.#tokensFor(amount);
  }

  #amountFor(outputTokens: number): number {
    const { offer, plan } = this.#admitted;
    const { price } = offer.model;
    const multiplier = offer.group.multiplierMillionths;
    const { tier, webSearches } = plan.firstCase;
    return this.#prompt === null
      ? priceWorstCase(price, { ...plan.firstCase, outputTokens }, multiplier)
      : priceDearest(price, { ...this.#prompt, output: outputTokens, webSearches }, multiplier, tier);
  }

  #tokensFor(amount: number): number {
    const { offer, plan } = this.#admitted;
    const { price } = offer.model;
    const multiplier = offer.group.multiplierMillionths;
    const { tier, webSearches } = plan.firstCase;
    return this.#prompt === null
      ? outputTokensThatFit(price, plan.firstCase, multiplier, amount)
      : outputTokensAfter(price, { ...this.#prompt, webSearches }, multiplier, tier, amount);
  }
}

function storeIsSilent(): TurnpikeError {
  return new TurnpikeError('store_unavailable', 'The ledger cannot be written.');
}

const ROUND_MS = 1_000; // a checkpoint is durable within two rounds
const SLICES = 10;

export class StreamHolds {
  readonly #streamHolds = new Roster<StreamHold>();
  readonly #onFailure: (failure: unknown) => void;
  #slice = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  /** `onFailure` gets internal errors of checks. */
  constructor(onFailure: (failure: unknown) => void) {
    this.#onFailure = onFailure;
  }

  add(streamHold: StreamHold): void {
    this.#streamHolds.add(streamHold);
    this.#timer ??= setInterval(() => this.#look(), ROUND_MS / SLICES);
  }

  remove(streamHold: StreamHold): void {
    this.#streamHolds.remove(streamHold);
  }

  #look(): void {
    this.#slice = (this.#slice + 1) % SLICES;
    for (const streamHold of this.#streamHolds.list())
      if (streamHold.place % SLICES === this.#slice) streamHold.check(this.#onFailure);
    if (this.#streamHolds.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }
}
