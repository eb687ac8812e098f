// Counts the usage of one message from its events or its whole. `total` alone decides which counts are credible.

import { bounds } from '../config/config.ts';
import type { JsonObject, JsonValue, PlainDeltas, ServiceTier, StreamEvent, TokenCounts } from '../wire/wire.ts';
import { isJsonObject, isThinking, jsonObjects, NO_TOKENS, objectOf, textOf } from '../wire/wire.ts';
import { billEvidence, type Ending, type Evidence, type Held, knownOf } from './bill.ts';
import type { ByteClasses } from './byte-classes.ts';
import { mergeUsage } from './merge-usage.ts';
import { BASELINE_ESTIMATE, type OutputEstimate } from './output-estimate.ts';
import { ProducedOutput } from './produced-output.ts';
import { type PartialCounts, type PartialUsage, readUsage } from './read-usage.ts';
import type { SoundCounts } from './split-sound.ts';

/** The counts with this input and output. `lifetime` is that of cache writes without one. */
function countsOf(part: PartialCounts, input: number, output: number, lifetime: CacheLifetime): TokenCounts {
  let cacheWrite5m = part.cacheWrite5m ?? 0;
  let cacheWrite1h = part.cacheWrite1h ?? 0;
  const surplus = Math.max(0, (part.cacheWrite ?? 0) - cacheWrite5m - cacheWrite1h);
  if (lifetime === '1h') cacheWrite1h += surplus;
  else cacheWrite5m += surplus;
  return { input, output, cacheRead: part.cacheRead ?? 0, cacheWrite5m, cacheWrite1h, webSearches: 0 };
}

interface CountLimits {
  /** The amounts that the hold pays for; its input is billed if nobody counted the prompt. */
  held: Held;
  /** The `max_tokens` sent to the provider. */
  outputTokensMax: number;
}

interface EstimateLimits extends Pick<CountLimits, 'outputTokensMax'> {
  /** Used if the provider reports no input tokens. */
  inputEstimate: number;
}

/** Counts made after the end of a message; null: none. */
export interface MadeCounts {
  prompt: number | null;
  /** Tokens of the texts of the answer. */
  output: { text: number; thinking: number } | null;
}

export const NOTHING_COUNTED: MadeCounts = { prompt: null, output: null };

export interface CountedUsage {
  counts: TokenCounts;
  /** `reported`: input and final output come from the provider; `none`: nothing began, all counts are zero. */
  source: 'reported' | 'estimated' | 'none';
  /** Names of reported counts that were rejected as implausible. */
  disbelieved: string[];
  /** Names of unknown numbers in the provider's usage. */
  unknown: string[];
  /** Names of reported counts that fell in the course of the stream. */
  contradicted: string[];
  /** The service tier reported by the provider; null if not reported. */
  tier: ServiceTier | null;
}

export type CacheLifetime = '5m' | '1h';

