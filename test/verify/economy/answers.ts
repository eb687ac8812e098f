// The answers of the provider of the economy, step by step: hidden thinking, text, uses of its own tools; and the charge for
// each.

import type { JsonObject } from '../../../src/wire/wire.ts';
import { behaviourOf, type ModelName, priceOf, WINDOW_TOKENS } from './models.ts';
import { bytesOf, type Text, writePiece } from './texts.ts';
import { bytesWithin, countTokens } from './tokenizers.ts';

/** Tools that the provider runs itself, and summaries that it makes of the conversation. */
export const serverTools = ['search', 'fetch', 'code', 'summary'] as const;
export type ServerTool = (typeof serverTools)[number];

/** How the model ends its answer. */
export type Ending = 'answer' | 'refusal' | 'unusable';

/** The client's request, as the provider understands it. */
export interface Wanted {
  model: ModelName;
  prompt: Text;
  /** Text within an attached PDF file; null: no file. */
  file: Text | null;
  /** Tokens of thinking that the client does not get. */
  thinking: number;
  /** Uses of one of the provider's tools in the middle of the answer. */
  tool: ServerTool | null;
  uses: number;
  /** Tokens of the result of each use. */
  resultTokens: number;
  answer: Text;
  ending: Ending;
  maxTokens: number;
  isBetaBad: boolean;
  /** From 0 to 999: what goes wrong where something may. */
  luck: number;
}

/** The truth about one attempt: what was produced until it ended or was stopped. */
export interface Production {
  wanted: Wanted;
  /** Bytes of text. */
  bytes: number;
  thinking: number;
  uses: number;
  isRunning: boolean;
  /** The provider itself failed, by no doing of the client. */
  isFaulty: boolean;
  /** It answered nothing: it charges nothing. */
  isRefused: boolean;
  /** The provider gave up a write that its reader blocked. */
  gaveUp: boolean;
  /** The part that the service read; null: nothing yet. */
  taken: Produced | null;
  startedMs: number;
  endedMs: number | null;
}

/** An amount of output, and of what tools added. */
export interface Produced {
  bytes: number;
  thinking: number;
  uses: number;
}

export interface Counts {
  input: number;
  output: number;
  searches: number;
  /** Tokens of each summary. */
  summaries: { input: number; output: number }[];
}

const REQUEST_TOKENS = 4;
const FILE_TOKENS = 1_500; // of the page, besides its text
const USE_TOKENS = 24; // of output: name and input of the tool
const SUMMARY_TOKENS = 400;
export const SUMMARIZED_FROM_TOKENS = 50_000; // the least that a request may set

export function promptTokens({ model, prompt, file }: Pick<Wanted, 'model' | 'prompt' | 'file'>): number {
  const { tokenizer } = behaviourOf(model);
  const fileTokens = file === null ? 0 : countTokens(tokenizer, file) + FILE_TOKENS;
  return Math.ceil(countTokens(tokenizer, prompt) + fileTokens) + REQUEST_TOKENS;
}

export function tokensOfAnswer({ model, answer }: Pick<Wanted, 'model' | 'answer'>, bytes: number): number {
  return Math.ceil(countTokens(behaviourOf(model).outputTokenizer, answer, bytes) - 1e-9);
}

/** The provider's counts of this much of the answer. */
export function countsOf(wanted: Wanted, { bytes, thinking, uses }: Produced): Counts {
  const before = promptTokens(wanted);
  const isSummary = wanted.tool === 'summary';
  const results = isSummary ? 0 : uses * wanted.resultTokens;
  const calls = isSummary ? 0 : uses * USE_TOKENS;
  return {
    input: Math.max(before, Math.min(before + results, WINDOW_TOKENS)),
    output: Math.min(wanted.maxTokens, tokensOfAnswer(wanted, bytes) + thinking + calls),
    searches: wanted.tool === 'search' ? uses : 0,
    summaries: isSummary ? new Array(uses).fill({ input: before, output: SUMMARY_TOKENS }) : [],
  };
}

/** In nanodollars. */
export function priceOfCounts({ input, output, searches, summaries }: Counts): number {
  return summaries.reduce((sum, each) => sum + priceOf(each.input, each.output), priceOf(input, output, searches));
}

