// What is learned of all models, so that a hold covers what a message will cost and no more, and a message that
// was cut short is billed what it had. Learning is never a reason for a message to fail.

import { bounds } from '../config.ts';
import type { MessageCounter } from './count-message.ts';
import { isTelling, type LearnedDocument, LearnedModel, readDocument } from './learned-model.ts';
import type { PromptMeasure } from './measure-prompt.ts';
import { type OutputEstimate, UNLEARNED } from './output-estimate.ts';

const PROMPT_BYTES_LEAST = 400; // below, what stands around the text outweighs it
const FIXED_SHARE_MOST = 1 / 8; // of tokens that are no text and only bounded, by bytes of text
const STREAM_TOKENS_LEAST = 128;
const STREAM_MS_LEAST = 100; // what comes sooner was made before, and tells nothing of the model's speed
const TOKENS_PER_SECOND_MOST = 10_000;

export class Estimates {
  readonly #models = new Map<string, LearnedModel>();
  readonly #changed = new Set<string>();

  /** `stored` is what `takeChanged` gave out. A document that cannot be read is ignored. */
  constructor(stored: Iterable<[model: string, document: unknown]> = []) {
    for (const [model, json] of stored) {
      const document = readDocument(json);
      if (document !== null) this.#keep(model, new LearnedModel(document));
    }
  }

  /** Tokens that a byte of a prompt's text hardly ever exceeds; null until enough prompts were seen. */
  inputTokensPerByte(model: string): number | null {
    return this.#models.get(model)?.tokensPerByte ?? null;
  }

  /** The same object until something is learned. */
  output(model: string): OutputEstimate {
    return this.#models.get(model)?.output ?? UNLEARNED;
  }

  /** `promptTokens` are all of the prompt's, as reported, however they were cached. */
  learnPrompt(model: string, measure: PromptMeasure, promptTokens: number): void {
    const { textBytes, fixedTokensMax } = measure;
    if (!(textBytes >= PROMPT_BYTES_LEAST && fixedTokensMax <= textBytes * FIXED_SHARE_MOST)) return;
    const tokensPerByte = (promptTokens - fixedTokensMax) / textBytes;
    if (!Number.isFinite(tokensPerByte) || promptTokens < 0) return;
    this.#learnOf(model).addPrompt(Math.max(0, tokensPerByte));
    this.#changed.add(model);
  }

  /** Takes from a finished message with reported output what it teaches; from any other, nothing. */
  learnOutput(model: string, counter: MessageCounter): void {
    const lesson = counter.lesson();
    if (lesson === null) return;
    const { visible, streamedMs, tokens } = lesson;
    if (visible !== null && visible.tokens > 0 && isTelling(visible.classes)) {
      this.#learnOf(model).addText(visible.classes, visible.tokens);
      this.#changed.add(model);
    }
    if (streamedMs === null || !(streamedMs >= STREAM_MS_LEAST) || tokens < STREAM_TOKENS_LEAST) return;
    this.#learnOf(model).addSpeed(Math.min(TOKENS_PER_SECOND_MOST, (tokens * 1000) / streamedMs));
    this.#changed.add(model);
  }

  /** Models learned of since the last call, at most `max`; the others wait for the next. */
  takeChanged(max: number): [model: string, document: LearnedDocument][] {
    const taken: [string, LearnedDocument][] = [];
    for (const model of this.#changed) {
      if (taken.length >= max) break;
      this.#changed.delete(model);
      const learned = this.#models.get(model);
      if (learned !== undefined) taken.push([model, learned.document()]);
    }
    return taken;
  }

  #learnOf(model: string): LearnedModel {
    return this.#models.get(model) ?? this.#keep(model, new LearnedModel());
  }

  #keep(model: string, learned: LearnedModel): LearnedModel {
    const [oldest] = this.#models.keys();
    if (this.#models.size >= bounds.learnedModelsMax && oldest !== undefined) this.#models.delete(oldest);
    this.#models.set(model, learned);
    return learned;
  }
}
