// Text completions, OpenAI's older API: the model continues a prompt, or fills the gap before a suffix (docs/completions.md).

import type { TurnpikeError } from '../../errors.ts';
import type { AnswerTranslator, Front } from '../front.ts';
import { openAiError } from '../openai-error.ts';
import { withClientPaths } from '../origins.ts';
import { FIELDS } from './completion-fields.ts';
import { CompletionWriter, completionJson } from './completion-writer.ts';
import { type CompletionTerms, convertRequest } from './convert-request.ts';

const PATH = '/v1/completions';

export const completions: Front = {
  protocol: 'completions',
  hasOpenAiHeaders: true,
  keyHeader: null,
  owns: (path) => path === PATH || path.startsWith(`${PATH}/`),
  findOperation: (path) => (path === PATH ? { asks: 'message' } : null),
  weigh: () => {},
  translate(body, { receivedAtMs }) {
    const { message, native, terms } = convertRequest(body);
    return { message, native, answer: new CompletionAnswer(terms, receivedAtMs) };
  },
  errorBody: (error) => JSON.stringify({ error: openAiError(error, FIELDS) }),
};

class CompletionAnswer implements AnswerTranslator {
  readonly #terms: CompletionTerms;
  readonly #createdAtMs: number;

  constructor(terms: CompletionTerms, createdAtMs: number) {
    this.#terms = terms;
    this.#createdAtMs = createdAtMs;
  }

  message(text: string): string {
    return completionJson(text, this.#terms, this.#createdAtMs);
  }

  writer(): CompletionWriter {
    return new CompletionWriter(this.#terms, this.#createdAtMs);
  }

  error(error: TurnpikeError): TurnpikeError {
    return withClientPaths(error, this.#terms.origins);
  }
}
