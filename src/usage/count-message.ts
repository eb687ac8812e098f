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
import { estimateOutputTokens } from './estimate-tokens.ts';
import { NAMES_MAX, type PartialCounts, type PartialUsage, readUsage } from './read-usage.ts';

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

const OUTPUT_EXCESS_TOKENS = 1024; // beyond twice what was allowed, before a count of output is not believed

export class MessageCounter {
  #started = false;
  #finished = false;
  #contentSeen = false;
  #stopReason: string | null = null;
  #model: string | null = null;
  #usage: PartialUsage | null = null; // as far as reported; later counts have replaced earlier ones
  #outputIsFinal = false;
  #visibleBytes = 0; // of text, tool names and tool input
  #thinkingBytes = 0;
  #thinkingTokens = 0; // the provider's running estimate
  #sealedBytes = 0; // of signatures: where thinking is not shown, they hold it in base64

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
        if (isJsonObject(value['content_block'])) this.#countBlock(value['content_block']);
        break;
      case 'message_start':
        this.#started = true;
        if (isJsonObject(value['message'])) this.#takeStart(value['message']);
        break;
      case 'message_delta':
        if (isJsonObject(value['delta'])) this.#takeStopReason(value['delta']);
        this.#outputIsFinal = this.#takeUsage(value['usage']).output !== null || this.#outputIsFinal;
        break;
      case 'message_stop':
        this.#finished = true;
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

  /** What was used, as far as it has come. May be asked at any time, and again. */
  total(limits: CountLimits): CountedUsage {
    const usage = this.#usage ?? readUsage(undefined);
    const { disbelieved, unknown, speed } = usage;
    if (!this.#started && !this.#contentSeen && this.#usage === null)
      return { counts: { ...NO_TOKENS }, source: 'none', disbelieved, unknown, speed };
    const outputMost = 2 * limits.outputTokensMax + OUTPUT_EXCESS_TOKENS;
    const isCredible = usage.output === null || usage.output <= outputMost;
    const reportedOutput = isCredible ? usage.output : null;
    const isFinal = this.#outputIsFinal && (this.#finished || this.#stopReason !== null) && reportedOutput !== null;
    const output = isFinal
      ? reportedOutput
      : Math.max(Math.min(this.#estimatedOutput(), outputMost), reportedOutput ?? 0);
    return {
      counts: sum(
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

  #countDelta(delta: JsonObject): void {
    this.#contentSeen = true;
    this.#outputIsFinal = false; // a count that came before this was one on the way
    this.#visibleBytes += bytesOf(delta['text']) + bytesOf(delta['partial_json']);
    if (delta['type'] === 'signature_delta') this.#sealedBytes += bytesOf(delta['signature']);
    if (delta['type'] !== 'thinking_delta') return;
    this.#thinkingBytes += bytesOf(delta['thinking']);
    const tokens = delta['estimated_tokens']; // an increment, by the provider's documentation
    if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0) this.#thinkingTokens += tokens;
  }

  /** Results of server tools are read by the model, not written by it: they are no output. */
  #countBlock(block: JsonObject): void {
    this.#contentSeen = true;
    this.#visibleBytes += bytesOf(block['text']) + bytesOf(block['name']);
    if (isJsonObject(block['input'])) this.#visibleBytes += bytesOfJson(block['input']);
    this.#thinkingBytes += bytesOf(block['thinking']);
    this.#sealedBytes += bytesOf(block['signature']);
    if (block['type'] === 'redacted_thinking') this.#thinkingBytes += bytesOf(block['data']);
  }

  #estimatedOutput(): number {
    const sealed = this.#thinkingBytes === 0 ? Math.floor((this.#sealedBytes * 3) / 4) : 0;
    const thinking = Math.max(estimateOutputTokens(this.#thinkingBytes + sealed), this.#thinkingTokens);
    return estimateOutputTokens(this.#visibleBytes) + thinking;
  }
}

/** Adds up the parts. Cache writes that no lifetime is said of are those of 5 minutes, the protocol's default. */
function sum(parts: readonly PartialCounts[], webSearches: number): TokenCounts {
  const counts: TokenCounts = { ...NO_TOKENS, webSearches };
  for (const part of parts) {
    const written1h = part.cacheWrite1h ?? 0;
    const written = Math.max(part.cacheWrite ?? 0, (part.cacheWrite5m ?? 0) + written1h);
    counts.input += part.input ?? 0;
    counts.output += part.output ?? 0;
    counts.cacheRead += part.cacheRead ?? 0;
    counts.cacheWrite5m += written - written1h;
    counts.cacheWrite1h += written1h;
  }
  return counts;
}

function bytesOf(text: JsonValue | undefined): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}

/**
 * The bytes of its text, but for escapes. Not written to be measured: nested by the ten thousand, as JSON can be
 * read, it could not be, and to find that out would take the runtime seconds.
 */
function bytesOfJson(whole: JsonValue): number {
  let bytes = 0;
  const rest = [whole];
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    if (typeof part === 'string') bytes += Buffer.byteLength(part) + 2;
    else if (typeof part !== 'object' || part === null) bytes += String(part).length;
    else {
      const names = Array.isArray(part) ? null : Object.keys(part);
      const parts = Object.values(part);
      bytes += 2 + Math.max(0, parts.length - 1);
      for (const name of names ?? []) bytes += Buffer.byteLength(name) + 3;
      for (const inner of parts) rest.push(inner);
    }
  }
  return bytes;
}

/** Counts of a stream are cumulative: a later one replaces an earlier one, unless it is absent. */
function replaceCounts(before: PartialUsage, after: PartialUsage): PartialUsage {
  return {
    input: after.input ?? before.input,
    output: after.output ?? before.output,
    cacheRead: after.cacheRead ?? before.cacheRead,
    cacheWrite: after.cacheWrite ?? before.cacheWrite,
    cacheWrite5m: after.cacheWrite5m ?? before.cacheWrite5m,
    cacheWrite1h: after.cacheWrite1h ?? before.cacheWrite1h,
    webSearches: after.webSearches ?? before.webSearches,
    speed: after.speed ?? before.speed,
    compactions: after.compactions.length > 0 ? after.compactions : before.compactions,
    disbelieved: union(before.disbelieved, after.disbelieved),
    unknown: union(before.unknown, after.unknown),
  };
}

function union(before: string[], after: string[]): string[] {
  if (after.length === 0 || before.length >= NAMES_MAX) return before;
  return [...new Set([...before, ...after])].slice(0, NAMES_MAX);
}