export interface CounterOptions {
  /** The estimate for the model's output; 0.25 tokens per byte by default. */
  estimate?: OutputEstimate;
  /** Thinking is enabled: time before the first text may be thinking. */
  thinks?: boolean;
  /** The request has tools of the provider. */
  hasServerTools?: boolean;
  /** The provider may summarize the conversation before the first content. */
  isCompacted?: boolean;
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
  #usage: PartialUsage | null = null; // the largest counts reported so far
  /** Output counts arrive while output does. */
  #isCountedAsItGoes = false;
  #searchResults = 0;
  #summaries = 0;
  #hasServerWork = false;
  readonly #isCompacted: boolean;
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
      hasServerTools = false,
      isCompacted = false,
      elapsedMs = sinceStart,
      cacheLifetime = fiveMinutes,
    } = options;
    this.#thinks = thinks;
    this.#hasServerWork = hasServerTools;
    this.#isCompacted = isCompacted;
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
    const { value, usage } = event;
    if (usage !== undefined)
      this.#isCountedAsItGoes = this.#takeUsage(usage).output !== null || this.#isCountedAsItGoes;
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

  /** Counts what the provider reported for an answer that the model left unusable. */
  observeUnusable(usage: JsonObject | null): void {
    if (usage === null) return;
    this.#started = true;
    this.#outputIsFinal = this.#takeUsage(usage).output !== null;
    this.#stopReason ??= 'unusable';
  }

  /** The provider begins an answer that has no events. */
  observeBegin(): void {
    this.#started = true;
  }

  /** Counts what the provider reported for such an answer before it broke off. */
  observeUsage(usage: JsonObject | null): void {
    if (usage !== null) this.#takeUsage(usage);
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
    this.#summaries = jsonObjects(content).filter(isSummary).length;
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

  /** The tokens of sound that the provider has reported, included in the other counts; null: not reported. */
  reportedSound(): SoundCounts {
    return { input: this.#usage?.soundInput ?? null, output: this.#usage?.soundOutput ?? null };
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

  /** The texts to count, if the provider did not report the output; null: there is nothing to count. */
  uncountedTexts(outputTokensMax: number): { text: string; thinking: string } | null {
    if (this.isFinal && this.#outputReported(outputTokensMax) !== null) return null;
    const { text, thinkingText } = this.#output;
    return text.isEmpty && thinkingText.isEmpty ? null : { text: text.text(), thinking: thinkingText.text() };
  }

  /** The evidence so far; may be called at any time. `mayHide`: the model may think without showing it. */
  evidence(outputTokensMax: number, mayHide: boolean, made: MadeCounts = NOTHING_COUNTED): Evidence {
    const usage = this.#usage;
    const lifetime = this.#cacheLifetime();
    const output = this.#outputReported(outputTokensMax);
    const isFinal = this.isFinal && output !== null;
    const compactions = usage?.compactions ?? null;
    return {
      hasBegun: this.#started || this.#contentSeen || usage !== null,
      isFinal,
      isHidden: this.isHidden(mayHide),
      mayHide,
      prompt: usage === null ? NO_TOKENS : countsOf(usage, usage.input ?? 0, 0, lifetime),
      isPromptReported: usage !== null && usage.input !== null,
      reportedOutput: output,
      compactions:
        compactions === null
          ? NO_TOKENS
          : countsOf(compactions, compactions.input ?? 0, compactions.output ?? 0, lifetime),
      summaries: this.#summaries,
      webSearches: Math.max(usage?.webSearches ?? 0, this.#searchResults),
      countedPrompt: made.prompt,
      countedOutput: made.output === null ? null : this.#countedTokens(made.output, outputTokensMax),
      outputMost: isFinal ? 0 : Math.min(credibleOutputMax(outputTokensMax), this.#output.tokensMost()),
    };
  }

  /** The usage to bill, by who ended the message. */
  bill(ending: Ending, limits: CountLimits, mayHide: boolean, made: MadeCounts): CountedUsage {
    const evidence = this.evidence(limits.outputTokensMax, mayHide, made);
    return this.#usageOf(billEvidence(ending, evidence, limits.held), evidence, limits.outputTokensMax);
  }

  /** An estimate of the usage so far, made without waiting: a checkpoint, or counts for a client. */
  estimate({ inputEstimate, outputTokensMax }: EstimateLimits): CountedUsage {
    const evidence = this.evidence(outputTokensMax, false, { prompt: inputEstimate, output: null });
    const output = Math.min(this.#output.billedTokens(outputTokensMax), credibleOutputMax(outputTokensMax));
    const seen = evidence.isFinal ? evidence : { ...evidence, countedOutput: output };
    const counts = billEvidence('service', seen, {
      inputTokens: inputEstimate,
      outputTokens: Number.POSITIVE_INFINITY,
      webSearches: 0,
    });
    return this.#usageOf(counts, evidence, outputTokensMax);
  }

  #usageOf(counts: TokenCounts | null, evidence: Evidence, outputTokensMax: number): CountedUsage {
    const { disbelieved, unknown, contradicted, tier } = this.#usage ?? NOTHING_REPORTED;
    const isReported = knownOf(evidence) === 'final' && counts !== null && isWhole(counts, evidence);
    const isDoubted = this.#usage?.output !== null && this.#outputReported(outputTokensMax) === null;
    return {
      counts: counts ?? { ...NO_TOKENS },
      source: counts === null ? 'none' : isReported ? 'reported' : 'estimated',
      disbelieved: this.#usage !== null && isDoubted ? [...disbelieved, 'output_tokens'] : disbelieved,
      unknown,
      contradicted,
      tier,
    };
  }

  #countedTokens(counted: { text: number; thinking: number }, outputTokensMax: number): number {
    return Math.min(credibleOutputMax(outputTokensMax), this.#output.countedTokens(counted, outputTokensMax));
  }

  #outputReported(outputTokensMax: number): number | null {
    const output = this.#usage?.output ?? null;
    return output === null || output > credibleOutputMax(outputTokensMax) ? null : output;
  }

  /** Whether output or input may exist that neither content nor counts have shown. */
  isHidden(mayHide: boolean): boolean {
    if (this.#finished || this.isFinal) return false;
    if (this.#hasServerWork || (this.#isCompacted && !this.#contentSeen)) return true;
    const isCounted = this.#isCountedAsItGoes || this.#output.hasRunningThinking;
    return mayHide && !(isCounted && this.#contentSeen); // thinking before the first content comes with no event
  }

  #takeUsage(value: JsonValue | undefined): PartialUsage {
    const usage = readUsage(value);
    if (isJsonObject(value)) this.#usage = this.#usage === null ? usage : mergeUsage(this.#usage, usage);
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
    const type = textOf(block['type']);
    if (!isServerWork(type)) return;
    if (isSummary(block)) this.#summaries++;
    this.#hasServerWork = true;
    // A search that failed is not billed: its content is an error instead of a list.
    if (type === 'web_search_tool_result' && Array.isArray(block['content'])) this.#searchResults++;
  }

  #countDelta(delta: JsonObject): void {
    this.#contentSeen = true;
    this.#outputIsFinal = false; // an earlier count was not final
    this.#output.addDelta(delta);
  }
}

/** Whether all of the reported output is billed. */
function isWhole({ output }: TokenCounts, { reportedOutput, compactions }: Evidence): boolean {
  return output === (reportedOutput ?? 0) + compactions.output;
}

const NOTHING_REPORTED = Object.freeze(readUsage(undefined));

/** Blocks of work that the provider does itself: its tools, with their results, and summaries of the conversation. */
function isServerWork(type: string): boolean {
  return (
    type === 'server_tool_use' || type === 'mcp_tool_use' || type.endsWith('_tool_result') || type === 'compaction'
  );
}

function isSummary({ type }: JsonObject): boolean {
  return type === 'compaction';
}

/** The largest output count that is credible for this max_tokens. */
function credibleOutputMax(outputTokensMax: number): number {
  return 2 * outputTokensMax + OUTPUT_EXCESS_TOKENS;
}
