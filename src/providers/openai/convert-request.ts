// Converts a message request to a Chat Completions request by its family's profile: URL, headers, body. Pure.

import { writeFormat } from '../../protocols/answer-format.ts';
import { readThinking, writeChatEffort } from '../../protocols/effort.ts';
import { requestedTier } from '../../protocols/service-tiers.ts';
import { OPENAI_CHOICES, wordOfChoice } from '../../protocols/tool-choice.ts';
import type { JsonObject, JsonValue, MessageRequest } from '../../wire/wire.ts';
import { exactBody, isJsonObject, objectOf, textOf } from '../../wire/wire.ts';
import { findClientTool, gatherTools, shortenToolName } from '../client-tools.ts';
import { answerFormat, hashUserId } from '../conversation.ts';
import { type HeaderSource, makeHeaders } from '../http-api.ts';
import { refuseField, refuseFields } from '../lost-fields.ts';
import { thinksByDefault } from '../models.ts';
import type { Attempt } from '../provider.ts';
import { REQUEST_RULES } from '../request-rules.ts';
import { completeSchema, isStrictSchema, makeNodeBudget, type NodeBudget } from '../tool-schemas.ts';
import { convertMessages, nameOf } from './convert-messages.ts';
import { type ChooseProfile, chooseProfile, type Profile } from './profile.ts';

/** `tools`, `tool_choice` and `parallel_tool_calls`, if any. Throws ProviderFault (rejected). */
function convertTools(body: JsonObject, profile: Profile): JsonObject {
  const nodes = makeNodeBudget();
  const tools = gatherTools(body).map(({ tool, path }) => convertTool(tool, path, profile, nodes));
  const choice = objectOf(body['tool_choice']);
  // A provider that ignores the choice gets no tools.
  const isUnheard = choice['type'] === 'none' && !profile.demandsTools;
  if (tools.length === 0 || isUnheard) return {};
  if (profile.effortWithTools === 'refused')
    refuseField(
      'tools',
      'this model takes tools over Responses only: its route needs a provider of the kind openai-responses',
    );
  const isSingle = profile.parallelToolCalls && choice['disable_parallel_tool_use'] === true;
  return { tools, ...convertChoice(choice, profile), ...(isSingle && { parallel_tool_calls: false }) };
}

function convertTool(tool: JsonObject, path: string, profile: Profile, nodes: NodeBudget): JsonObject {
  const type = tool['type'] ?? 'custom';
  const known = findClientTool(type);
  if (type !== 'custom' && known === null)
    refuseField(`${path}.type`, `the provider of this model has no tool of type ${nameOf(tool)}`);
  const description = known?.description ?? tool['description'];
  return {
    type: 'function',
    function: {
      name: shortenToolName(textOf(tool['name'])),
      ...(typeof description === 'string' && { description }),
      parameters: known?.parameters ?? completeSchema(objectOf(tool['input_schema']), REQUEST_RULES.openai, nodes),
      ...(profile.strictTools && tool['strict'] === true && { strict: true }),
    },
  };
}

function convertChoice({ type, name }: JsonObject, profile: Profile): JsonObject {
  if (!profile.demandsTools && (type === 'any' || type === 'tool'))
    refuseField(
      'tool_choice',
      'the provider of this model cannot be forced to use a tool; only "auto" and "none" are supported',
    );
  if (type === 'tool') return { tool_choice: { type: 'function', function: { name: shortenToolName(textOf(name)) } } };
  const tool_choice = wordOfChoice(type, OPENAI_CHOICES);
  return tool_choice === null ? {} : { tool_choice };
}

function convertEffort(
  body: JsonObject,
  { thinking, efforts, effortWithTools }: Profile,
  hasTools: boolean,
): JsonObject {
  if (thinking === null) return {};
  const isSent = thinking !== 'reasoning_effort' || !hasTools || effortWithTools === 'sent';
  if (!isSent) return effortWithTools === 'none' ? { reasoning_effort: 'none' } : {};
  return writeChatEffort(thinking, body, efforts);
}

/** The address of a path; a bare base gets its family's root, and a query, as in Azure's older addresses, is kept. */
export function convertUrl(baseUrl: string, path: string, choose: ChooseProfile = chooseProfile): string {
  const { family, rootPath } = choose(baseUrl, '');
  const [address = '', query] = baseUrl.split('?');
  const base = address.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  if (query !== undefined) return `${base}${isBare(base) && family === 'azure' ? '/openai' : ''}${path}?${query}`;
  return base + (isBare(base) ? rootPath : '') + path;
}

