// Responses: translates OpenAI requests to Messages and answers back, by docs/responses.md.

import { unfoldMessage } from '../../wire/wire.ts';
import { AnswerStream } from '../answer-stream.ts';
import { weighArguments } from '../chat-messages.ts';
import type { AnswerTranslator, Front, Operation } from '../front.ts';
import { codexModelsBody, isForCodex } from './codex-models.ts';
import { convertRequest, type ResponseTerms } from './convert-request.ts';
import { nativeBody } from './native-body.ts';
import { responseErrorBody } from './response-error.ts';
import { type ResponseHead, ResponseWriter } from './response-writer.ts';

export { convertRequest as readResponses, type ResponseTerms } from './convert-request.ts';
export { FIELDS as RESPONSE_FIELDS } from './response-fields.ts';

const PATH = '/v1/responses';
const COUNT_PATH = `${PATH}/input_tokens`;
const MODELS_PATH = '/v1/models';

export const responses: Front = {
  protocol: 'responses',
  hasOpenAiHeaders: true,
  keyHeader: null,
  owns: (path, { query }) =>
    path === PATH || path.startsWith(`${PATH}/`) || (path === MODELS_PATH && isForCodex(query)),
  findOperation,
  weigh: (body, weight) => weighArguments(body['input'], 'input', weight),
  translate(body, asked) {
    const { message, terms } = convertRequest(body);
    const { requestId, receivedAtMs: createdAtMs, clock } = asked;
    return { message, native: nativeBody(body, asked), answer: answerOf(terms, { requestId, createdAtMs, clock }) };
  },
  errorBody: responseErrorBody,
  countBody: ({ input_tokens = 0 }) => JSON.stringify({ object: 'response.input_tokens', input_tokens }),
  modelsBody: codexModelsBody,
};

function findOperation(path: string): Operation | null {
  switch (path) {
    case PATH:
      return { asks: 'message' };
    case COUNT_PATH:
      return { asks: 'count' };
    case MODELS_PATH:
      return { asks: 'models' };
    default:
      return null;
  }
}

function answerOf(terms: ResponseTerms, head: ResponseHead): AnswerTranslator {
  const { origins } = terms;
  return {
    origins,
    message(message) {
      const writer = new ResponseWriter(terms, head, Number.POSITIVE_INFINITY); // the message is in memory
      const stream = new AnswerStream({ origins, writer: () => writer });
      stream.take(unfoldMessage(message));
      return writer.whole(stream.end);
    },
    writer: () => new ResponseWriter(terms, head),
  };
}
