// A provider that speaks Chat Completions, whatever its family: requests are translated, and its answers, streamed
// or whole, become Messages events by one state machine. Tokens are never counted here, nor asked for.

import type { JsonObject, StreamEvent } from '../../wire/wire.ts';
import { foldAnswer } from '../fold-answer.ts';
import { type Attempt, type EventSource, type Provider, ProviderFault, type ProviderReply } from '../provider.ts';
import { readErrorText, readObject, readUpstreamRequestId } from '../read-answer.ts';
import { thinksUnasked } from '../thinks-unasked.ts';
import { cancelBody, fetchUpstream } from '../upstream.ts';
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
    return attempt.request.stream
      ? await openStream(response, attempt, profile)
      : await openMessage(response, attempt, profile);
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

async function openStream(response: Response, attempt: Attempt, profile: Profile): Promise<ProviderReply> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  const contentType = response.headers.get('content-type') ?? 'text/event-stream';
  if (contentType.includes('json')) {
    const { value } = await readAnswer(response, attempt);
    return {
      form: 'stream',
      events: giveOnce(convertAnswer(value, attempt, profile, upstreamRequestId)),
      upstreamRequestId,
    };
  }
  if (!contentType.includes('text/event-stream') || response.body === null) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'the provider answered a stream with something else', { upstreamRequestId });
  }
  const events = readStream(response.body, attempt, profile, upstreamRequestId);
  return { form: 'stream', events, upstreamRequestId };
}

/** A provider that does not stream: its whole message as one batch of events. */
function giveOnce(events: StreamEvent[]): EventSource {
  let isGiven = false;
  return {
    async next() {
      if (isGiven) return null;
      isGiven = true;
      return events;
    },
  };
}

async function openMessage(response: Response, attempt: Attempt, profile: Profile): Promise<ProviderReply> {
  const { value, upstreamRequestId } = await readAnswer(response, attempt);
  const events = convertAnswer(value, attempt, profile, upstreamRequestId);
  return { form: 'message', ...foldAnswer(events), upstreamRequestId };
}

/** Throws ProviderFault, also for an error of status 200. */
async function readAnswer(
  response: Response,
  { signal }: Attempt,
): Promise<{ value: JsonObject; upstreamRequestId: string | null }> {
  const { value, upstreamRequestId } = await readObject(response, signal);
  if (isChatError(value)) throw mapChatError(value, upstreamRequestId);
  return { value, upstreamRequestId };
}
