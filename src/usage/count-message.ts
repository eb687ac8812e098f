// Counts the usage of one message from its events or its whole. `total` alone decides which counts are credible.

import { bounds } from '../config.ts';
import type { JsonObject, JsonValue, PlainDeltas, StreamEvent, TokenCounts } from '../wire/wire.ts';
import { isJsonObject, isThinking, jsonObjects, NO_TOKENS, objectOf } from '../wire/wire.ts';
import type { ByteClasses } from './byte-classes.ts';
import { BASELINE_ESTIMATE, type OutputEstimate } from './output-estimate.ts';
import { ProducedOutput } from './produced-output.ts';
import { NAMES_MAX, type PartialCounts, type PartialUsage, readUsage } from './read-usage.ts';

/** The counts with this input and output. `lifetime` is that of cache writes without one. */
function countsOf(part: PartialCounts, input: number, output: number, lifetime: CacheLifetime): TokenCounts {
  let cacheWrite5m = part.cacheWrite5m ?? 0;
  let cacheWrite1h = part.cacheWrite1h ?? 0;
  const surplus = Math.max(0, (part.cacheWrite ?? 0) - cacheWrite5m - cacheWrite1h);
  if (lifetime === '1h') cacheWrite1h += surplus;
  else cacheWrite5m += surplus;
  return { input, output, cacheRead: part.cacheRead ?? 0, cacheWrite5m, cacheWrite1h, webSearches: 0 };
}

function addCounts(counts: TokenCounts, more: TokenCounts): void {
  counts.input += more.input;
  counts.output += more.output;
  counts.cacheRead += more.cacheRead;
  counts.cacheWrite5m += more.cacheWrite5m;
  counts.cacheWrite1h += more.cacheWrite1h;
}

/** Counts of a stream are cumulative: a later count replaces an earlier one, unless it is absent. */
function replaceCounts(before: PartialUsage, after: PartialUsage): PartialUsage {
  return {
    input: after.input ?? before.input,
    output: after.output ?? before.output,
    cacheRead: after.cacheRead ?? before.cacheRead,
    cacheWrite: after.cacheWrite ?? before.cacheWrite,
    cacheWrite5m: after.cacheWrite5m ?? before.cacheWrite5m,
    cacheWrite1h: after.cacheWrite1h ?? before.cacheWrite1h,
    thinking: after.thinking ?? before.thinking,
    webSearches: after.webSearches ?? before.webSearches,
    speed: after.speed ?? before.speed,
    compactions: after.compactions ?? before.compactions,
    disbelieved: union(before.disbelieved, after.disbelieved),
    unknown: union(before.unknown, after.unknown),
  };
}

function union(before: string[], after: string[]): string[] {
  if (after.length === 0 || before.length >= NAMES_MAX) return before;
  return [...new Set([...before, ...after])].slice(0, NAMES_MAX);
}

interface CountLimits {
  /** Used if the provider reports no input tokens. */
  inputEstimate: number;
  /** The `max_tokens` sent to the provider. */
  outputTokensMax: number;
}

export interface CountedUsage {
  counts: TokenCounts;
  /** `reported`: input and final output come from the provider; `none`: nothing began, all counts are zero. */
  source: 'reported' | 'estimated' | 'none';
  /** Names of reported counts that were rejected as implausible. */
  disbelieved: string[];
  /** Names of unknown numbers in the provider's usage. */
  unknown: string[];
  /** The speed reported by the provider; null if not reported. */
  speed: 'standard' | 'fast' | null;
}

export type CacheLifetime = '5m' | '1h';

export interface CounterOptions {
  /** The estimate for the model's output; 0.25 tokens per byte by default. */
  estimate?: OutputEstimate;
  /** Thinking is enabled: time before the first text may be thinking. */
  thinks?: boolean;
  /** A monotonic clock in milliseconds. */
  elapsedMs?: () => number;
  /** The lifetime of cache writes that are reported without one; by default the protocol's, 5 minutes. */
  cacheLifetime?: () => CacheLifetime;
}

