// The client's text with as few changes as possible: prompt caches and signatures depend on its bytes.

import type { JsonValue, MessageRequest } from '../../wire/wire.ts';
import { exactBody, isJsonObject, jsonObjects, rewriteRequest, textOf } from '../../wire/wire.ts';
import { type HeaderSource, makeHeaders } from '../http-api.ts';
import type { Attempt } from '../provider.ts';
import { adaptRequest, type Changes } from './adapt-request.ts';

export type { Changes } from './adapt-request.ts';

// Signatures of other kinds, see their files. A provider's own are plain base64, without a dot.
const FOREIGN =
  /^(?:gemini\.(?:call|text|end|thought)|openai-responses\.\d+|bedrock\.(?:text|redacted|unsigned)|turnpike\.chat\.\d+)\./;

/** The messages without such blocks; undefined if there are none. */
export function dropForeignThinking(request: Pick<MessageRequest, 'text' | 'body'>): JsonValue | undefined {
  const sent = request.body['messages'];
  if (!Array.isArray(sent) || !sent.some(hasForeign)) return undefined;
  const messages = jsonObjects(exactBody(request)['messages']); // kept parts are written again
  return messages.flatMap((message) => {
    if (!hasForeign(message)) return [message];
    const own = jsonObjects(message['content']).filter((block) => !isForeign(block));
    // A message of such blocks only would become empty and be refused.
    return own.length === 0 ? [] : [{ ...message, content: own }];
  });
}

function hasForeign(message: JsonValue): boolean {
  const content = isJsonObject(message) ? message['content'] : null;
  return Array.isArray(content) && content.some(isForeign);
}

function isForeign(block: JsonValue): boolean {
  return isJsonObject(block) && block['type'] === 'thinking' && FOREIGN.test(textOf(block['signature']));
}

const VERSION_DEFAULT = '2023-06-01';

/** The URL of a path such as "/v1/messages"; the base may include "/v1" or not. */
export function convertUrl(baseUrl: string, path: string): string {
  const base = baseUrl.endsWith('/') ? baseUrl.replace(/\/+$/, '') : baseUrl;
  return (base.endsWith('/v1') ? base.slice(0, -3) : base) + path;
}

/** All headers. Of the client's, only version, betas, selectors and trace are forwarded. Throws ProviderFault (credentials). */
export function convertHeaders(source: HeaderSource, accept: string): Record<string, string> {
  const { version, betas, selectors } = source;
  const headers = makeHeaders(source, source.provider.isBearer === true ? 'authorization' : 'x-api-key', accept);
  const { workspace = null } = source.provider;
  if (workspace !== null) headers['anthropic-workspace-id'] = workspace;
  for (const { name, value } of selectors ?? []) headers[`anthropic-${name}`] = value;
  headers['anthropic-version'] = version ?? VERSION_DEFAULT;
  if (typeof betas === 'string') headers['anthropic-beta'] = betas;
  return headers;
}

/** The body of POST /v1/messages. Throws ProviderFault (rejected). */
export function convertMessageBody(attempt: Attempt): string {
  const changes = messageChanges(attempt);
  return Object.keys(changes).length === 0 ? attempt.request.text : rewriteRequest(attempt.request, changes);
}

/** Changes of the client's body for every provider of Messages. */
export function messageChanges(attempt: Attempt): Changes {
  const { request, upstreamModel, maxTokens } = attempt;
  const { top_k, top_p, diagnostics } = request.body;
  const changes: Changes = {};
  // Old versions of LangChain send -1 for "unset", which the provider refuses.
  if (typeof top_k === 'number' && top_k < 0) changes['top_k'] = undefined;
  if (typeof top_p === 'number' && top_p < 0) changes['top_p'] = undefined;
  if (request.model !== upstreamModel) changes['model'] = upstreamModel;
  if (request.maxTokens !== maxTokens) changes['max_tokens'] = maxTokens;
  // The message may be another account's, so this one is not compared with it.
  if (
    attempt.isOwnAccount !== true &&
    isJsonObject(diagnostics) &&
    (diagnostics['previous_message_id'] ?? null) !== null
  )
    changes['diagnostics'] = { ...diagnostics, previous_message_id: null };
  changeConversation(changes, attempt);
  return changes;
}

function changeConversation(changes: Changes, attempt: Attempt): void {
  const messages = dropForeignThinking(attempt.request);
  if (messages !== undefined) changes['messages'] = messages;
  if (attempt.request.protocol !== 'messages') Object.assign(changes, adaptRequest(attempt, messages));
}

// Members that do not concern the prompt; the counter refuses unknown ones.
const NOT_COUNTED = [
  ...['max_tokens', 'stream', 'stop_sequences', 'temperature', 'top_p', 'top_k', 'metadata', 'service_tier'],
  ...['inference_geo', 'container', 'diagnostics', 'fallbacks', 'fallback_credit_token'],
];

/** The body of POST /v1/messages/count_tokens. Throws ProviderFault (rejected). */
export function convertCountBody(attempt: Attempt): string {
  return rewriteRequest(attempt.request, countChanges(attempt));
}

/** Changes of the client's body for every counter of Messages. */
export function countChanges(attempt: Attempt): Changes {
  const changes: Changes = { model: attempt.upstreamModel };
  changeConversation(changes, attempt);
  for (const name of NOT_COUNTED) changes[name] = undefined;
  return changes;
}
