// Whether the provider is there and takes the credential, asked without sending a message: its models are listed, or,
// where it has no list, it is sent a request that is none.

import { type ProbeReply, type ProviderEndpoint, ProviderFault } from '../provider.ts';
import { readErrorText, readObject } from '../read-answer.ts';
import { fetchUpstream } from '../upstream.ts';
import { convertError } from './convert-error.ts';
import { convertHeaders, convertUrl } from './endpoint.ts';

const NOT_THERE: readonly number[] = [404, 405];

/** Throws ProviderFault: `credentials` also where only the list of models is refused. */
export async function probe(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  const response = await ask(endpoint, '/models', null, signal);
  const { status } = response;
  if (response.ok) return { status, models: countModels((await readObject(response, signal)).value) };
  const fault = await readFault(response, signal);
  if (!NOT_THERE.includes(status)) throw fault;
  return await sendNoMessage(endpoint, signal);
}

function countModels(answer: { data?: unknown }): number {
  if (!Array.isArray(answer.data)) throw new ProviderFault('failed', 'it answered with JSON that is no list of models');
  return answer.data.length;
}

/** An empty request costs nothing: whoever reads it refuses it for what it lacks. */
async function sendNoMessage(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  const response = await ask(endpoint, '/responses', '{}', signal);
  const { status } = response;
  const fault = await readFault(response, signal);
  if (fault.kind === 'rejected') return { status, models: null };
  if (NOT_THERE.includes(status) || response.ok)
    throw new ProviderFault('failed', 'it has neither /models nor /responses: base_url may be wrong', { status });
  throw fault;
}

function ask(endpoint: ProviderEndpoint, path: string, body: string | null, signal: AbortSignal): Promise<Response> {
  const url = convertUrl(endpoint.baseUrl, path);
  return fetchUpstream({ url, headers: convertHeaders(endpoint, 'application/json'), body, signal });
}

async function readFault(response: Response, signal: AbortSignal): Promise<ProviderFault> {
  return convertError(response.status, response.headers, await readErrorText(response, signal), Date.now());
}
