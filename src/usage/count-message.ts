// Counts what one message used, from its passing events or its whole. Keeps numbers only, never text:
// a stream may be long and many run at once. What is to be believed is decided in one place, `total`.

import { bounds } from '../config.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  NO_TOKENS,
  type StreamEvent,
  type TokenCounts,
} from '../wire/wire.ts';
import type { ByteClasses } from './byte-classes.ts';
import { replaceCounts, sumCounts } from './combine-counts.ts';
import { type OutputEstimate, UNLEARNED } from './output-estimate.ts';
import { isThinking, ProducedOutput } from './produced-output.ts';
import { type PartialUsage, readUsage } from './read-usage.ts';

export interface CountLimits {
  /** Taken for the input when the provider reports none. */
  inputEstimate: number;
  /** The `max_tokens` that went to the provider. */
  outputTokensMax: number;
}

export interface CountedUsage {
  counts: TokenCounts;
  /** `reported`: input and final output are the provider's own; `none`: nothing began, all counts are zero. */
  source: 'reported' | 'estimated' | 'none';
  /** Names of counts that were sent and are not believed. */
  disbelieved: string[];
  /** Names of numbers in the provider's usage that nobody here knows. */
  unknown: string[];
  /** The speed that the provider says it served; null when it does not say. */
  speed: 'standard' | 'fast' | null;
}

export interface CounterOptions {
  /** What is known of the model's output; a quarter of a token a byte when left out. */
  estimate?: OutputEstimate;
  /** The request lets the model think: what the stream does before its first text may be that. */
  thinks?: boolean;
  /** A clock that never goes backward, in milliseconds since any time. */
  elapsedMs?: () => number;
}

/** What a finished message teaches of its model. */
export interface OutputLesson {
  /** What was seen, and its tokens as reported; null where thinking that is not shown may be in the count. */
  visible: { classes: Readonly<ByteClasses>; tokens: number } | null;
  /** From message_start to message_stop; null of a message that was not streamed. */
  streamedMs: number | null;
  /** All output, as reported. */
  tokens: number;
}

const sinceStart = () => performance.now();
const OUTPUT_EXCESS_TOKENS = 1024; // beyond twice what was allowed, before a count of output is not believed

export class MessageCounter {
  #started = false;
  #finished = false;
  #contentSeen = false;
  #stopReason: string | null = null;
  #model: string | null = null;
  #usage: PartialUsage | null = null; // as far as reported; later counts have replaced earlier ones
  #outputIsFinal = false;
  #startedAtMs: number | null = null;
  #finishedAtMs: number | null = null;
  readonly #thinks: boolean;
  readonly #elapsedMs: () => number;
  readonly #output: ProducedOutput;

  constructor(options: CounterOptions = {}) {
    const { estimate = UNLEARNED, thinks = false, elapsedMs = sinceStart } = options;
    this.#thinks = thinks;
    this.#elapsedMs = elapsedMs;
    this.#output = new ProducedOutput(estimate, elapsedMs);
  }

  /** message_start was seen. */
  get started(): boolean {
    return this.#started;
  }

  /** message_stop was seen, or the whole message. */
  get finished(): boolean {
    return this.#finished;
  }

  get stopReason(): string | null {
    return this.#stopReason;
  }

  /** The model that the provider says has answered. */
  get model(): string | null {
    return this.#model;
  }

  /** A part of the content was seen: the answer has begun. */
  get contentSeen(): boolean {
    return this.#contentSeen;
  }

  /** Takes the next event of a stream. Never throws: a malformed event counts as little as can be read of it. */
  observe(event: StreamEvent): void {
    const { value } = event;
    switch (value['type']) {
      case 'content_block_delta':
        if (isJsonObject(value['delta'])) this.#countDelta(value['delta']);
        break;
      case 'content_block_start':
        if (isJsonObject(value['content_block'])) this.#beginBlock(value['content_block']);
        break;
      case 'content_block_stop':
        this.#output.time.endBlock();
        break;
      case 'message_start':
        this.#begin();
        if (isJsonObject(value['message'])) this.#takeStart(value['message']);
        break;
      case 'message_delta':
        if (isJsonObject(value['delta'])) this.#takeStopReason(value['delta']);
        this.#outputIsFinal = this.#takeUsage(value['usage']).output !== null || this.#outputIsFinal;
        break;
      case 'message_stop':
        this.#finish();
    }
  }

  /** Takes a whole message that was not streamed. */
  observeMessage(message: JsonObject): void {
    this.#started = true;
    this.#finished = true;
    this.#takeModel(message);
    this.#takeStopReason(message);
    for (const block of jsonObjects(message['content'])) this.#countBlock(block);
    this.#outputIsFinal = this.#takeUsage(message['usage']).output !== null;
  }

