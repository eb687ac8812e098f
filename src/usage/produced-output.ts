// Estimates the output of a message from what is visible. Two figures: what may be billed, rarely above the actual
// output, and what a hold must cover. Both include invisible thinking.

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config.ts';
import { isJsonObject, isThinking, type JsonObject, type PlainDeltas, textOf } from '../wire/wire.ts';
import { addBytes, addJson, addText, type ByteClasses } from './byte-classes.ts';
import { billedText, coverText, hasSamples, isExact, type OutputEstimate } from './output-estimate.ts';

class ThinkingTime {
  readonly #elapsedMs: () => number;
  #isWaiting = false; // for the first block other than thinking
  #isInBlock = false;
  #sinceMs = 0; // during either
  #spentMs = 0;

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
  }

  /** The stream began; its first output may be thinking. */
  beginMessage(): void {
    this.#change(true, false);
  }

  beginBlock(isThinking: boolean): void {
    this.#change(this.#isWaiting && isThinking, isThinking);
  }

  endBlock(): void {
    this.#change(this.#isWaiting, false);
  }

  endMessage(): void {
    this.#change(false, false);
  }

  /** Milliseconds so far. */
  totalMs(): number {
    const sinceMs = this.#isWaiting || this.#isInBlock ? this.#elapsedMs() - this.#sinceMs : 0;
    return this.#spentMs + Math.max(0, sinceMs);
  }

  #change(isWaiting: boolean, isInBlock: boolean): void {
    const was = this.#isWaiting || this.#isInBlock;
    const is = isWaiting || isInBlock;
    if (was && !is) this.#spentMs = this.totalMs();
    if (is && !was) this.#sinceMs = this.#elapsedMs();
    this.#isWaiting = isWaiting;
    this.#isInBlock = isInBlock;
  }
}

const ENDS_TOKENS = 2; // the end of a cut message; no linear function is exact for a few bytes
const SEALED_BYTES_PER_TOKEN = 4; // sealed content is invisible, so there are no samples of it

export class ProducedOutput {
  /** Bytes of text and tool input. */
  readonly visible: ByteClasses = [0, 0, 0, 0, 0, 0];
  readonly time: ThinkingTime;
  readonly #estimate: OutputEstimate;
  readonly #thinking: ByteClasses = [0, 0, 0, 0, 0, 0];
  readonly #names: ByteClasses = [0, 0, 0, 0, 0, 0];
  #runningTokens = 0; // of thinking, as estimated by the provider
  #sealedBytes = 0; // of signatures: for invisible thinking they contain it in base64
  #redactedBytes = 0;
  #hasThinking = false;
  // The last character of the growing text.
  #lastVisible = 0;
  #lastThinking = 0;

  constructor(estimate: OutputEstimate, elapsedMs: () => number) {
    this.#estimate = estimate;
    this.time = new ThinkingTime(elapsedMs);
  }

  /** A thinking block was seen, visible or not. */
  get hasThinking(): boolean {
    return this.#hasThinking;
  }

  addDelta(delta: JsonObject): void {
    this.#lastVisible = addText(this.visible, delta['text'], this.#lastVisible);
    this.#lastVisible = addText(this.visible, delta['partial_json'], this.#lastVisible);
    const type = delta['type'];
    if (type === 'signature_delta') this.#sealedBytes += textOf(delta['signature']).length;
    if (type !== 'thinking_delta') return;
    this.#hasThinking = true;
    this.#lastThinking = addText(this.#thinking, delta['thinking'], this.#lastThinking);
    const tokens = delta['estimated_tokens']; // an increment, according to the provider's documentation
    if (isWholeNumber(tokens)) this.#runningTokens = Math.min(bounds.usageTokensMax, this.#runningTokens + tokens);
  }

  /** The same for deltas that are not parsed. */
  addPlain(deltas: PlainDeltas): void {
    for (const text of deltas.texts) {
      const { from, end, isThinking, hasEscapes } = text;
      const classes = isThinking ? this.#thinking : this.visible;
      const before = isThinking ? this.#lastThinking : this.#lastVisible;
      const last = hasEscapes
        ? addText(classes, deltas.textOf(text), before)
        : addBytes(classes, deltas.bytes, from, end, before);
      if (isThinking) this.#lastThinking = last;
      else this.#lastVisible = last;
      this.#hasThinking ||= isThinking;
    }
  }

  /** The model reads results of server tools and does not write them: they are not output. */
  addBlock(block: JsonObject): void {
    this.#hasThinking ||= isThinking(block);
    this.#lastVisible = addText(this.visible, block['text']);
    addText(this.#names, block['name']);
    const input = block['input'];
    if (isJsonObject(input) && Object.keys(input).length > 0) addJson(this.visible, input); // {} is a placeholder for input that follows
    this.#lastThinking = addText(this.#thinking, block['thinking']);
    this.#sealedBytes += textOf(block['signature']).length;
    if (block['type'] === 'redacted_thinking') this.#redactedBytes += textOf(block['data']).length;
  }

  /** Excludes tool names, which providers may not count. Time-based estimates are bounded by `tokensMax`. */
  billedTokens(tokensMax: number): number {
    return this.#billedTokens(tokensMax, this.#estimate.lowTokensPerSecond);
  }

  /** The bill when money ended the message: the usual bill, at most what was covered; all of that without samples. */
  billedAtMoneyEnd(tokensMax: number): number {
    const { lowTokensPerSecond: low, topTokensPerSecond: top } = this.#estimate;
    const covered = this.coverTokens(tokensMax);
    return hasSamples(this.#estimate) ? Math.min(covered, this.#billedTokens(tokensMax, low > 0 ? low : top)) : covered;
  }

  /** Invisible output is bounded by `tokensMax`. */
  coverTokens(tokensMax: number): number {
    const estimate = this.#estimate;
    const visible = coverText(estimate, this.visible) + coverText(estimate, this.#names);
    const shown = coverText(estimate, this.#thinking);
    const { topTokensPerSecond } = estimate;
    const unseen = this.#runningTokens > 0 ? this.#runningTokens : (this.time.totalMs() * topTokensPerSecond) / 1000;
    const seen = visible + Math.max(shown, this.#sealedTokens()) + this.#redactedTokens();
    return roundUp(Math.max(seen, Math.min(visible + unseen, tokensMax)));
  }

  #billedTokens(tokensMax: number, tokensPerSecond: number): number {
    const estimate = this.#estimate;
    const shown = billedText(estimate, this.#thinking);
    const timed = Math.min(tokensMax, (this.time.totalMs() * tokensPerSecond) / 1000);
    const unseen = this.#runningTokens > 0 ? this.#runningTokens : timed;
    const thinking = Math.max(shown, unseen, shown === 0 ? this.#sealedTokens() : 0);
    const tokens = roundUp(billedText(estimate, this.visible) + this.#redactedTokens() + thinking);
    return isExact(estimate) ? tokens : Math.max(0, tokens - ENDS_TOKENS);
  }

  #sealedTokens(): number {
    return Math.floor((this.#sealedBytes * 3) / 4) / SEALED_BYTES_PER_TOKEN;
  }

  #redactedTokens(): number {
    return this.#redactedBytes / SEALED_BYTES_PER_TOKEN;
  }
}

function roundUp(tokens: number): number {
  return Math.max(0, Math.ceil(tokens - 1e-6)); // rounding errors of sums of fractions
}
