// A provider that speaks Chat Completions, whatever its family: requests are translated, and its answers, streamed
// or whole, become Messages events by one state machine. Tokens are never counted here, nor asked for.

import type { StreamEvent } from '../../wire/wire.ts';
import { parseWithArguments } from '../call-arguments.ts';
import { foldAnswer } from '../fold-answer.ts';
import { openStream } from '../open-stream.ts';
import type { Attempt, Provider, ProviderReply } from '../provider.ts';
import { readErrorText, readObject, readUpstreamRequestId } from '../read-answer.ts';
import { thinksUnasked } from '../thinks-unasked.ts';
import { fetchUpstream } from '../upstream.ts';
import { convertAnswer } from './convert-answer.ts';
import { convertBody, convertChatUrl, convertHeaders } from './convert-request.ts';
import { isChatError, mapChatError, mapChatFault } from './map-error.ts';
import { probe } from './probe.ts';
import { chooseProfile, type Profile } from './profile.ts';
import { readStream } from './read-stream.ts';

export const openai: Provider = {
  kind: 'openai',

  async submit(attempt) {
    const profile = chooseProfile(attempt.provider.baseUrl, attempt.upstreamModel);
    const response = await post(attempt, profile);
    if (!attempt.request.stream) return await openMessage(response, attempt, profile);
    return await openStream(response, {
      stream: (body) => readStream(body, attempt, profile, readUpstreamRequestId(response.headers)),
      whole: () => readEvents(response, attempt, profile),
    });
  },

  /** No family has a counter. */
  async countTokens() {
    return null;
  },

  countLocally() {
    return null;
  },

  thinksUnasked,

  probe,
};

/** An answer of status 2xx. Throws ProviderFault for every other, and for what cannot be asked. */
async function post(attempt: Attempt, profile: Profile): Promise<Response> {
  const accept = attempt.request.stream ? 'text/event-stream' : 'application/json';
  const response = await fetchUpstream({
    url: convertChatUrl(attempt, profile),
    headers: convertHeaders(attempt, profile, accept),
    body: JSON.stringify(convertBody(attempt, profile)),
    signal: attempt.signal,
  });
  if (response.ok) return response;
  throw mapChatFault(response.status, response.headers, await readErrorText(response, attempt.signal), Date.now());
}

async function openMessage(response: Response, attempt: Attempt, profile: Profile): Promise<ProviderReply> {
  const events = await readEvents(response, attempt, profile);
  return { form: 'message', ...foldAnswer(events), upstreamRequestId: readUpstreamRequestId(response.headers) };
}

/** Of an answer that came whole. Throws ProviderFault, also for an error of status 200. */
async function readEvents(response: Response, attempt: Attempt, profile: Profile): Promise<StreamEvent[]> {
  const { value, upstreamRequestId } = await readObject(response, attempt.signal, parseWithArguments);
  if (isChatError(value)) throw mapChatError(value, upstreamRequestId);
  return convertAnswer(value, attempt, profile, upstreamRequestId);
}
