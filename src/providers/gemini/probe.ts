// Whether Gemini is there and takes the key, asked without sending a message: its models are listed.

import { type ProbeReply, type ProviderEndpoint, ProviderFault } from '../provider.ts';
import { readErrorText, readObject } from '../read-answer.ts';
import { fetchUpstream } from '../upstream.ts';
import { endpointHeaders, modelsUrl } from './convert-request.ts';
import { mapError } from './map-error.ts';

/** Throws ProviderFault: `credentials` also where only the list of models is refused. */
export async function probe(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  const headers = endpointHeaders(endpoint, 'application/json');
  const response = await fetchUpstream({ url: modelsUrl(endpoint.baseUrl), headers, body: null, signal });
  const { status } = response;
  if (!response.ok) throw mapError(status, response.headers, await readErrorText(response, signal), Date.now());
  const { models, nextPageToken } = (await readObject(response, signal)).value;
  if (!Array.isArray(models)) throw new ProviderFault('failed', 'it answered with JSON that is no list of models');
  // Of a page that is not the last one the whole number is not known.
  return { status, models: typeof nextPageToken === 'string' && nextPageToken !== '' ? null : models.length };
}
