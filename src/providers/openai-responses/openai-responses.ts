// A provider that speaks OpenAI's Responses protocol. Nothing is kept there: each turn brings the whole conversation,
// and reasoning travels in the signatures of thinking blocks.

import type { JsonObject } from '../../wire/wire.ts';
import { parseWithArguments } from '../call-arguments.ts';
import { callIdsOf } from '../call-ids.ts';
import { messageIdOf } from '../compose-message.ts';
import { foldAnswer } from '../fold-answer.ts';
import { openStream } from '../open-stream.ts';
import type { Attempt, Provider } from '../provider.ts';
import { readErrorText, readObject, readUpstreamRequestId } from '../read-answer.ts';
import { thinksUnasked } from '../thinks-unasked.ts';
import { fetchUpstream } from '../upstream.ts';
import { convertAnswer } from './convert-answer.ts';
import type { AnswerTerms } from './convert-chunk.ts';
import { convertError, refusesReasoning } from './convert-error.ts';
import { convertBody } from './convert-request.ts';
import { readDisplay } from './convert-thinking.ts';
import { replacedToolNames } from './convert-tools.ts';
import { convertHeaders, convertUrl } from './endpoint.ts';
import { probe } from './probe.ts';
import { readStream } from './read-stream.ts';
import { NO_REASONING, reasoningOf } from './reasoning-models.ts';
import { homeOf } from './reasoning-signature.ts';

export const openaiResponses: Provider = {
  kind: 'openai-responses',

  async submit(attempt) {
    const response = await ask(attempt);
    const terms = termsOf(attempt, response);
    const { signal, request } = attempt;
    const whole = async () => convertAnswer((await readObject(response, signal, parseWithArguments)).value, terms);
    if (request.stream) return await openStream(response, { stream: (body) => readStream(body, signal, terms), whole });
    return { form: 'message', ...foldAnswer(await whole()), upstreamRequestId: terms.upstreamRequestId };
  },

  async countTokens() {
    return null;
  },

  countLocally() {
    return null;
  },

  thinksUnasked,

  probe,
};

/**
 * Thinking is a hint: a model of a name that nobody here knows, which refuses to be asked to reason, is asked once more
 * without. Throws ProviderFault.
 */
async function ask(attempt: Attempt): Promise<Response> {
  try {
    return await post(attempt, convertBody(attempt));
  } catch (thrown) {
    if (reasoningOf(attempt.upstreamModel).does !== 'unknown' || !refusesReasoning(thrown)) throw thrown;
  }
  return await post(attempt, convertBody(attempt, NO_REASONING));
}

/** An answer of status 2xx. Throws ProviderFault for every other. */
async function post({ provider, request, trace, signal }: Attempt, body: JsonObject): Promise<Response> {
  const headers = convertHeaders(provider, request.stream ? 'text/event-stream' : 'application/json', trace);
  const url = convertUrl(provider.baseUrl, '/responses');
  const response = await fetchUpstream({ url, headers, body: JSON.stringify(body), signal });
  if (response.ok) return response;
  throw convertError(response.status, response.headers, await readErrorText(response, signal), Date.now());
}

function termsOf({ request, requestId, provider, upstreamModel }: Attempt, response: Response): AnswerTerms {
  return {
    messageId: messageIdOf(requestId),
    model: upstreamModel,
    display: readDisplay(request.body),
    home: homeOf(provider),
    toolNames: replacedToolNames(request.body),
    callIds: callIdsOf(request.body),
    upstreamRequestId: readUpstreamRequestId(response.headers),
  };
}