interface OutputSample {
  /** Visible output and its reported tokens; null if the count may include invisible thinking. */
  visible: { classes: Readonly<ByteClasses>; tokens: number } | null;
  /** From message_start to message_stop; null if not streamed. */
  streamedMs: number | null;
  /** All output, as reported. */
  tokens: number;
}

const sinceStart = () => performance.now();
const fiveMinutes = (): CacheLifetime => '5m';
/** Refusals before any output that are not billed, by `stop_details.category`; any other category is billed. */
const UNBILLED_CATEGORIES: readonly (JsonValue | undefined)[] = [undefined, null, 'cyber', 'general_harms'];
const OUTPUT_EXCESS_TOKENS = 1024; // above twice the maximum, before an output count is rejected

export class MessageCounter {
  #started = false;
  #finished = false;
  #contentSeen = false;
  #stopReason: string | null = null;
  #isUnbilledCategory = false;
  #model: string | null = null;
  #usage: PartialUsage | null = null; // reported so far; later counts replace earlier ones
  #outputIsFinal = false;
  #startedAtMs: number | null = null;
  #finishedAtMs: number | null = null;
  readonly #thinks: boolean;
  readonly #elapsedMs: () => number;
  readonly #cacheLifetime: () => CacheLifetime;
  readonly #estimateOf: OutputEstimate;
  #measured: ProducedOutput | null = null;
  /** Content of a whole message, measured only for an estimate or a sample. */
  #unmeasured: JsonValue | undefined = undefined;

  constructor(options: CounterOptions = {}) {
    const {
      estimate = BASELINE_ESTIMATE,
      thinks = false,
      elapsedMs = sinceStart,
      cacheLifetime = fiveMinutes,
    } = options;
    this.#thinks = thinks;
    this.#elapsedMs = elapsedMs;
    this.#cacheLifetime = cacheLifetime;
    this.#estimateOf = estimate;
  }