/** The provider's charge for an attempt: nothing if it answered nothing, and otherwise all that it did. */
export function chargeOf(production: Production): number {
  return production.isRefused ? 0 : priceOfCounts(countsOf(production.wanted, production));
}

export function usageOf({ input, output, searches, summaries }: Counts, thinking: number): JsonObject {
  return {
    input_tokens: input,
    output_tokens: output,
    ...(thinking > 0 && { output_tokens_details: { thinking_tokens: thinking } }),
    ...(searches > 0 && { server_tool_use: { web_search_requests: searches } }),
    ...(summaries.length > 0 && {
      iterations: [
        ...summaries.map((each) => ({ type: 'compaction', input_tokens: each.input, output_tokens: each.output })),
        { type: 'message', input_tokens: input, output_tokens: output },
      ],
    }),
  };
}

export type Step =
  | { step: 'thinking'; tokens: number; ms: number }
  | { step: 'text'; bytes: number; ms: number }
  | { step: 'use'; ms: number };

const CHUNK_BYTES = 240;
const CHUNK_MS = 100;
const THINKING_STEP_TOKENS = 100;
const THINKING_STEP_MS = 800;
const USE_MS = 300;

/** The steps of the answer, as far as `max_tokens` lets it come. */
export function stepsOf(wanted: Wanted): Step[] {
  const steps: Step[] = [];
  const thinking = Math.min(wanted.thinking, wanted.maxTokens);
  for (let left = thinking; left > 0; left -= THINKING_STEP_TOKENS)
    steps.push({ step: 'thinking', tokens: Math.min(left, THINKING_STEP_TOKENS), ms: THINKING_STEP_MS });
  const total = bytesWanted(wanted, thinking);
  const half = Math.max(1, Math.ceil(total / 2 / CHUNK_BYTES)) * CHUNK_BYTES;
  for (let from = 0; from < total || from === 0; from += CHUNK_BYTES) {
    if (total > 0) steps.push({ step: 'text', bytes: Math.min(CHUNK_BYTES, total - from), ms: CHUNK_MS });
    if (from + CHUNK_BYTES < half || from >= half) continue;
    for (let left = usesOf(wanted); left > 0; left--) steps.push({ step: 'use', ms: USE_MS });
  }
  return steps;
}

function usesOf(wanted: Wanted): number {
  if (wanted.tool === 'summary') return promptTokens(wanted) < SUMMARIZED_FROM_TOKENS ? 0 : 1;
  return wanted.tool === null ? 0 : wanted.uses;
}

function bytesWanted(wanted: Wanted, thinking: number): number {
  const { answer, model, maxTokens, tool, uses } = wanted;
  const calls = tool === null || tool === 'summary' ? 0 : uses * USE_TOKENS;
  return bytesWithin(behaviourOf(model).outputTokenizer, answer, Math.max(0, maxTokens - thinking - calls));
}

export function stopReasonOf({ answer, ending }: Wanted, bytes: number): string {
  if (bytes < bytesOf(answer)) return 'max_tokens';
  return ending === 'refusal' ? 'refusal' : 'end_turn';
}

/** A part of the answer's text, by its bytes. */
export function textOf({ answer }: Wanted, from: number, bytes: number): string {
  let text = '';
  let start = 0;
  for (const [kind, length] of answer) {
    const first = Math.max(from, start);
    const last = Math.min(from + bytes, start + length);
    if (first < last) text += writePiece(kind, first - start, last - first);
    start += length;
  }
  return text;
}

const names = { search: 'web_search', fetch: 'web_fetch', code: 'code_execution' } as const;

/** The blocks of one use of a tool. */
export function blocksOfUse({ tool }: Wanted, use: number): JsonObject[] {
  if (tool === null) return [];
  if (tool === 'summary') return [{ type: 'compaction', content: 'What was said so far.' }];
  const id = `srvtoolu_${use}`;
  const name = names[tool];
  return [
    { type: 'server_tool_use', id, name, input: { query: 'the harbour' } },
    { type: `${name}_tool_result`, tool_use_id: id, content: [{ type: `${name}_result`, title: 'Harbour' }] },
  ];
}