  /**
   * Output tokens so far that a hold must cover: of what was seen and of thinking that was not, each estimated
   * rather above than below, and never less than was reported. A final count is the number itself.
   */
  coverTokens(outputTokensMax = Number.POSITIVE_INFINITY): number {
    const reported = this.#usage?.output ?? 0;
    if (this.#isFinal) return reported;
    return Math.min(mostBelieved(outputTokensMax), Math.max(reported, this.#output.coverTokens(outputTokensMax)));
  }

  /** The same by what was seen alone, whatever was reported. */
  seenTokens(outputTokensMax: number): number {
    return Math.min(mostBelieved(outputTokensMax), this.#output.coverTokens(0));
  }

  /** The tokens of the prompt as reported; null before they are. Those of summaries that the provider made are not in it. */
  reportedPrompt(): TokenCounts | null {
    if (this.#usage === null || this.#usage.input === null) return null;
    return sumCounts([{ ...this.#usage, output: 0 }], 0);
  }

  /** What it teaches of its model; null unless it has finished and its output was reported. */
  lesson(): OutputLesson | null {
    const tokens = this.#usage?.output ?? null;
    if (!this.#finished || !this.#isFinal || tokens === null) return null;
    const known = this.#usage?.thinking ?? null;
    const thinking = known ?? (this.#output.hasThinking ? null : 0);
    const isKnown = thinking !== null && thinking <= tokens;
    const { visible: classes } = this.#output;
    const streamedMs = this.#startedAtMs === null ? null : (this.#finishedAtMs ?? 0) - this.#startedAtMs;
    return { visible: isKnown ? { classes, tokens: tokens - thinking } : null, streamedMs, tokens };
  }

  /**
   * What was used, as far as it has come. May be asked at any time, and again. Output that no final count was
   * reported of is what may be `billed`, or all that a hold `covered`, where that is what ended the message.
   */
  total(limits: CountLimits, use: 'billed' | 'covered' = 'billed'): CountedUsage {
    const usage = this.#usage ?? readUsage(undefined);
    const { disbelieved, unknown, speed } = usage;
    if (!this.#started && !this.#contentSeen && this.#usage === null)
      return { counts: { ...NO_TOKENS }, source: 'none', disbelieved, unknown, speed };
    const outputMost = mostBelieved(limits.outputTokensMax);
    const isCredible = usage.output === null || usage.output <= outputMost;
    const reportedOutput = isCredible ? usage.output : null;
    const isFinal = this.#isFinal && reportedOutput !== null;
    const output = isFinal
      ? reportedOutput
      : Math.max(Math.min(this.#estimate(use, limits.outputTokensMax), outputMost), reportedOutput ?? 0);
    return {
      counts: sumCounts(
        [{ ...usage, input: usage.input ?? limits.inputEstimate, output }, ...usage.compactions],
        usage.webSearches ?? 0,
      ),
      source: isFinal && usage.input !== null ? 'reported' : 'estimated',
      disbelieved: isCredible ? disbelieved : [...disbelieved, 'output_tokens'],
      unknown,
      speed,
    };
  }

  #takeUsage(value: JsonValue | undefined): PartialUsage {
    const usage = readUsage(value);
    if (isJsonObject(value)) this.#usage = this.#usage === null ? usage : replaceCounts(this.#usage, usage);
    return usage;
  }

  #takeStart(message: JsonObject): void {
    this.#takeModel(message);
    this.#takeUsage(message['usage']);
  }

  #takeModel({ model }: JsonObject): void {
    if (typeof model === 'string') this.#model = model.slice(0, bounds.modelNameCharactersMax);
  }

  #takeStopReason(holder: JsonObject): void {
    const reason = holder['stop_reason'];
    if (typeof reason === 'string') this.#stopReason = reason;
  }

  #begin(): void {
    this.#started = true;
    this.#startedAtMs ??= this.#elapsedMs();
    if (this.#thinks && !this.#contentSeen) this.#output.time.beginMessage();
  }

  #finish(): void {
    this.#finished = true;
    this.#finishedAtMs ??= this.#elapsedMs();
    this.#output.time.endMessage();
  }

  #beginBlock(block: JsonObject): void {
    this.#countBlock(block);
    this.#output.time.beginBlock(isThinking(block));
  }

  #countBlock(block: JsonObject): void {
    this.#contentSeen = true;
    this.#output.addBlock(block);
  }

  #countDelta(delta: JsonObject): void {
    this.#contentSeen = true;
    this.#outputIsFinal = false; // a count that came before this was one on the way
    this.#output.addDelta(delta);
  }

  /** The last count of output is one of the whole. */
  get #isFinal(): boolean {
    return this.#outputIsFinal && (this.#finished || this.#stopReason !== null);
  }

  #estimate(use: 'billed' | 'covered', outputTokensMax: number): number {
    return use === 'billed' ? this.#output.billedTokens(outputTokensMax) : this.#output.coverTokens(outputTokensMax);
  }
}

/** More output than this is not believed of a message with this max_tokens. */
function mostBelieved(outputTokensMax: number): number {
  return 2 * outputTokensMax + OUTPUT_EXCESS_TOKENS;
}