  get #output(): ProducedOutput {
    const output = this.#measured ?? new ProducedOutput(this.#estimateOf, this.#elapsedMs);
    this.#measured = output;
    if (this.#unmeasured !== undefined) {
      for (const block of jsonObjects(this.#unmeasured)) output.addBlock(block);
      this.#unmeasured = undefined;
    }
    return output;
  }

  get started(): boolean {
    return this.#started;
  }

  /** message_stop was seen, or the whole message. */
  get finished(): boolean {
    return this.#finished;
  }

  /** The provider reported the final count: no more output follows. */
  get isFinal(): boolean {
    return this.#outputIsFinal && (this.#finished || this.#stopReason !== null);
  }

  get stopReason(): string | null {
    return this.#stopReason;
  }

  get model(): string | null {
    return this.#model;
  }

  /** The model refused before any output, for a reason that providers of the Messages protocol do not bill. */
  get isUnbilledRefusal(): boolean {
    return this.#stopReason === 'refusal' && this.#isUnbilledCategory && !this.#contentSeen;
  }

  get contentSeen(): boolean {
    return this.#contentSeen;
  }

  /** Counts an event. Never throws: malformed events count as far as they can be read. */
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
        if (!isJsonObject(value['message'])) break;
        this.#takeModel(value['message']);
        this.#takeUsage(value['message']['usage']);
        break;
      case 'message_delta':
        if (isJsonObject(value['delta'])) this.#takeStopReason(value['delta']);
        this.#outputIsFinal = this.#takeUsage(value['usage']).output !== null || this.#outputIsFinal;
        break;
      case 'message_stop':
        this.#finish();
    }
  }

  /** Counts deltas that are not parsed. */
  observePlain(deltas: PlainDeltas): void {
    this.#contentSeen = true;
    this.#outputIsFinal = false; // an earlier count was not final
    this.#output.addPlain(deltas);
  }

  observeMessage(message: JsonObject): void {
    this.#started = true;
    this.#finished = true;
    this.#takeModel(message);
    this.#takeStopReason(message);
    const { content } = message;
    this.#contentSeen ||= Array.isArray(content) && content.some(isJsonObject);
    this.#unmeasured = content;
    this.#outputIsFinal = this.#takeUsage(message['usage']).output !== null;
  }

  /**
   * Output tokens so far that a hold must cover: visible output and invisible thinking, each estimated on the high
   * side, and at least the reported count. A final count is exact.
   */
  coverTokens(outputTokensMax = Number.POSITIVE_INFINITY): number {
    const reported = this.#usage?.output ?? 0;
    if (this.isFinal) return reported;
    return Math.min(credibleOutputMax(outputTokensMax), Math.max(reported, this.#output.coverTokens(outputTokensMax)));
  }

  /** The same from visible output only, whatever was reported. */
  seenTokens(outputTokensMax: number): number {
    return Math.min(credibleOutputMax(outputTokensMax), this.#output.coverTokens(0));
  }

  /** The prompt's tokens as reported, without summaries made by the provider; null until reported. */
  reportedPrompt(): TokenCounts | null {
    if (this.#usage === null || this.#usage.input === null) return null;
    return countsOf(this.#usage, this.#usage.input, 0, this.#cacheLifetime());
  }

  /** The sample for the estimator; null unless the message has finished with a reported count. */
  sample(): OutputSample | null {
    const tokens = this.#usage?.output ?? null;
    if (!this.#finished || !this.isFinal || tokens === null) return null;
    const known = this.#usage?.thinking ?? null;
    const thinking = known ?? (this.#output.hasThinking ? null : 0);
    const isKnown = thinking !== null && thinking <= tokens;
    const { visible: classes } = this.#output;
    const streamedMs = this.#startedAtMs === null ? null : (this.#finishedAtMs ?? 0) - this.#startedAtMs;
    return { visible: isKnown ? { classes, tokens: tokens - thinking } : null, streamedMs, tokens };
  }

  /**
   * Usage so far; may be called at any time. Output without a final count is estimated: as `billed`, or as `covered` if
   * the message ended for lack of money (without samples that is all that the hold had to cover).
   */
  total(limits: CountLimits, use: 'billed' | 'covered' = 'billed'): CountedUsage {
    const usage = this.#usage ?? readUsage(undefined);
    const { disbelieved, unknown, speed } = usage;
    if (!this.#started && !this.#contentSeen && this.#usage === null)
      return { counts: { ...NO_TOKENS }, source: 'none', disbelieved, unknown, speed };
    const outputMost = credibleOutputMax(limits.outputTokensMax);
    const isCredible = usage.output === null || usage.output <= outputMost;
    const reportedOutput = isCredible ? usage.output : null;
    const isFinal = this.isFinal && reportedOutput !== null;
    const output = isFinal
      ? reportedOutput
      : Math.max(Math.min(this.#estimate(use, limits.outputTokensMax), outputMost), reportedOutput ?? 0);
    const lifetime = this.#cacheLifetime();
    const counts = countsOf(usage, usage.input ?? limits.inputEstimate, output, lifetime);
    counts.webSearches = usage.webSearches ?? 0;
    const { compactions } = usage;
    if (compactions !== null)
      addCounts(counts, countsOf(compactions, compactions.input ?? 0, compactions.output ?? 0, lifetime));
    return {
      counts,
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

  #takeModel({ model }: JsonObject): void {
    if (typeof model === 'string') this.#model = model.slice(0, bounds.modelNameCharactersMax);
  }

  #takeStopReason(holder: JsonObject): void {
    const reason = holder['stop_reason'];
    if (typeof reason !== 'string') return;
    this.#stopReason = reason;
    this.#isUnbilledCategory = UNBILLED_CATEGORIES.includes(objectOf(holder['stop_details'])['category']);
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
    this.#outputIsFinal = false; // an earlier count was not final
    this.#output.addDelta(delta);
  }

  #estimate(use: 'billed' | 'covered', tokensMax: number): number {
    return use === 'billed' ? this.#output.billedTokens(tokensMax) : this.#output.billedAtMoneyEnd(tokensMax);
  }
}

/** The largest output count that is credible for this max_tokens. */
function credibleOutputMax(outputTokensMax: number): number {
  return 2 * outputTokensMax + OUTPUT_EXCESS_TOKENS;
}
