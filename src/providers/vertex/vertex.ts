// A provider of Google's Vertex AI: Claude in the Messages protocol, and Gemini.

import { CLOUD_TIERS, isCloudTier, requestedWord } from '../../protocols/service-tiers.ts';
import { messagesProvider } from '../anthropic/anthropic.ts';
import { convertPlatformBody, convertPlatformCount, platformBetas } from '../claude-platforms.ts';
import { convertBody, draw, geminiProvider } from '../gemini/gemini.ts';
import { type Api, combinedProvider, type HeaderSource, makeHeaders } from '../http-api.ts';
import { type Attempt, type Provider, ProviderFault } from '../provider.ts';
import { predictionJobs } from './batches.ts';
import { embed } from './embed.ts';
import { convertCountBody, withRoles } from './gemini-body.ts';
import { mapVertexError, mapVertexFault } from './map-error.ts';
import { probe } from './probe.ts';
import { modelUrl, plainModel } from './urls.ts';

const KIND = 'vertex';

/** The address of an attempt depends on its model, so there are no paths of its own. */
const api: Api = {
  url: ({ baseUrl }, path) => baseUrl + path,
  headers: convertHeaders,
  mapFault: mapVertexFault,
  modelsPath: '',
  messagePath: null,
  readModels: () => null,
};

const geminiApi: Api = { ...api, native: 'gemini', headers: convertGeminiHeaders };

const TIER_HEADER = 'x-vertex-ai-llm-shared-request-type';

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/flex-paygo (29 November 2026). */
function convertGeminiHeaders(source: HeaderSource, accept: string): Record<string, string> {
  const headers = convertHeaders(source, accept);
  const tier = source.request === undefined ? null : requestedWord(CLOUD_TIERS, source.request.body);
  return tier === null ? headers : { ...headers, [TIER_HEADER]: tier };
}

function convertHeaders(source: HeaderSource, accept: string): Record<string, string> {
  const headers = makeHeaders(source, 'x-goog-api-key', accept);
  if (typeof source.betas === 'string') headers['anthropic-beta'] = source.betas;
  return headers;
}

const claude = messagesProvider(KIND, api, {
  url({ provider, upstreamModel, request }, path) {
    if (path !== '/v1/messages') return modelUrl(provider, 'anthropic', 'count-tokens', 'rawPredict');
    return modelUrl(provider, 'anthropic', upstreamModel, request.stream ? 'streamRawPredict' : 'rawPredict');
  },
  body: (attempt) => convertPlatformBody(attempt, KIND),
  countBody: (attempt) => convertPlatformCount({ ...attempt, upstreamModel: plainModel(attempt.upstreamModel) }, KIND),
  betas: (attempt) => platformBetas(attempt, KIND),
  mapError: mapVertexError,
});

const google = geminiProvider(KIND, geminiApi, {
  url: ({ provider, upstreamModel }, method) => modelUrl(provider, 'google', upstreamModel, method),
  // Calls are matched by their order: ids of other providers' calls could be refused.
  body: (attempt) => convertBody({ ...attempt, upstreamModel: plainModel(attempt.upstreamModel) }, false),
  ownBody: withRoles,
  // Other places than the global one have the standard tier only.
  servesTier: (tier, { region }) => region === 'global' && isCloudTier(tier),
  countBody: convertCountBody,
  uses: {
    embeddings: (attempt: Attempt) => embed(geminiApi, withoutBetas(attempt)),
    images: (attempt: Attempt) =>
      draw(geminiApi, withoutBetas(attempt), (method) =>
        modelUrl(attempt.provider, 'google', attempt.upstreamModel, method),
      ),
  },
});

/** Betas belong to the Messages protocol, so Gemini gets none. */
function withoutBetas(attempt: Attempt): Attempt {
  return { ...attempt, betas: null };
}

const gemini: Provider = {
  ...google,
  submit: (attempt) => google.submit(withoutBetas(attempt)),
  countTokens: (attempt) => google.countTokens(withoutBetas(attempt)),
};

export const vertex: Provider = { ...combinedProvider(KIND, choose, probe), batches: predictionJobs(api) };

/** Open models and those of other publishers, which have other protocols there. */
const OTHERS =
  /^(?:codestral|deepseek|glm|gpt-oss|jamba|kimi|llama|meta|minimax|mistral|ministral|qwen|grok|veo|lyria)/;

/** Throws ProviderFault (not_found) for models of other publishers. */
function choose(upstreamModel: string, protocol: string | null): Provider {
  const [, publisher, model] = /^(?:publishers\/)?([\w-]+)\/(?:models\/)?(.+)$/.exec(upstreamModel) ?? [];
  const isOther = publisher === undefined ? OTHERS.test(upstreamModel) : !PUBLISHERS.includes(publisher);
  if (protocol === null && isOther)
    throw new ProviderFault('not_found', 'the kind vertex has only the models of Anthropic and Google');
  if (protocol !== null && !PROTOCOLS.includes(protocol))
    throw new ProviderFault('not_found', `the kind vertex has no models with the protocol ${protocol}`);
  const isClaude = publisher === 'anthropic' || (model ?? upstreamModel).startsWith('claude');
  return (protocol === null ? isClaude : protocol === 'messages') ? claude : gemini;
}

const PUBLISHERS: readonly string[] = ['anthropic', 'google', 'models'];
const PROTOCOLS: readonly string[] = ['messages', 'gemini'];
