// The client's text with as few changes as possible: prompt caches and signatures depend on its bytes.

import type { JsonObject, JsonValue, MessageRequest } from '../../wire/wire.ts';
import { exactBody, isJsonObject, isThinking, jsonObjects, objectOf, rewriteRequest, textOf } from '../../wire/wire.ts';
import { asReminder } from '../conversation.ts';
import { type HeaderSource, makeHeaders } from '../http-api.ts';
import { claudeGeneration, type Generation } from '../models.ts';
import type { Attempt } from '../provider.ts';

/** Members of a body with their new values; undefined: left out. */
export type Changes = Record<string, JsonValue | undefined>;

/** Parameters that only providers of the other protocol accept. */
const UNKNOWN: Changes = { frequency_penalty: undefined, presence_penalty: undefined, seed: undefined };
const BUDGETS: Readonly<Record<string, number>> = { low: 1_024, medium: 4_096, high: 16_384 };
const BUDGET_LEAST = 1_024;
const BUDGET_MOST = 32_768; // of any higher effort

function adaptChat(attempt: Attempt, messages: JsonValue | undefined): Changes {
  const { request, upstreamModel } = attempt;
  const generation = claudeGeneration(upstreamModel);
  const sent = jsonObjects(messages ?? request.body['messages']);
  const isForced = FORCING.includes(objectOf(request.body['tool_choice'])['type']);
  const thinking = adaptThinking(attempt, generation, sent, isForced && generation.takesForcedCall);
  const isThinking = isOn('thinking' in thinking ? thinking['thinking'] : request.body['thinking']);
  return {
    ...UNKNOWN,
    ...thinking,
    ...adaptSampling(request, isThinking || !generation.takesSampling),
    ...adaptEffort(exactBody(request), generation),
    ...(isForced && !generation.takesForcedCall && adaptChoice(exactBody(request))),
    ...(sent.some(({ role }) => role === 'system') && {
      messages: jsonObjects(messages ?? exactBody(request)['messages']).map(asUserMessage),
    }),
  };
}

const FORCING: readonly (JsonValue | undefined)[] = ['any', 'tool'];

function adaptThinking(
  { request, maxTokens }: Attempt,
  { thinks, takesBudget, off }: Generation,
  messages: readonly JsonObject[],
  isForced: boolean,
): Changes {
  const { body } = request;
  const { thinking } = body;
  if (isJsonObject(thinking) && !isOn(thinking) && off !== 'disabled')
    return { thinking: off === null ? undefined : { type: off } };
  if (!isOn(thinking)) return {};
  // No model thinks before a forced tool call.
  if (isForced || messages.at(-1)?.['role'] === 'assistant') return { thinking: undefined };
  if (thinking['type'] === 'enabled' && thinks === 'adaptively' && !takesBudget)
    return { thinking: { type: 'adaptive' } };
  if (thinking['type'] !== 'adaptive' || thinks === 'adaptively') return {};
  const effort = textOf(objectOf(body['output_config'])['effort']) || 'medium';
  const budget_tokens = Math.min(BUDGETS[effort] ?? BUDGET_MOST, Math.floor(maxTokens / 2));
  if (thinks === 'never' || budget_tokens < BUDGET_LEAST || isLoopWithoutThinking(messages))
    return { thinking: undefined };
  return { thinking: { type: 'enabled', budget_tokens } };
}

function isOn(thinking: JsonValue | undefined): thinking is JsonObject {
  return isJsonObject(thinking) && thinking['type'] !== 'disabled';
}

/** Models with a thinking budget refuse a tool loop without its thinking blocks, which most clients drop. */
function isLoopWithoutThinking(messages: readonly JsonObject[]): boolean {
  const [first, ...rest] = jsonObjects(messages.findLast(({ role }) => role === 'assistant')?.['content']);
  return !isThinking(first ?? {}) && [first, ...rest].some((block) => block?.['type'] === 'tool_use');
}

/** Sampling is not allowed with thinking; a temperature above 1 becomes 1, and top_p 1 is the default. */
function adaptSampling({ body: { temperature, top_p }, protocol }: MessageRequest, isLeftOut: boolean): Changes {
  if (isLeftOut) return { temperature: undefined, top_p: undefined, top_k: undefined };
  const hasTemperature = typeof temperature === 'number';
  return {
    ...(hasTemperature && temperature > 1 && { temperature: 1 }),
    // Clients of Gemini send both, which several models refuse.
    ...((top_p === 1 || (protocol === 'gemini' && hasTemperature)) && { top_p: undefined }),
  };
}

function adaptEffort({ output_config: config, thinking }: JsonObject, { efforts, off }: Generation): Changes {
  // A model that always thinks is asked to think as little as possible.
  if (off === null && isJsonObject(thinking) && !isOn(thinking))
    return { output_config: { ...objectOf(config), effort: 'low' } };
  if (!isJsonObject(config) || config['effort'] === undefined) return {};
  const { effort, ...rest } = config;
  if (efforts === 'none') return { output_config: Object.keys(rest).length > 0 ? rest : undefined };
  return effort === 'xhigh' && efforts === 'no xhigh' ? { output_config: { ...rest, effort: 'high' } } : {};
}

/** For a model that refuses forced calls: it reads which tool to call. */
function adaptChoice({ system, tool_choice }: JsonObject): Changes {
  const { type: _, name, ...rest } = objectOf(tool_choice);
  const words = typeof name === 'string' ? `the tool ${JSON.stringify(name)}` : 'at least one of the tools';
  const told: JsonObject = { type: 'text', text: `This answer must call ${words}.` };
  const blocks = typeof system === 'string' && system !== '' ? [{ type: 'text', text: system }] : jsonObjects(system);
  return { tool_choice: { type: 'auto', ...rest }, system: [...blocks, told] };
}

/** Few models accept system messages in the middle: they become user text in the same place. */
function asUserMessage(message: JsonObject): JsonObject {
  if (message['role'] !== 'system') return message;
  const remind = (block: JsonObject) => ({ ...block, text: asReminder(String(block['text'])) });
  return { role: 'user', content: jsonObjects(message['content']).map(remind) };
}

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
  if (attempt.request.protocol !== 'messages') Object.assign(changes, adaptChat(attempt, messages));
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
