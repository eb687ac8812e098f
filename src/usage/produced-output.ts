// Estimates the output of a message from what is visible. Two figures: what may be billed, rarely above the actual
// output, and what a hold must cover. Both include invisible thinking.

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import {
  isJsonObject,
  isSound,
  isThinking,
  type JsonObject,
  type JsonValue,
  objectOf,
  type PlainDeltas,
  textOf,
} from '../wire/wire.ts';
import { addBytes, addJson, addText, type ByteClasses, totalBytes } from './byte-classes.ts';
import { billedText, coverText, isExact, type OutputEstimate } from './output-estimate.ts';
import { COMPRESSED_WEIGHT, SOUND_CHARACTERS_PER_TOKEN, SOUND_COVER } from './sound-tokens.ts';
import { Transcript } from './transcript.ts';

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
const unescaped = new Uint8Array(4096); // of one delta at a time; longer ones are decoded
const SEALED_BYTES_PER_TOKEN = 4; // sealed content is invisible, so there are no samples of it

export class ProducedOutput {
  /** Bytes of text and tool input. */
  readonly visible: ByteClasses = [0, 0, 0, 0, 0, 0];
  readonly time: ThinkingTime;
  /** Text and tool input. */
  readonly text = new Transcript();
  readonly thinkingText = new Transcript();
  readonly #estimate: OutputEstimate;
  readonly #thinking: ByteClasses = [0, 0, 0, 0, 0, 0];
  readonly #names: ByteClasses = [0, 0, 0, 0, 0, 0];
  #runningTokens = 0; // of thinking, as estimated by the provider
  #sealedBytes = 0; // of signatures: for invisible thinking they contain it in base64
  #redactedBytes = 0;
  #soundCharacters = 0; // of base64, as if all were streamed
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

  /** The provider reports how much thinking it did so far. */
  get hasRunningThinking(): boolean {
    return this.#runningTokens > 0;
  }

  addDelta(delta: JsonObject): void {
    this.#addVisible(textOf(delta['text']), this.#lastVisible);
    this.#addVisible(textOf(delta['partial_json']), this.#lastVisible);
    const type = delta['type'];
    if (type === 'audio_delta') this.#addSound(objectOf(delta['audio']), 1);
    if (type === 'signature_delta') this.#sealedBytes += textOf(delta['signature']).length;
    if (type !== 'thinking_delta') return;
    this.#hasThinking = true;
    this.#addThinking(textOf(delta['thinking']), this.#lastThinking);
    const tokens = delta['estimated_tokens']; // an increment, according to the provider's documentation
    if (isWholeNumber(tokens)) this.#runningTokens = Math.min(bounds.usageTokensMax, this.#runningTokens + tokens);
  }

  /** The same for deltas that are not parsed. */
  addPlain(deltas: PlainDeltas): void {
    for (const text of deltas.texts) {
      const { from, end, kind, escapes } = text;
      const isThinking = kind === 'thinking';
      this.#hasThinking ||= isThinking;
      if (escapes === 'none') this.#addBytes(deltas.bytes, from, end, isThinking);
      else if (escapes === 'short' && end - from <= unescaped.length)
        this.#addBytes(unescaped, 0, deltas.unescapeTo(unescaped, text), isThinking);
      else if (isThinking) this.#addThinking(deltas.textOf(text), this.#lastThinking);
      else this.#addVisible(deltas.textOf(text), this.#lastVisible);
    }
  }

