// The request for Gemini: URL, headers, body.

import { GEMINI_CONFIG } from '../../protocols/gemini.ts';
import { CLOUD_TIERS, requestedWord } from '../../protocols/service-tiers.ts';
import { GEMINI_CHOICES, wordOfChoice } from '../../protocols/tool-choice.ts';
import { exactBody, isJsonObject, type JsonObject, type JsonValue, jsonObjects, objectOf } from '../../wire/wire.ts';
import { gatherTools, readFunction } from '../client-tools.ts';
import { answerFormat } from '../conversation.ts';
import { type HeaderSource, makeHeaders } from '../http-api.ts';
import { refuseField, refuseFields } from '../lost-fields.ts';
import {
  geminiOutputMax,
  geminiTakesSampling,
  geminiThinking,
  needsSignatures,
  type ThinkingLevels,
} from '../models.ts';
import type { Attempt } from '../provider.ts';
import { REQUEST_RULES } from '../request-rules.ts';
import { isEnforceable, makeNodeBudget, type NodeBudget, schemaInWords } from '../tool-schemas.ts';
import { shortenName } from './call-ids.ts';
import { cleanSchema } from './clean-schema.ts';
import { convertMessages, convertSystem } from './convert-messages.ts';

/** `tools` and `toolConfig`; empty without tools. Throws ProviderFault (rejected) for an unsupported tool. */
export function convertTools(body: JsonObject): JsonObject {
  const tools = gatherTools(body);
  if (tools.length === 0) return {};
  const nodes = makeNodeBudget();
  const functionDeclarations = tools.map(({ tool, path }) => convertTool(tool, path, nodes));
  const functionCallingConfig = convertChoice(body['tool_choice']);
  return {
    tools: [{ functionDeclarations }],
    ...(functionCallingConfig !== null && { toolConfig: { functionCallingConfig } }),
  };
}

function convertTool(tool: JsonObject, path: string, nodes: NodeBudget): JsonObject {
  const { name, description, schema } = readFunction(tool, path);
  const parameters = isJsonObject(schema) ? cleanSchema(schema, nodes) : null;
  return {
    name: shortenName(name),
    ...(typeof description === 'string' && description !== '' && { description }),
    ...(parameters !== null && { parameters }),
  };
}

function convertChoice(choice: JsonValue | undefined): JsonObject | null {
  if (!isJsonObject(choice)) return null;
  const { type, name } = choice;
  if (type === 'tool') return { mode: 'ANY', allowedFunctionNames: [shortenName(String(name))] };
  const mode = wordOfChoice(type, GEMINI_CHOICES);
  if (mode !== null) return { mode };
  refuseField('tool_choice.type', "Input should be 'auto', 'any', 'tool' or 'none'");
}

const DYNAMIC = -1;
const LOW_TOKENS_MAX = 4_096;
const MIDDLE_TOKENS_MAX = 16_384;

/** The `thinkingConfig`; null for an unknown model without a request. */
function convertThinking(body: JsonObject, model: string): JsonObject | null {
  const thinking = body['thinking'];
  const thinks = geminiThinking(model);
  if (!isJsonObject(thinking) || thinking['type'] === 'disabled') {
    if (thinks === null) return null;
    return 'lowest' in thinks ? { thinkingLevel: thinks.lowest } : { thinkingBudget: thinks.least };
  }
  const includeThoughts = thinking['display'] !== 'omitted';
  const budget = typeof thinking['budget_tokens'] === 'number' ? thinking['budget_tokens'] : null;
  if (thinks !== null && 'lowest' in thinks)
    return { includeThoughts, thinkingLevel: levelOf(thinks, budget, objectOf(body['output_config'])['effort']) };
  if (thinks === null || budget === null) return { includeThoughts, thinkingBudget: budget ?? DYNAMIC };
  return { includeThoughts, thinkingBudget: Math.min(Math.max(budget, thinks.from), thinks.most) };
}

function levelOf({ middle }: ThinkingLevels, budget: number | null, effort: JsonValue | undefined): string {
  if (budget === null) return effort === 'low' ? 'LOW' : effort === 'medium' ? middle : 'HIGH';
  if (budget <= LOW_TOKENS_MAX) return 'LOW';
  return budget <= MIDDLE_TOKENS_MAX ? middle : 'HIGH';
}

const STOP_SEQUENCES_MAX = 5;

/** The URL of a model's method; the base may include the version or not. */
export function convertUrl(baseUrl: string, model: string, method: string): string {
  return `${versionedUrl(baseUrl)}/${modelPath(model)}:${method}`;
}

