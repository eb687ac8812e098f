// A provider of Microsoft Foundry: Claude in the Messages protocol, and OpenAI's models at Azure's addresses. Deployments may
// have any name, so a route's protocol decides; without one, names with "claude" are Claude.

import { convertHeaders, messagesProvider } from '../anthropic/anthropic.ts';
import { convertPlatformBody, convertPlatformCount, platformBetas } from '../claude-platforms.ts';
import { type Api, combinedProvider, mapUses } from '../http-api.ts';
import { mapFault } from '../map-fault.ts';
import { readModelPage } from '../offered-models.ts';
import { azureProfile, chatProvider } from '../openai/openai.ts';
import { responsesProvider } from '../openai-responses/openai-responses.ts';
import { type Attempt, type ProbeReply, type Provider, type ProviderEndpoint, ProviderFault } from '../provider.ts';
import { claudeUrl, openAiBase } from './urls.ts';

const KIND = 'foundry';

const api: Api = {
  url: ({ baseUrl }, path) => claudeUrl(baseUrl, path),
  // This version takes what later ones refuse, and every gateway of Azure knows it.
  headers: (source, accept) => convertHeaders({ ...source, version: null, selectors: null }, accept),
  mapFault,
  modelsPath: '/v1/models',
  messagePath: '/v1/messages',
  readModels: readModelPage,
};

const claude = messagesProvider(KIND, api, {
  url: ({ provider }, path) => claudeUrl(provider.baseUrl, path),
  body: (attempt) => convertPlatformBody(attempt, KIND),
  countBody: (attempt) => convertPlatformCount(attempt, KIND),
  betas: (attempt) => platformBetas(attempt, KIND),
});
const responses = atOpenAi(responsesProvider(KIND, () => true));
const chat = atOpenAi(chatProvider(KIND, azureProfile));

export const foundry = combinedProvider(KIND, choose, probe);

function choose(upstreamModel: string, protocol: string | null): Provider {
  switch (protocol ?? (/claude/i.test(upstreamModel) ? 'messages' : 'responses')) {
    case 'messages':
      return claude;
    case 'responses':
      return responses;
    case 'chat-completions':
      return chat;
    default:
      throw new ProviderFault('not_found', `the kind foundry has no models with the protocol ${protocol}`);
  }
}

/** The same endpoint for every message, because headers are kept by endpoint. */
const openAiEndpoints = new WeakMap<ProviderEndpoint, ProviderEndpoint>();

function atOpenAi(provider: Provider): Provider {
  const placed = (attempt: Attempt): Attempt => ({ ...attempt, provider: openAiEndpoint(attempt.provider) });
  return {
    ...provider,
    submit: (attempt) => provider.submit(placed(attempt)),
    countTokens: (attempt) => provider.countTokens(placed(attempt)),
    ...(provider.uses !== undefined && {
      uses: mapUses(provider.uses, (send) => (attempt) => send(placed(attempt))),
    }),
    probe: (endpoint, signal) => provider.probe?.(openAiEndpoint(endpoint), signal) as never,
  };
}

function openAiEndpoint(endpoint: ProviderEndpoint): ProviderEndpoint {
  let placed = openAiEndpoints.get(endpoint);
  if (placed === undefined) {
    placed = { ...endpoint, baseUrl: openAiBase(endpoint.baseUrl) };
    openAiEndpoints.set(endpoint, placed);
  }
  return placed;
}

/** Lists OpenAI's models, which every resource can; one that only has Claude gets an empty message. */
async function probe(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply> {
  try {
    return await (responses.probe as NonNullable<Provider['probe']>)(endpoint, signal);
  } catch (thrown) {
    // Neither path is there: a fault without the status of the list.
    if (!(thrown instanceof ProviderFault) || thrown.status !== 404) throw thrown;
    return await (claude.probe as NonNullable<Provider['probe']>)(endpoint, signal);
  }
}
