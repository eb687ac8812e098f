// Converts a message request to POST /v1/responses. Nothing is stored there: every turn sends the whole conversation.

import { writeFormat } from '../../protocols/answer-format.ts';
import { leastEffort, nearestEffort, readEffort, readThinking } from '../../protocols/effort.ts';
import { AZURE_TIERS, OPENAI_TIERS, requestedTier, type TierWords } from '../../protocols/service-tiers.ts';
import { OPENAI_CHOICES, wordOfChoice } from '../../protocols/tool-choice.ts';
import { exactBody, isJsonObject, type JsonObject, objectOf, textOf } from '../../wire/wire.ts';
import { findClientTool, gatherTools, shortenToolName } from '../client-tools.ts';
import { answerFormat, hashUserId, isBillingLine, placeBlocks } from '../conversation.ts';
import { type HeaderSource, makeHeaders } from '../http-api.ts';
import { refuseField, refuseFields } from '../lost-fields.ts';
import { type Reasoning, reasoningOf } from '../models.ts';
import type { Attempt } from '../provider.ts';
import { REQUEST_RULES } from '../request-rules.ts';
import { completeSchema, isStrictSchema, makeNodeBudget, type NodeBudget } from '../tool-schemas.ts';
import { convertMessages } from './convert-messages.ts';
import { homeOf } from './reasoning-signature.ts';

/** `tools`, `tool_choice` and `parallel_tool_calls`, if any. Throws ProviderFault (rejected). */
function convertTools(body: JsonObject): JsonObject {
  const nodes = makeNodeBudget();
  const tools = gatherTools(body).map(({ tool, path }) => convertTool(tool, path, nodes));
  const choice = objectOf(body['tool_choice']);
  const isDemanded = choice['type'] === 'any' || choice['type'] === 'tool';
  if (tools.length === 0) return isDemanded ? refuseField('tool_choice', 'there are no tools to choose from') : {};
  return {
    tools,
    ...convertChoice(choice),
    ...(choice['disable_parallel_tool_use'] === true && { parallel_tool_calls: false }),
  };
}

function convertTool(tool: JsonObject, path: string, nodes: NodeBudget): JsonObject {
  const { name, type = 'custom', input_schema: schema } = tool;
  const known = findClientTool(type);
  if (typeof name !== 'string' || name === '' || (known === null && (type ?? 'custom') !== 'custom'))
    refuseField(path, `the provider of this model has no tool of type "${String(type ?? 'custom')}"`);
  const { description, parameters } = known ?? { description: tool['description'], parameters: objectOf(schema) };
  return {
    type: 'function',
    name: shortenToolName(name),
    ...(typeof description === 'string' && { description }),
    parameters: completeSchema(parameters, REQUEST_RULES.openai, nodes),
    // The provider takes every schema as strict by default, and refuses those that are not.
    strict: known === null && tool['strict'] === true && isStrictSchema(parameters),
  };
}

function convertChoice({ type, name }: JsonObject): JsonObject {
  if (type === 'tool') return { tool_choice: { type: 'function', name: shortenToolName(textOf(name)) } };
  const tool_choice = wordOfChoice(type, OPENAI_CHOICES);
  return tool_choice === null ? {} : { tool_choice };
}

/** `shown` with its signature; `sealed`: only the signature. */
export type ThinkingDisplay = 'shown' | 'sealed';

export function readDisplay({ thinking }: JsonObject): ThinkingDisplay {
  return isJsonObject(thinking) && thinking['display'] === 'omitted' ? 'sealed' : 'shown';
}

/** `reasoning` and `include`, if requested and supported by the model. */
function convertThinking(body: JsonObject, model: Reasoning): JsonObject {
  if (model.does === 'never') return {}; // thinking is a hint; such a model refuses the setting
  const thinking = readThinking(body);
  const effort = thinking === 'off' ? leastEffort(model.efforts) : nearestEffort(readEffort(body), model.efforts);
  const isShown = thinking === 'on' && readDisplay(body) === 'shown';
  const reasoning = { ...(effort !== null && { effort }), ...(isShown && { summary: 'auto' }) };
  return {
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    // Models without reasoning refuse it, so it is requested only with thinking.
    ...(thinking === 'on' && { include: ['reasoning.encrypted_content'] }),
  };
}

const AZURE_HOST = /\.azure\.com$/;
const OPENAI_HOST = /(^|\.)api\.openai\.com$/;