/** The model's name without the "models/" of Gemini's lists. */
export function plainModel(model: string): string {
  return model.replace(/^models\//, '');
}

export function convertHeaders(source: HeaderSource, accept: string): Record<string, string> {
  return makeHeaders(source, 'x-goog-api-key', accept);
}

/**
 * Members that keep Google from storing the request, for the Gemini API only. New projects store all requests by default
 * (https://ai.google.dev/gemini-api/docs/logs-datasets, 26 October 2026); Vertex AI has no such member and refuses it.
 */
function storageMembers({ provider }: Pick<Attempt, 'provider'>): JsonObject {
  return provider.allowsStorage === true ? {} : { store: false };
}

/** Members of a request to the Gemini API that this service decides: storage, and the tier that the message requests. */
export function ownMembers(attempt: Attempt): JsonObject {
  const serviceTier = requestedWord(CLOUD_TIERS, attempt.request.body);
  return { ...storageMembers(attempt), ...(serviceTier !== null && { serviceTier }) };
}

/**
 * The body of generateContent, with these members; `hasCallIds`: calls and results have ids. Throws ProviderFault
 * (rejected).
 */
export function convertBody(attempt: Attempt, hasCallIds = true, added: JsonObject = {}): string {
  const body = exactBody(attempt.request);
  return JSON.stringify({
    ...convertPrompt(body, attempt, hasCallIds),
    generationConfig: convertConfig(attempt, body),
    ...added,
  });
}

/** The body of countTokens. Throws ProviderFault (rejected). */
export function convertCountBody(attempt: Attempt): string {
  const body = exactBody(attempt.request);
  return JSON.stringify({
    generateContentRequest: { model: modelPath(attempt.upstreamModel), ...convertPrompt(body, attempt) },
  });
}

export function convertPrompt(body: JsonObject, { upstreamModel }: Attempt, hasCallIds = true): JsonObject {
  const model = plainModel(upstreamModel);
  refuseFields(body, 'gemini');
  const contents = convertMessages(body['messages'], { needsSignatures: needsSignatures(model), hasCallIds });
  return { contents, ...convertSystem(systemOf(body)), ...convertTools(body) };
}

/** The max_tokens of the attempt, as far as one call gives them: an answer that needs more ends with `max_tokens`. */
export function outputMaxOf({ maxTokens, upstreamModel, request }: Attempt): number {
  return Math.min(maxTokens, geminiOutputMax(plainModel(upstreamModel), request.stream));
}

/** `exact`: for the schema, which is written as it was read. */
function convertConfig(attempt: Attempt, exact: JsonObject): JsonObject {
  const { request, maxTokens, upstreamModel } = attempt;
  const { body } = request;
  const thinkingConfig = convertThinking(body, plainModel(upstreamModel));
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model requires at least 1');
  return {
    maxOutputTokens: outputMaxOf(attempt),
    ...(geminiTakesSampling(plainModel(upstreamModel)) && sampling(body)),
    ...stopSequences(body['stop_sequences']),
    ...outputFormat(exact),
    ...(thinkingConfig !== null && { thinkingConfig }),
  };
}

/** Old versions of LangChain send -1 for "unset". */
function sampling(body: JsonObject): JsonObject {
  const given = (['temperature', 'topP', 'topK'] as const).map((own) => [own, body[GEMINI_CONFIG[own]]] as const);
  return Object.fromEntries(
    given.flatMap(([own, value]) => (typeof value === 'number' && value >= 0 ? [[own, value]] : [])),
  );
}

function stopSequences(sequences: JsonValue | undefined): JsonObject {
  if (!Array.isArray(sequences) || sequences.length === 0) return {};
  if (sequences.length > STOP_SEQUENCES_MAX)
    refuseField('stop_sequences', `the provider of this model accepts at most ${STOP_SEQUENCES_MAX}`);
  return { stopSequences: sequences };
}

/** The schema unchanged: unlike a function's, an answer's may be any JSON Schema that does not lead back to itself. */
function outputFormat(body: JsonObject): JsonObject {
  const format = answerFormat(body);
  if (format === null) return {};
  const { type, schema } = format;
  if (type !== 'json_schema' || !isJsonObject(schema))
    refuseField('output_config.format', "Input should have the type 'json_schema' and a schema");
  const isEnforced = isEnforceable(schema, REQUEST_RULES.gemini);
  return { responseMimeType: 'application/json', ...(isEnforced && { responseJsonSchema: schema }) };
}

/** The system prompt, with the schema of an answer that is not enforced. */
function systemOf(body: JsonObject): JsonValue | undefined {
  const { system } = body;
  const schema = answerFormat(body)?.['schema'];
  if (!isJsonObject(schema) || isEnforceable(schema, REQUEST_RULES.gemini)) return system;
  const blocks = typeof system === 'string' && system !== '' ? [{ type: 'text', text: system }] : jsonObjects(system);
  return [...blocks, { type: 'text', text: schemaInWords(schema) }];
}

export function versionedUrl(baseUrl: string): string {
  const base = baseUrl.replace(/\/+$/, '');
  return /\/v\d+[a-z0-9]*$/.test(base) ? base : `${base}/v1beta`;
}

/** "models/gemini-…"; a name with its own collection, such as "tunedModels/…", keeps it. */
export function modelPath(model: string): string {
  const path = model.includes('/') ? model : `models/${model}`;
  return path.split('/').map(encodeURIComponent).join('/');
}
