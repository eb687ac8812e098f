// Chat Completions: translates OpenAI requests to Messages and answers back, by docs/chat-completions.md.

import { weighArguments } from '../chat-messages.ts';
import type { AnswerTranslator, Front } from '../front.ts';
import { openAiError } from '../openai-error.ts';
import { withInner } from '../request-fields.ts';
import { FIELDS } from './chat-fields.ts';
import { type ChatTerms, convertRequest } from './chat-request.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { convertMessage } from './convert-message.ts';
import { convertResponsesBody, findList } from './responses-body.ts';

export { TRANSLATED_FIELDS } from './chat-fields.ts';
export { type ChatTerms, convertRequest as readChat } from './chat-request.ts';
export { convertUsage, FINGERPRINT, finishReasonOf } from './convert-message.ts';

const ROOT = '/v1/chat/';
const PATH = '/v1/chat/completions';

export const chatCompletions: Front = {
  protocol: 'chat-completions',
  hasOpenAiHeaders: true,
  keyHeader: null,
  owns: (path) => path.startsWith(ROOT),
  findOperation: (path) => (path === PATH ? { asks: 'message' } : null),
  weigh(given, weight) {
    const body = withInner(given);
    const { name } = findList(body);
    weighArguments(body[name], name, weight);
  },
  translate(given, { receivedAtMs }) {
    const body = withInner(given);
    const { name, hasItems } = findList(body);
    const { message, terms } = (hasItems ? convertResponsesBody : convertRequest)(body, name);
    return { message, native: null, answer: answerOf(terms, receivedAtMs) };
  },
  errorBody: (error) => JSON.stringify({ error: openAiError(error, FIELDS) }),
};

function answerOf(terms: ChatTerms, createdAtMs: number): AnswerTranslator {
  return {
    origins: terms.origins,
    message: (message) => convertMessage(message, terms, createdAtMs),
    writer: () => new ChunkWriter(terms, createdAtMs),
  };
}
