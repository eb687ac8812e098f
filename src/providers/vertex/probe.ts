// Tests a project, region and credential by token counts without a prompt, which cost nothing.

import { makeHeaders, probeWith } from '../http-api.ts';
import { type FaultKind, type ProbeReply, type ProviderEndpoint, ProviderFault } from '../provider.ts';
import { fetchUpstream, readFault } from '../upstream.ts';
import { mapVertexFault } from './map-error.ts';
import { modelUrl } from './urls.ts';

/** Counters of both publishers: a region may have only one of them. */
const COUNTERS: readonly [publisher: string, model: string, method: string][] = [
  ['anthropic', 'count-tokens', 'rawPredict'],
  ['google', 'gemini-2.5-flash', 'countTokens'],
];

const ACCEPTED = 'It responds, and accepts the credential for the project and region.';

/** Google checks access before it refuses an empty request. Throws ProviderFault. */
export function probe(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  return probeWith(endpoint.credential, signal, async () => {
    let last: ProviderFault | null = null;
    for (const [publisher, model, method] of COUNTERS) {
      const url = modelUrl(endpoint, publisher, model, method);
      const outcome = await tryCounter(endpoint, url, signal);
      if (!(outcome instanceof ProviderFault)) return outcome;
      last = outcome;
      if (last.kind !== 'not_found') break;
    }
    throw explain(last as ProviderFault, endpoint);
  });
}

async function tryCounter(
  endpoint: ProviderEndpoint,
  url: string,
  signal: AbortSignal,
): Promise<ProbeReply | ProviderFault> {
  const headers = makeHeaders({ provider: endpoint }, 'x-goog-api-key', 'application/json');
  let response: Response;
  try {
    response = await fetchUpstream({ url, headers, body: '{}', signal });
  } catch (thrown) {
    if (thrown instanceof ProviderFault) return thrown;
    throw thrown;
  }
  const { status } = response;
  const fault = await readFault(response, signal, mapVertexFault);
  return response.ok || fault.kind === 'rejected' ? { status, models: null, message: ACCEPTED } : fault;
}

const WORDS: Readonly<Partial<Record<FaultKind, (endpoint: ProviderEndpoint) => string>>> = {
  not_found: ({ region }) =>
    `the region ${region} has neither Claude nor Gemini for this project; region or project may be wrong`,
};

const DENIED: readonly [said: RegExp, words: string][] = [
  [/has not been used|is disabled|SERVICE_DISABLED/i, 'the Vertex AI API is not enabled in the project'],
  [
    /CONSUMER_INVALID|not found or deleted|invalid project|project.*(?:not found|does not exist)/i,
    'the project does not exist',
  ],
  [
    /permission|denied/i,
    'the project does not exist, or the credential lacks the role Vertex AI User (aiplatform.endpoints.predict) in it',
  ],
];

function explain(fault: ProviderFault, endpoint: ProviderEndpoint): ProviderFault {
  const { kind, message, status, retryAfterMs, upstreamRequestId, cause } = fault;
  const code = (cause as { code?: unknown } | undefined)?.code;
  const isUnknownHost = status === null && /ENOTFOUND|EAI_|DNS/.test(String(code));
  const words = isUnknownHost
    ? `its host name cannot be resolved (${String(code)}); the region ${endpoint.region} may be wrong`
    : kind === 'credentials' && status === 403
      ? DENIED.find(([said]) => said.test(message))?.[1]
      : WORDS[kind]?.(endpoint);
  if (words === undefined) return fault;
  const said = isUnknownHost ? words : `${words}; Google said: ${message}`;
  return new ProviderFault(kind, said, { status, retryAfterMs, upstreamRequestId });
}
