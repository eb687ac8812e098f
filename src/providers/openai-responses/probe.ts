// Whether the provider is there and takes the credential, asked without a message: its models are listed.

import type { ProbeReply, ProviderEndpoint } from '../provider.ts';
import { ProviderFault } from '../provider.ts';
import { readErrorText, readObject } from '../read-answer.ts';
import { fetchUpstream } from '../upstream.ts';
import { convertError } from './convert-error.ts';
import { convertHeaders, convertUrl } from './endpoint.ts';

/** Throws ProviderFault: `credentials` also where only the list of models is refused. */
export async function probe(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  const url = convertUrl(endpoint.baseUrl, '/models');
  const headers = convertHeaders(endpoint, 'application/json');
  const response = await fetchUpstream({ url, headers, body: null, signal });
  const { status } = response;
  if (!response.ok) throw convertError(status, response.headers, await readErrorText(response, signal), Date.now());
  const models = (await readObject(response, signal)).value['data'];
  if (!Array.isArray(models)) throw new ProviderFault('failed', 'it answered with JSON that is no list of models');
  return { status, models: models.length };
}