  #addBytes(bytes: Uint8Array, from: number, end: number, isThinking: boolean): void {
    if (isThinking) {
      this.#lastThinking = addBytes(this.#thinking, bytes, from, end, this.#lastThinking);
      this.thinkingText.addBytes(bytes, from, end);
    } else {
      this.#lastVisible = addBytes(this.visible, bytes, from, end, this.#lastVisible);
      this.text.addBytes(bytes, from, end);
    }
  }

  #addVisible(text: string, before: number): void {
    if (text === '') return;
    this.#lastVisible = addText(this.visible, text, before);
    this.text.addText(text);
  }

  #addSound({ data, transcript }: JsonObject, weight: number): void {
    this.#soundCharacters += textOf(data).length * weight;
    this.#addVisible(textOf(transcript), this.#lastVisible);
  }

  #addThinking(text: string, before: number): void {
    if (text === '') return;
    this.#lastThinking = addText(this.#thinking, text, before);
    this.thinkingText.addText(text);
  }

  /** The model reads results of server tools and does not write them: they are not output. */
  addBlock(block: JsonObject): void {
    this.#hasThinking ||= isThinking(block);
    this.#lastVisible = 0;
    this.#lastThinking = 0;
    this.#addVisible(textOf(block['text']), 0);
    addText(this.#names, block['name']);
    const input = block['input'];
    // {} is a placeholder for input that follows.
    if (isJsonObject(input) && Object.keys(input).length > 0) {
      addJson(this.visible, input);
      addJsonText(this.text, input);
    }
    this.#addThinking(textOf(block['thinking']), 0);
    this.#sealedBytes += textOf(block['signature']).length;
    if (isSound(block)) this.#addSound(block, COMPRESSED_WEIGHT);
    if (block['type'] === 'redacted_thinking') this.#redactedBytes += textOf(block['data']).length;
  }

  /** An upper bound of what was received: no tokenizer makes more than a token of a byte. */
  tokensMost(): number {
    const bytes = totalBytes(this.visible) + totalBytes(this.#names) + totalBytes(this.#thinking);
    const unseen = Math.max(this.#runningTokens, this.#sealedTokens()) + this.#redactedTokens();
    return roundUp(bytes + unseen + SOUND_COVER * this.#soundTokens());
  }

  /** The estimate of a checkpoint. Excludes tool names, which providers may not count; `tokensMax` bounds what is estimated by time. */
  billedTokens(tokensMax: number): number {
    const estimate = this.#estimate;
    const shown = billedText(estimate, this.#thinking);
    const timed = Math.min(tokensMax, (this.time.totalMs() * estimate.lowTokensPerSecond) / 1000);
    const unseen = this.#runningTokens > 0 ? this.#runningTokens : timed;
    const thinking = Math.max(shown, unseen, shown === 0 ? this.#sealedTokens() : 0);
    const tokens = roundUp(
      billedText(estimate, this.visible) + this.#redactedTokens() + this.#soundTokens() + thinking,
    );
    return isExact(estimate) ? tokens : Math.max(0, tokens - ENDS_TOKENS);
  }

  /**
   * Tokens of what was received, given counts of the texts. A model may have another tokenizer, so the account's own
   * samples can raise the count.
   */
  countedTokens(counted: { text: number; thinking: number }, tokensMax: number): number {
    const shown = this.thinkingText.scale(counted.thinking);
    const thinking = Math.max(shown, this.#runningTokens, shown === 0 ? this.#sealedTokens() : 0);
    const tokens = roundUp(this.text.scale(counted.text) + thinking + this.#redactedTokens() + this.#soundTokens());
    return this.#estimate.own === null ? tokens : Math.max(tokens, this.billedTokens(tokensMax));
  }

  /** Invisible output is bounded by `tokensMax`. */
  coverTokens(tokensMax: number): number {
    const estimate = this.#estimate;
    const spoken = SOUND_COVER * this.#soundTokens();
    const visible = coverText(estimate, this.visible) + coverText(estimate, this.#names) + spoken;
    const shown = coverText(estimate, this.#thinking);
    const { topTokensPerSecond } = estimate;
    const unseen = this.#runningTokens > 0 ? this.#runningTokens : (this.time.totalMs() * topTokensPerSecond) / 1000;
    const seen = visible + Math.max(shown, this.#sealedTokens()) + this.#redactedTokens();
    return roundUp(Math.max(seen, Math.min(visible + unseen, tokensMax)));
  }

  #sealedTokens(): number {
    return Math.floor((this.#sealedBytes * 3) / 4) / SEALED_BYTES_PER_TOKEN;
  }

  #soundTokens(): number {
    return this.#soundCharacters / SOUND_CHARACTERS_PER_TOKEN;
  }

  #redactedTokens(): number {
    return this.#redactedBytes / SEALED_BYTES_PER_TOKEN;
  }
}

function roundUp(tokens: number): number {
  return Math.max(0, Math.ceil(tokens - 1e-6)); // rounding errors of sums of fractions
}

/** Adds the parts of a value as JSON, in any order. Not stringified, for the reason of addJson. */
function addJsonText(transcript: Transcript, whole: JsonValue): void {
  const rest = [whole];
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    if (typeof part !== 'object' || part === null) {
      transcript.addText(`${JSON.stringify(part)},`);
      continue;
    }
    transcript.addText(Array.isArray(part) ? '[]' : '{}');
    if (!Array.isArray(part)) for (const name of Object.keys(part)) transcript.addText(`${JSON.stringify(name)}:`);
    for (const inner of Object.values(part)) rest.push(inner);
  }
}
