// Writes a text completion, whole or in chunks, from a message. [DONE] follows only the end, never an error.

import { tierOfAnswer } from '../../protocols/service-tiers.ts';
import { type DeltaKind, type JsonObject, type JsonValue, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import type { AnswerEnd, AnswerWriter, StreamError } from '../answer-stream.ts';
import { convertUsage, FINGERPRINT, finishReasonOf } from '../chat-completions/chat-completions.ts';
import { openAiError } from '../openai-error.ts';
import { FIELDS } from './completion-fields.ts';
import type { CompletionTerms } from './convert-request.ts';
import { StopCutter } from './cut-at-stops.ts';

/** The JSON of a whole answer. Thinking is left out. */
export function completionJson(
  message: JsonObject,
  { blankStops, tier }: CompletionTerms,
  createdAtMs: number,
): string {
  const cutter = new StopCutter(blankStops);
  const said = jsonObjects(message['content']).map((block) => (block['type'] === 'text' ? textOf(block['text']) : ''));
  const kept = cutter.take(said.join('')) + cutter.end();
  const choice = choiceOf(kept, reasonOf(message['stop_reason'], cutter.isCut));
  const used = objectOf(message['usage']);
  const more = { usage: convertUsage(used), ...tierOfAnswer(used, tier) };
  return JSON.stringify({ ...headOf(message, createdAtMs), choices: [choice], ...more });
}

function headOf({ id, model = '' }: JsonObject, createdAtMs: number): JsonObject {
  return {
    id: `cmpl-${textOf(id).replace(/^msg_/, '')}`,
    object: 'text_completion',
    created: Math.floor(createdAtMs / 1000),
    model,
    system_fingerprint: FINGERPRINT,
  };
}

function choiceOf(text: string, finish_reason: string | null): JsonObject {
  return { text, index: 0, logprobs: null, finish_reason };
}

/** A text completion calls no tools. */
function reasonOf(stopReason: JsonValue | undefined, isCut: boolean): string {
  const reason = isCut ? 'stop' : finishReasonOf(stopReason, false);
  return reason === 'tool_calls' ? 'stop' : reason;
}

const COMMENT = ': ping\n\n';
const DONE = 'data: [DONE]\n\n';

function eventOf(value: JsonObject): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

export class CompletionWriter implements AnswerWriter {
  readonly #usagePlace: CompletionTerms['usage'];
  readonly #tier: CompletionTerms['tier'];
  readonly #createdAtMs: number;
  readonly #cutter: StopCutter;
  #head: JsonObject = {};

  constructor({ usage, tier, blankStops }: CompletionTerms, createdAtMs: number) {
    this.#usagePlace = usage;
    this.#tier = tier;
    this.#createdAtMs = createdAtMs;
    this.#cutter = new StopCutter(blankStops);
  }

  ping(): string {
    return COMMENT;
  }

  begin(message: JsonObject): string {
    this.#head = headOf(message, this.#createdAtMs);
    return '';
  }

  openBlock(): string {
    return '';
  }

  grow(kind: DeltaKind, piece: string): string {
    const text = kind === 'text' ? this.#cutter.take(piece) : '';
    return text === '' ? '' : this.#chunk(choiceOf(text, null));
  }

  closeBlock(): string {
    return '';
  }

  finish({ usage: counts, stopReason }: AnswerEnd): string {
    const usage = convertUsage(counts);
    const choice = choiceOf(this.#cutter.end(), reasonOf(stopReason, this.#cutter.isCut));
    const tier = tierOfAnswer(counts, this.#tier);
    const last = this.#chunk(choice, { ...tier, ...(this.#usagePlace === 'last chunk' && { usage }) });
    return `${last}${this.#usagePlace === 'own chunk' ? eventOf({ ...this.#head, choices: [], ...tier, usage }) : ''}${DONE}`;
  }

  fail(error: StreamError): string {
    return eventOf({ error: openAiError(error, FIELDS) });
  }

  #chunk(choice: JsonObject, more: JsonObject = {}): string {
    return eventOf({ ...this.#head, choices: [choice], ...more });
  }
}
