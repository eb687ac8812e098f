// Text completions, OpenAI's older API: the model continues a prompt, or fills the gap before a suffix (docs/completions.md).

import type { AnswerTranslator, Front } from '../front.ts';
import { openAiError } from '../openai-error.ts';
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
    return { message, native, answer: answerOf(terms, receivedAtMs) };
  },
  errorBody: (error) => JSON.stringify({ error: openAiError(error, FIELDS) }),
};

function answerOf(terms: CompletionTerms, createdAtMs: number): AnswerTranslator {
  return {
    origins: terms.origins,
    message: (message) => completionJson(message, terms, createdAtMs),
    writer: () => new CompletionWriter(terms, createdAtMs),
  };
}
