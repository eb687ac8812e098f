// Responses: translates OpenAI requests to Messages and answers back, by docs/responses.md.

import { type JsonObject, unfoldMessage, wrongField } from '../../wire/wire.ts';
import { AnswerStream } from '../answer-stream.ts';
import { weighArguments } from '../chat-messages.ts';
import type { AnswerTranslator, Asked, Front, Operation, Translated } from '../front.ts';
import { codexModelsBody, isForCodex } from './codex-models.ts';
import { convertRequest, type ResponseTerms } from './convert-request.ts';
import { compactedBody, nativeBody } from './native-body.ts';
import { responseErrorBody } from './response-error.ts';
import { type ResponseHead, ResponseWriter } from './response-writer.ts';

export { convertRequest as readResponses, type ResponseTerms } from './convert-request.ts';
export { FIELDS as RESPONSE_FIELDS } from './response-fields.ts';

const PATH = '/v1/responses';
const COUNT_PATH = `${PATH}/input_tokens`;
const COMPACT_PATH = `${PATH}/compact`;
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
    const { requestId, receivedAtMs: createdAtMs, clock, operation } = asked;
    if (operation.asks === 'message' && operation.isCompaction) return translateCompaction(body, asked);
    const { message, terms } = convertRequest(body);
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
    case COMPACT_PATH:
      return { asks: 'message', isCompaction: true };
    case COUNT_PATH:
      return { asks: 'count' };
    case MODELS_PATH:
      return { asks: 'models' };
    default:
      return null;
  }
}

/** No field limits what a compaction writes: the most of a model of OpenAI. */
const COMPACTION_TOKENS_MAX = 128_000;

/** The message is that of the conversation, for holds and counts; only the client's own body is sent. */
function translateCompaction({ stream: _, ...body }: JsonObject, asked: Asked): Translated {
  const { message, terms } = convertRequest(body);
  const native = compactedBody(body, asked);
  if (native === null) throw wrongField('input', 'only items of Responses can be compacted');
  const { requestId, receivedAtMs: createdAtMs, clock } = asked;
  const answer = answerOf(terms, { requestId, createdAtMs, clock });
  return { message: { ...message, max_tokens: COMPACTION_TOKENS_MAX }, native, answer };
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
