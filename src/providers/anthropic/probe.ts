// Whether a provider that speaks the Messages protocol is there and takes the credential, asked without
// sending a message: its models are listed, or, where it has no list, it is sent a request that is none.

import { mapFault } from '../map-fault.ts';
import { type ProbeReply, type ProviderEndpoint, ProviderFault } from '../provider.ts';
import { readErrorText, readObject } from '../read-answer.ts';
import { fetchUpstream } from '../upstream.ts';
import { convertUrl, endpointHeaders } from './convert-request.ts';

const MODELS_PATH = '/v1/models?limit=1000'; // the most that one page may have
const NOT_THERE: readonly number[] = [404, 405];

/** Throws ProviderFault: `credentials` also where only the list of models is refused. */
export async function probe(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  const response = await ask(endpoint, MODELS_PATH, null, signal);
  if (response.ok) return { status: response.status, models: countModels((await readObject(response, signal)).value) };
  const fault = await readFault(response, signal);
  if (!NOT_THERE.includes(response.status)) throw fault;
  return await sendNoMessage(endpoint, signal);
}

/** Of a page that is not the last one the whole number is not known. */
function countModels(answer: { data?: unknown; has_more?: unknown }): number | null {
  if (!Array.isArray(answer.data)) throw new ProviderFault('failed', 'it answered with JSON that is no list of models');
  return answer.has_more === true ? null : answer.data.length;
}

/** An empty request costs nothing: whoever reads it refuses it for what it lacks. */
async function sendNoMessage(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  const response = await ask(endpoint, '/v1/messages', '{}', signal);
  const { status } = response;
  const fault = await readFault(response, signal);
  if (fault.kind === 'rejected') return { status, models: null };
  if (NOT_THERE.includes(status) || response.ok)
    throw new ProviderFault('failed', 'it has neither /v1/models nor /v1/messages: base_url may be wrong', { status });
  throw fault;
}

function ask(endpoint: ProviderEndpoint, path: string, body: string | null, signal: AbortSignal): Promise<Response> {
  const url = convertUrl(endpoint.baseUrl, path);
  return fetchUpstream({ url, headers: endpointHeaders(endpoint, 'application/json'), body, signal });
}

async function readFault(response: Response, signal: AbortSignal): Promise<ProviderFault> {
  return mapFault(response.status, response.headers, await readErrorText(response, signal), Date.now());
}
