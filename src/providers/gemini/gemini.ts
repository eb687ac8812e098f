// A provider that speaks Gemini's generateContent. The request is translated before anything is sent, the answer
// as it comes, streamed or whole by the same machine. Nothing is counted here.

import { bounds } from '../../config.ts';
import type { StreamEvent } from '../../wire/wire.ts';
import { callIdsOf } from '../call-ids.ts';
import { foldAnswer } from '../fold-answer.ts';
import { type Attempt, type EventSource, type Provider, ProviderFault, type ProviderReply } from '../provider.ts';
import { readErrorText, readObject, readUpstreamRequestId } from '../read-answer.ts';
import { thinksUnasked } from '../thinks-unasked.ts';
import { cancelBody, fetchUpstream } from '../upstream.ts';
import { convertAnswer } from './convert-answer.ts';
import { type Asked, ChunkConverter } from './convert-chunk.ts';
import { convertBody, convertCountBody, convertHeaders, convertUrl, plainModel } from './convert-request.ts';
import { asksForThinking } from './convert-thinking.ts';
import { toolNames } from './convert-tools.ts';
import { mapError } from './map-error.ts';
import { probe } from './probe.ts';
import { readJson } from './read-json.ts';
import { readStream } from './read-stream.ts';
import { namesByShort } from './tool-names.ts';

export const gemini: Provider = {
  kind: 'gemini',

  async submit(attempt) {
    const body = convertBody(attempt);
    const asked = askedOf(attempt);
    if (!attempt.request.stream) {
      const response = await post(attempt, 'generateContent', 'application/json', body);
      return openMessage(response, attempt, asked);
    }
    return openStream(await post(attempt, 'streamGenerateContent?alt=sse', 'text/event-stream', body), attempt, asked);
  },

  async countTokens(attempt) {
    const response = await post(attempt, 'countTokens', 'application/json', convertCountBody(attempt));
    const { value, upstreamRequestId } = await readObject(response, attempt.signal);
    const tokens = value['totalTokens'];
    if (typeof tokens === 'number' && Number.isInteger(tokens) && tokens >= 0 && tokens <= bounds.usageTokensMax)
      return tokens;
    throw new ProviderFault('failed', 'the provider sent a count that is none', { upstreamRequestId });
  },

  countLocally() {
    return null;
  },

  thinksUnasked,

  probe,
};

function askedOf({ request, requestId, upstreamModel }: Attempt): Asked {
  return {
    requestId,
    upstreamModel: plainModel(upstreamModel),
    names: namesByShort(toolNames(request.body)),
    callIds: callIdsOf(request.body),
    thinks: asksForThinking(request.body),
  };
}

/** An answer of status 2xx. Throws ProviderFault for every other. */
async function post(attempt: Attempt, method: string, accept: string, body: string): Promise<Response> {
  const url = convertUrl(attempt.provider.baseUrl, attempt.upstreamModel, method);
  const response = await fetchUpstream({ url, headers: convertHeaders(attempt, accept), body, signal: attempt.signal });
  if (response.ok) return response;
  throw mapError(response.status, response.headers, await readErrorText(response, attempt.signal), Date.now());
}

async function openStream(response: Response, { signal }: Attempt, asked: Asked): Promise<ProviderReply> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  const contentType = response.headers.get('content-type') ?? 'text/event-stream';
  if (contentType.includes('json'))
    return {
      form: 'stream',
      events: giveOnce(convertAnswer(await readJson(response, signal), asked)),
      upstreamRequestId,
    };
  if (!contentType.includes('text/event-stream') || response.body === null) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'the provider answered a stream with something else', { upstreamRequestId });
  }
  const events = readStream(response.body, signal, new ChunkConverter(asked));
  return { form: 'stream', events, upstreamRequestId };
}

/** What came as one list although a stream was asked for: all of it as one batch of events. */
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

async function openMessage(response: Response, { signal }: Attempt, asked: Asked): Promise<ProviderReply> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  const events = convertAnswer(await readJson(response, signal), asked);
  return { form: 'message', ...foldAnswer(events), upstreamRequestId };
}
