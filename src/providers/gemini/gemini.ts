// A provider that speaks Gemini's generateContent. The request is translated before anything is sent, the answer
// as it comes, streamed or whole by the same machine. Nothing is counted here.

import { bounds } from '../../config.ts';
import { parseExactly } from '../../wire/wire.ts';
import { callIdsOf } from '../call-ids.ts';
import { readThinking } from '../effort.ts';
import { foldAnswer } from '../fold-answer.ts';
import { openStream } from '../open-stream.ts';
import { type Attempt, type Provider, ProviderFault } from '../provider.ts';
import { readErrorText, readJson, readObject, readUpstreamRequestId } from '../read-answer.ts';
import { thinksUnasked } from '../thinks-unasked.ts';
import { fetchUpstream } from '../upstream.ts';
import { convertAnswer } from './convert-answer.ts';
import { type Asked, ChunkConverter } from './convert-chunk.ts';
import { convertBody, convertCountBody, convertHeaders, convertUrl, plainModel } from './convert-request.ts';
import { toolNames } from './convert-tools.ts';
import { mapError } from './map-error.ts';
import { probe } from './probe.ts';
import { readStream } from './read-stream.ts';
import { namesByShort } from './tool-names.ts';

export const gemini: Provider = {
  kind: 'gemini',

  async submit(attempt) {
    const body = convertBody(attempt);
    const { signal, request } = attempt;
    const method = request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
    const response = await post(attempt, method, request.stream ? 'text/event-stream' : 'application/json', body);
    const asked = askedOf(attempt);
    // Numbers in the inputs of tools keep their digits.
    const whole = async () => convertAnswer((await readJson(response, signal, parseExactly)).value, asked);
    if (!request.stream)
      return {
        form: 'message',
        ...foldAnswer(await whole()),
        upstreamRequestId: readUpstreamRequestId(response.headers),
      };
    return await openStream(response, {
      stream: (chunks) => readStream(chunks, signal, new ChunkConverter(asked)),
      whole,
    });
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
    thinks: readThinking(request.body) === 'on',
  };
}

/** An answer of status 2xx. Throws ProviderFault for every other. */
async function post(attempt: Attempt, method: string, accept: string, body: string): Promise<Response> {
  const url = convertUrl(attempt.provider.baseUrl, attempt.upstreamModel, method);
  const response = await fetchUpstream({ url, headers: convertHeaders(attempt, accept), body, signal: attempt.signal });
  if (response.ok) return response;
  throw mapError(response.status, response.headers, await readErrorText(response, attempt.signal), Date.now());
}
