// Writes a text completion, whole or in chunks, from a message. [DONE] follows only the end, never an error.

import { tierOfAnswer } from '../../protocols/service-tiers.ts';
import { type JsonObject, type JsonValue, jsonObjects, objectOf, parseExactly, textOf } from '../../wire/wire.ts';
import { convertUsage, FINGERPRINT, finishReasonOf } from '../chat-completions/chat-completions.ts';
import { EventWriter } from '../event-writer.ts';
import { openAiErrorOfEvent } from '../openai-error.ts';
import type { Origins } from '../origins.ts';
import { addCounts } from '../read-usage.ts';
import { FIELDS } from './completion-fields.ts';
import type { CompletionTerms } from './convert-request.ts';
import { StopCutter } from './cut-at-stops.ts';

/** The JSON of a whole answer, from the JSON of a message. Thinking is left out. */
export function completionJson(text: string, { blankStops, tier }: CompletionTerms, createdAtMs: number): string {
  const message = objectOf(parseExactly(text));
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

export class CompletionWriter extends EventWriter {
  readonly #usagePlace: CompletionTerms['usage'];
  readonly #tier: CompletionTerms['tier'];
  readonly #createdAtMs: number;
  readonly #cutter: StopCutter;
  /** Needed until the answer begins; then released, because the request may be long. */
  #origins: Origins | null;
  #head: JsonObject = {};
  readonly #usage: JsonObject = {};
  #stopReason: JsonValue = null;

  constructor({ usage, tier, blankStops, origins }: CompletionTerms, createdAtMs: number) {
    super();
    this.#usagePlace = usage;
    this.#tier = tier;
    this.#createdAtMs = createdAtMs;
    this.#cutter = new StopCutter(blankStops);
    this.#origins = origins;
  }

  protected override convert(event: JsonObject): string {
    switch (event['type']) {
      case 'ping':
        return COMMENT;
      case 'message_start': {
        const message = objectOf(event['message']);
        this.#head = headOf(message, this.#createdAtMs);
        this.#origins = null;
        addCounts(this.#usage, message['usage']);
        return '';
      }
      case 'content_block_start': {
        const block = objectOf(event['content_block']);
        return block['type'] === 'text' ? this.#say(textOf(block['text'])) : '';
      }
      case 'content_block_delta': {
        const delta = objectOf(event['delta']);
        return delta['type'] === 'text_delta' ? this.#say(textOf(delta['text'])) : '';
      }
      case 'message_delta':
        this.#stopReason = objectOf(event['delta'])['stop_reason'] ?? null;
        addCounts(this.#usage, event['usage']);
        return '';
      case 'message_stop':
        return this.#finish();
      case 'error':
        this.end();
        return eventOf({ error: openAiErrorOfEvent(event, this.#origins, FIELDS) });
      default:
        return '';
    }
  }

  #say(piece: string): string {
    const text = this.#cutter.take(piece);
    return text === '' ? '' : this.#chunk(choiceOf(text, null));
  }

  #chunk(choice: JsonObject, more: JsonObject = {}): string {
    return eventOf({ ...this.#head, choices: [choice], ...more });
  }

  #finish(): string {
    this.end();
    const usage = convertUsage(this.#usage);
    const choice = choiceOf(this.#cutter.end(), reasonOf(this.#stopReason, this.#cutter.isCut));
    const tier = tierOfAnswer(this.#usage, this.#tier);
    const last = this.#chunk(choice, { ...tier, ...(this.#usagePlace === 'last chunk' && { usage }) });
    return `${last}${this.#usagePlace === 'own chunk' ? eventOf({ ...this.#head, choices: [], ...tier, usage }) : ''}${DONE}`;
  }
}