/** The address of a path such as "/responses"; the base may have its version, also in a query, as Azure's do. */
export function convertUrl(baseUrl: string, path: string, isAzure: IsAzure = isAzureHost): string {
  const [address = '', query] = baseUrl.split('?');
  const base = address.replace(/\/+$/, '');
  if (query !== undefined) return `${/^https?:\/\/[^/]*$/.test(base) ? `${base}/openai` : base}${path}?${query}`;
  if (/\/v\d+$/.test(base)) return base + path;
  const isBareAzure = isAzure(baseUrl) && URL.parse(base)?.pathname === '/';
  return `${base}${isBareAzure ? '/openai' : ''}/v1${path}`;
}

export function convertHeaders(
  source: HeaderSource,
  accept: string,
  isAzure: IsAzure = isAzureHost,
): Record<string, string> {
  return makeHeaders(source, isAzure(source.provider.baseUrl) ? 'api-key' : 'authorization', accept);
}

export type IsAzure = (baseUrl: string) => boolean;

export function isAzureHost(baseUrl: string): boolean {
  return AZURE_HOST.test(hostOf(baseUrl));
}

function isOpenAiHost(baseUrl: string): boolean {
  return OPENAI_HOST.test(hostOf(baseUrl));
}

/** `service_tier` of an attempt, if it is sent. */
export function tierAt({ provider, request }: Pick<Attempt, 'provider' | 'request'>, isAzure: IsAzure): JsonObject {
  return requestedTier(tiersAt(provider.baseUrl, isAzure), request.body);
}

/** Other hosts may refuse a service tier. */
export function tiersAt(baseUrl: string, isAzure: IsAzure): TierWords {
  if (isOpenAiHost(baseUrl)) return OPENAI_TIERS;
  return isAzure(baseUrl) ? AZURE_TIERS : {};
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.hostname ?? '';
}

// The provider refuses less. Up to here an answer may be longer than requested.
export const OUTPUT_TOKENS_LEAST = 16;

/** The body of POST /v1/responses. Throws ProviderFault (rejected) for content that the provider does not support. */
export function convertBody(
  attempt: Attempt,
  model = reasoningOf(attempt.upstreamModel),
  isAzure: IsAzure = isAzureHost,
): JsonObject {
  const { request, upstreamModel, maxTokens } = attempt;
  const { body } = request;
  const exact = exactBody(request); // for values written as they were read: tool inputs and schemas
  refuseFields(body, 'openai-responses');
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model requires at least 1');
  const userId = hashUserId(body);
  const isThinking = readThinking(body) === 'on' && model.does !== 'never';
  return {
    model: upstreamModel,
    ...convertSystem(body),
    input: convertMessages(exact, isThinking ? homeOf(attempt.provider) : null),
    ...convertTools(exact),
    ...convertThinking(body, model),
    ...convertFormat(exact),
    ...(isThinking || model.does === 'always' ? {} : convertSampling(body)), // reasoning models reject these
    // OpenAI itself accepts an end-user id; others refuse unknown fields.
    ...(userId !== null && isOpenAiHost(attempt.provider.baseUrl) && { safety_identifier: userId }),
    ...(body['service_tier'] === 'standard_only' && { service_tier: 'default' }),
    ...tierAt(attempt, isAzure),
    max_output_tokens: Math.max(OUTPUT_TOKENS_LEAST, maxTokens),
    ...attempt.extra,
    store: false,
    stream: request.stream,
  };
}

function convertSystem({ system }: JsonObject): JsonObject {
  const blocks = placeBlocks(system, 'system').filter(({ block }) => !isBillingLine(block));
  const said = blocks.flatMap(({ block }) => textOf(block['text']) || []);
  return said.length === 0 ? {} : { instructions: said.join('\n\n') };
}

/** Omits unset and default values: reasoning models reject even the defaults. */
function convertSampling(body: JsonObject): JsonObject {
  const { temperature, top_p } = body;
  const isSet = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value !== 1;
  return { ...(isSet(temperature) && { temperature }), ...(isSet(top_p) && { top_p }) };
}

function convertFormat(body: JsonObject): JsonObject {
  const format = answerFormat(body);
  if (format === null) return {};
  const { type, schema } = format;
  if (type !== 'json_schema' || !isJsonObject(schema))
    return refuseField('output_config.format', 'the provider of this model accepts only a json_schema with a schema');
  return { text: { format: writeFormat(schema, isStrictSchema(schema), null) } };
}
