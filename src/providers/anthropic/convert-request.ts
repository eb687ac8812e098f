// The request as it goes to a provider that speaks the Messages protocol itself: the caller's own text
// with as little changed as can be, because prompt caches and signatures depend on its bytes.

import { type JsonValue, rewriteRequest } from '../../wire/wire.ts';
import { type Attempt, type ProviderEndpoint, ProviderFault } from '../provider.ts';
import { adaptChat } from './adapt-chat.ts';
import { dropForeignThinking } from './drop-foreign-thinking.ts';

const VERSION_DEFAULT = '2023-06-01';

/** The address of a path such as "/v1/messages"; the base may be given with or without its "/v1". */
export function convertUrl(baseUrl: string, path: string): string {
  return baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '') + path;
}

/** All headers that are sent. Of the caller's only version, betas and trace travel on. Throws ProviderFault (credentials). */
export function convertHeaders(attempt: Attempt, accept: string): Record<string, string> {
  const headers = endpointHeaders(attempt.provider, accept, attempt.version);
  if (attempt.betas !== null) headers['anthropic-beta'] = attempt.betas;
  if (attempt.trace) {
    headers['traceparent'] = attempt.trace.traceparent;
    if (attempt.trace.tracestate !== null) headers['tracestate'] = attempt.trace.tracestate;
  }
  return headers;
}

/** The headers of a request that is no caller's. Throws ProviderFault (credentials). */
export function endpointHeaders(
  endpoint: ProviderEndpoint,
  accept: string,
  version: string | null = null,
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept,
    'user-agent': 'turnpike',
    'anthropic-version': version ?? VERSION_DEFAULT,
  };
  const credential = endpoint.credential?.reveal().trim();
  if (credential === undefined) return headers;
  if (!/^[\x21-\x7e]+$/.test(credential))
    throw new ProviderFault('credentials', "the provider's credential is empty or has characters no header can carry");
  headers['x-api-key'] = credential;
  return headers;
}

/** The body of POST /v1/messages. Throws ProviderFault (rejected). */
export function convertMessageBody(attempt: Attempt): string {
  const { request, upstreamModel, maxTokens } = attempt;
  const changes: Record<string, JsonValue | undefined> = unsetSampling(attempt);
  if (request.model !== upstreamModel) changes['model'] = upstreamModel;
  if (request.maxTokens !== maxTokens) changes['max_tokens'] = maxTokens;
  const messages = dropForeignThinking(request);
  if (messages !== undefined) changes['messages'] = messages;
  Object.assign(changes, adaptChat(attempt, messages));
  return Object.keys(changes).length === 0 ? request.text : rewriteRequest(request, changes);
}

/** Old versions of LangChain send -1 where they mean "unset", which the provider refuses. */
function unsetSampling(attempt: Attempt): Record<string, undefined> {
  const changes: Record<string, undefined> = {};
  for (const name of ['top_k', 'top_p']) {
    const value = attempt.request.body[name];
    if (typeof value === 'number' && value < 0) changes[name] = undefined;
  }
  return changes;
}

// Members of a message request that say nothing of the prompt; the counter refuses what it does not know.
const NOT_COUNTED = [
  'max_tokens',
  'stream',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'metadata',
  'service_tier',
  'inference_geo',
  'container',
  'diagnostics',
  'fallbacks',
  'fallback_credit_token',
];

/** The body of POST /v1/messages/count_tokens. Throws ProviderFault (rejected). */
export function convertCountBody(attempt: Attempt): string {
  const changes: Record<string, JsonValue | undefined> = { model: attempt.upstreamModel };
  const messages = dropForeignThinking(attempt.request);
  if (messages !== undefined) changes['messages'] = messages;
  Object.assign(changes, adaptChat(attempt, messages));
  for (const name of NOT_COUNTED) changes[name] = undefined;
  return rewriteRequest(attempt.request, changes);
}
