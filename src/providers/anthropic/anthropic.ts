// A provider that speaks the Messages protocol: what the caller sent goes out, what it answers comes
// back, event by event or whole. Nothing is translated and nothing is counted here.

import { bounds } from '../../config.ts';
import { unfoldMessage } from '../../wire/wire.ts';
import { mapErrorEvent, mapFault } from '../map-fault.ts';
import { openStream } from '../open-stream.ts';
import { type Attempt, type Provider, ProviderFault, type ProviderReply } from '../provider.ts';
import { readErrorText, readObject, readUpstreamRequestId } from '../read-answer.ts';
import { fetchUpstream } from '../upstream.ts';
import { convertCountBody, convertHeaders, convertMessageBody, convertUrl } from './convert-request.ts';
import { probe } from './probe.ts';
import { readStream } from './read-stream.ts';

export const anthropic: Provider = {
  kind: 'anthropic',

  async submit(attempt) {
    const accept = attempt.request.stream ? 'text/event-stream' : 'application/json';
    const response = await post(attempt, '/v1/messages', accept, convertMessageBody(attempt));
    const { signal, request } = attempt;
    if (!request.stream) return await openMessage(response, attempt);
    return await openStream(response, {
      stream: (body) => readStream(body, signal, readUpstreamRequestId(response.headers)),
      whole: async () => unfoldMessage((await readMessage(response, signal)).message),
    });
  },

  async countTokens(attempt) {
    const response = await post(attempt, '/v1/messages/count_tokens', 'application/json', convertCountBody(attempt));
    const { value, upstreamRequestId } = await readObject(response, attempt.signal);
    const tokens = value['input_tokens'];
    if (typeof tokens === 'number' && Number.isInteger(tokens) && tokens >= 0 && tokens <= bounds.usageTokensMax)
      return tokens;
    throw new ProviderFault('failed', 'the provider sent a count that is none', { upstreamRequestId });
  },

  countLocally() {
    return null;
  },

  probe,
};

/** An answer of status 2xx. Throws ProviderFault for every other. */
async function post(attempt: Attempt, path: string, accept: string, body: string): Promise<Response> {
  const url = convertUrl(attempt.provider.baseUrl, path);
  const response = await fetchUpstream({ url, headers: convertHeaders(attempt, accept), body, signal: attempt.signal });
  if (response.ok) return response;
  throw mapFault(response.status, response.headers, await readErrorText(response, attempt.signal), Date.now());
}

async function openMessage(response: Response, attempt: Attempt): Promise<ProviderReply> {
  return { form: 'message', ...(await readMessage(response, attempt.signal)) };
}

async function readMessage(response: Response, signal: AbortSignal) {
  const { value, text, upstreamRequestId } = await readObject(response, signal);
  if (value['type'] === 'error') throw mapErrorEvent(value, upstreamRequestId);
  if (value['type'] === 'message') return { message: value, text, upstreamRequestId };
  throw new ProviderFault('failed', 'the provider answered with JSON that is no message', { upstreamRequestId });
}