/** The URL of a path such as "/chat/completions" for an attempt. In Azure's older URLs the deployment is part of it. */
export function convertModelUrl(
  { provider: { baseUrl }, upstreamModel }: Attempt,
  path: string,
  choose: ChooseProfile = chooseProfile,
): string {
  const [address = '', query] = baseUrl.split('?');
  const resource = address.replace(/\/+$/, '').replace(/\/openai$/, '');
  const isAzure = choose(baseUrl, '').family === 'azure';
  if (!isAzure || query === undefined || !isBare(resource)) return convertUrl(baseUrl, path, choose);
  return `${resource}/openai/deployments/${encodeURIComponent(upstreamModel)}${path}?${query}`;
}

function isBare(base: string): boolean {
  return /^https?:\/\/[^/]*$/.test(base);
}

export function convertHeaders(
  source: HeaderSource,
  accept: string,
  choose: ChooseProfile = chooseProfile,
): Record<string, string> {
  return makeHeaders(source, choose(source.provider.baseUrl, '').keyHeader, accept);
}

/** The body of POST /chat/completions. Throws ProviderFault (rejected) with the field's path. */
export function convertBody(attempt: Attempt, profile: Profile): JsonObject {
  const { request, upstreamModel, maxTokens } = attempt;
  const { body } = request;
  const exact = exactBody(request); // for values written as they were read: tool inputs and schemas
  refuseFields(body, 'openai');
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model requires at least 1');
  const tools = convertTools(exact, profile);
  const userId = hashUserId(body);
  return {
    model: upstreamModel,
    messages: convertMessages(exact, profile, upstreamModel),
    [profile.maxTokens]: maxTokens,
    ...convertSampling(request, profile),
    ...convertStops(body['stop_sequences'], profile),
    ...tools,
    ...convertEffort(body, profile, tools['tools'] !== undefined),
    ...convertFormat(exact, profile),
    ...requestedTier(profile.serviceTiers, body),
    ...(profile.endUser !== null && userId !== null && { [profile.endUser]: userId }),
    ...spokenMembers(request),
    ...(request.stream && { stream: true }),
    ...(request.stream && profile.streamUsage && { stream_options: { include_usage: true } }),
    ...attempt.extra,
  };
}

function spokenMembers({ protocol, body }: MessageRequest): JsonObject {
  const { audio } = body;
  return protocol === 'chat-completions' && isJsonObject(audio) ? { modalities: ['text', 'audio'], audio } : {};
}

const SAMPLING = ['temperature', 'top_p', 'top_k', 'seed', 'frequency_penalty', 'presence_penalty'];

/** Sampling parameters and thinking of the request that the model does not get. */
export function ignoredFields({ request, upstreamModel }: Attempt, profile: Profile): string[] {
  const { body } = request;
  const sent = convertSampling(request, profile);
  const isIgnored = (value: JsonValue | undefined) => typeof value === 'number' && value !== -1; // "unset"
  const thinks = profile.thinking !== null || thinksByDefault(upstreamModel) || readThinking(body) !== 'on';
  return [
    ...SAMPLING.filter((name) => isIgnored(body[name]) && !Object.hasOwn(sent, name)),
    ...(thinks ? [] : ['thinking']),
  ];
}

/** Old versions of LangChain send -1 for "unset"; penalties may be negative. */
export function convertSampling({ body, protocol }: MessageRequest, { sampling, ownSampling }: Profile): JsonObject {
  const set: JsonObject = {};
  if (protocol !== 'messages' && sampling.length > 0)
    for (const name of ownSampling) if (typeof body[name] === 'number') set[name] = body[name];
  for (const name of sampling) {
    const value = body[name];
    if (typeof value === 'number' && value >= 0) set[name] = value;
  }
  return set;
}

export function convertStops(stops: JsonValue | undefined, { stopMax }: Profile): JsonObject {
  if (!Array.isArray(stops) || stops.length === 0) return {};
  const most = stopMax === 0 ? 'no' : `at most ${stopMax}`;
  if (stops.length > stopMax) refuseField('stop_sequences', `this model accepts ${most} stop sequences`);
  return { stop: stops };
}

/** The refusal's wording makes coding agents continue without a format. */
function convertFormat(body: JsonObject, profile: Profile): JsonObject {
  const format = answerFormat(body);
  if (format === null) return {};
  if (!profile.jsonSchema || format['type'] !== 'json_schema')
    refuseField('output_config.format', 'Extra inputs are not permitted');
  const schema = format['schema'] ?? {};
  // Providers with strict tools refuse other schemas as strict; the rest accept any.
  const strict = !profile.strictTools || (isJsonObject(schema) && isStrictSchema(schema));
  return { response_format: writeFormat(schema, strict, 'json_schema') };
}
