// Responses: translates OpenAI requests to Messages and answers back, by docs/responses.md.

import type { Clock } from '../../base/clock.ts';
import type { TurnpikeError } from '../../errors.ts';
import { objectOf, parseExactly } from '../../wire/wire.ts';
import { weighArguments } from '../chat-messages.ts';
import type { AnswerTranslator, Asked, Front, Operation } from '../front.ts';
import { withClientPaths } from '../origins.ts';
import { codexModelsBody, isForCodex } from './codex-models.ts';
import { convertRequest, type ResponseTerms } from './convert-request.ts';
import { nativeBody } from './native-body.ts';
import { responseErrorBody } from './response-error.ts';
import { ResponseWriter } from './response-writer.ts';

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
    return { message, native: nativeBody(body, asked), answer: new ResponseAnswer(terms, asked) };
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

class ResponseAnswer implements AnswerTranslator {
  readonly #terms: ResponseTerms;
  readonly #requestId: string;
  readonly #createdAtMs: number;
  readonly #clock: Clock;

  constructor(terms: ResponseTerms, { requestId, receivedAtMs, clock }: Asked) {
    this.#terms = terms;
    this.#requestId = requestId;
    this.#createdAtMs = receivedAtMs;
    this.#clock = clock;
  }

  message(text: string): string {
    const answer = objectOf(parseExactly(text));
    return answer['object'] === 'response' ? text : this.writer().ofMessage(answer);
  }

  writer(): ResponseWriter {
    const head = { requestId: this.#requestId, createdAtMs: this.#createdAtMs, clock: this.#clock };
    return new ResponseWriter(this.#terms, head);
  }

  error(error: TurnpikeError): TurnpikeError {
    return withClientPaths(error, this.#terms.origins);
  }
}
