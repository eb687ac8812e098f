// Estimates the output of a message from what is seen of it. Two figures: what may be billed, which hardly
// ever exceeds what was produced, and what a hold must cover. Thinking that is not shown counts in both.

import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import { addJson, addText, type ByteClasses } from './byte-classes.ts';
import { type OutputEstimate, predictTokens } from './output-estimate.ts';
import { ThinkingTime } from './thinking-time.ts';

const ENDS_TOKENS = 2; // a message that was cut ends within one, and no function of its bytes is exact for a few
const SEALED_BYTES_PER_TOKEN = 4; // of what is sealed nothing is seen, so nothing is learned either

export class ProducedOutput {
  /** Bytes of text and tool input. */
  readonly visible: ByteClasses = [0, 0, 0, 0, 0];
  readonly time: ThinkingTime;
  readonly #estimate: OutputEstimate;
  readonly #thinking: ByteClasses = [0, 0, 0, 0, 0];
  readonly #names: ByteClasses = [0, 0, 0, 0, 0];
  #runningTokens = 0; // of thinking, as the provider estimates
  #sealedBytes = 0; // of signatures: where thinking is not shown, they hold it in base64
  #redactedBytes = 0;
  #hasThinking = false;

  constructor(estimate: OutputEstimate, elapsedMs: () => number) {
    this.#estimate = estimate;
    this.time = new ThinkingTime(elapsedMs);
  }

  /** A block of thinking was seen, shown or not. */
  get hasThinking(): boolean {
    return this.#hasThinking;
  }

  addDelta(delta: JsonObject): void {
    addText(this.visible, delta['text']);
    addText(this.visible, delta['partial_json']);
    const type = delta['type'];
    if (type === 'signature_delta') this.#sealedBytes += lengthOf(delta['signature']);
    if (type !== 'thinking_delta') return;
    this.#hasThinking = true;
    addText(this.#thinking, delta['thinking']);
    const tokens = delta['estimated_tokens']; // an increment, by the provider's documentation
    if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0) this.#runningTokens += tokens;
  }

  /** Results of server tools are read by the model, not written by it: they are no output. */
  addBlock(block: JsonObject): void {
    this.#hasThinking ||= isThinking(block);
    addText(this.visible, block['text']);
    addText(this.#names, block['name']);
    const input = block['input'];
    if (isJsonObject(input) && Object.keys(input).length > 0) addJson(this.visible, input); // {} is for what will come
    addText(this.#thinking, block['thinking']);
    this.#sealedBytes += lengthOf(block['signature']);
    if (block['type'] === 'redacted_thinking') this.#redactedBytes += lengthOf(block['data']);
  }

  /** Names of tools are left out: a provider may not count them. Time says of no more than the `tokensMax` of the message. */
  billedTokens(tokensMax: number): number {
    const { coefficients, low, lowTokensPerSecond } = this.#estimate;
    const shown = predictTokens(coefficients, this.#thinking);
    const timed = Math.min(tokensMax, (this.time.totalMs() * lowTokensPerSecond) / 1000);
    const unseen = this.#runningTokens > 0 ? this.#runningTokens : timed;
    const thinking = Math.max(shown * low, unseen, shown === 0 ? this.#sealedTokens() : 0);
    const tokens = roundUp(predictTokens(coefficients, this.visible) * low + this.#redactedTokens() + thinking);
    return low < 1 ? Math.max(0, tokens - ENDS_TOKENS) : tokens;
  }

  /** Of what is not seen at all, no more is believed than the `tokensMax` of the whole message. */
  coverTokens(tokensMax: number): number {
    const { coefficients, high, topTokensPerSecond } = this.#estimate;
    const visible = predictTokens(coefficients, this.visible) + predictTokens(coefficients, this.#names);
    const shown = predictTokens(coefficients, this.#thinking) * high;
    const unseen = this.#runningTokens > 0 ? this.#runningTokens : (this.time.totalMs() * topTokensPerSecond) / 1000;
    const seen = visible * high + Math.max(shown, this.#sealedTokens()) + this.#redactedTokens();
    return roundUp(Math.max(seen, Math.min(visible * high + unseen, tokensMax)));
  }

  #sealedTokens(): number {
    return Math.floor((this.#sealedBytes * 3) / 4) / SEALED_BYTES_PER_TOKEN;
  }

  #redactedTokens(): number {
    return this.#redactedBytes / SEALED_BYTES_PER_TOKEN;
  }
}

export function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** A count is whole, so that what is not above it when exact is not above it when rounded up. */
function roundUp(tokens: number): number {
  return Math.max(0, Math.ceil(tokens - 1e-6)); // what sums of fractions are off by
}

function lengthOf(text: JsonValue | undefined): number {
  return typeof text === 'string' ? text.length : 0; // it is base64
}
