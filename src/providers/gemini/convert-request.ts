// The request as Gemini wants it: where it goes, its headers, and its body.

import { exactBody, isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { refuseFields } from '../lost-fields.ts';
import { type Attempt, type ProviderEndpoint, ProviderFault } from '../provider.ts';
import { refuseField } from '../refuse-field.ts';
import { convertMessages, convertSystem } from './convert-messages.ts';
import { convertThinking, needsSignatures } from './convert-thinking.ts';
import { convertTools } from './convert-tools.ts';

const STOP_SEQUENCES_MAX = 5;

/** The address of a method of a model; the base may be given with or without its version. */
export function convertUrl(baseUrl: string, model: string, method: string): string {
  return `${versionedUrl(baseUrl)}/${modelPath(model)}:${method}`;
}

/** The address of the list of models. */
export function modelsUrl(baseUrl: string): string {
  return `${versionedUrl(baseUrl)}/models?pageSize=1000`; // the most that one page may have
}

/** The model's own name, without the "models/" that Gemini's lists put before it. */
export function plainModel(model: string): string {
  return model.replace(/^models\//, '');
}

/** All headers that are sent: the key never stands in an address, where logs would keep it. Throws ProviderFault (credentials). */
export function endpointHeaders({ credential }: ProviderEndpoint, accept: string): Record<string, string> {
  const headers = { 'content-type': 'application/json', accept, 'user-agent': 'turnpike' };
  const key = credential?.reveal().trim();
  if (key === undefined) return headers;
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new ProviderFault('credentials', "the provider's credential is empty or has characters no header can carry");
  return { ...headers, 'x-goog-api-key': key };
}

/** The same with what a provider is told of the trace. */
export function convertHeaders({ provider, trace }: Attempt, accept: string): Record<string, string> {
  const headers = endpointHeaders(provider, accept);
  if (!trace) return headers;
  const { traceparent, tracestate } = trace;
  return { ...headers, traceparent, ...(tracestate !== null && { tracestate }) };
}

/** The body of generateContent. Throws ProviderFault (rejected). */
export function convertBody(attempt: Attempt): string {
  const body = exactBody(attempt.request);
  return JSON.stringify({
    ...convertPrompt(body, attempt),
    generationConfig: convertConfig(attempt, body),
  });
}

/** The body of countTokens. Throws ProviderFault (rejected). */
export function convertCountBody(attempt: Attempt): string {
  const body = exactBody(attempt.request);
  return JSON.stringify({
    generateContentRequest: { model: modelPath(attempt.upstreamModel), ...convertPrompt(body, attempt) },
  });
}

function convertPrompt(body: JsonObject, { upstreamModel }: Attempt): JsonObject {
  const model = plainModel(upstreamModel);
  refuseFields(body, 'gemini');
  const contents = convertMessages(body['messages'], { needsSignatures: needsSignatures(model) });
  return { contents, ...convertSystem(body['system']), ...convertTools(body) };
}

/** `exact`: for the schema, which is written as it was read. */
function convertConfig({ request: { body }, maxTokens, upstreamModel }: Attempt, exact: JsonObject): JsonObject {
  const thinkingConfig = convertThinking(body, plainModel(upstreamModel));
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model needs at least 1');
  return {
    maxOutputTokens: maxTokens,
    ...sampling(body),
    ...stopSequences(body['stop_sequences']),
    ...outputFormat(exact),
    ...(thinkingConfig !== null && { thinkingConfig }),
  };
}

const SAMPLING: readonly [field: string, member: string][] = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['top_k', 'topK'],
];

/** Old versions of LangChain send -1 where they mean "unset". */
function sampling(body: JsonObject): JsonObject {
  const set = SAMPLING.flatMap(([field, member]): [string, JsonValue][] => {
    const value = body[field];
    return typeof value === 'number' && value >= 0 ? [[member, value]] : [];
  });
  return Object.fromEntries(set);
}

function stopSequences(sequences: JsonValue | undefined): JsonObject {
  if (!Array.isArray(sequences) || sequences.length === 0) return {};
  if (sequences.length > STOP_SEQUENCES_MAX)
    refuseField('stop_sequences', `the provider of this model takes at most ${STOP_SEQUENCES_MAX}`);
  return { stopSequences: sequences };
}

/** The schema as it is: that of an answer may be any JSON Schema, other than that of a function. */
function outputFormat({ output_config: config, output_format: former }: JsonObject): JsonObject {
  const format = isJsonObject(config) && isJsonObject(config['format']) ? config['format'] : former;
  if (!isJsonObject(format)) return {};
  if (format['type'] !== 'json_schema' || !isJsonObject(format['schema']))
    refuseField('output_config.format', "Input should have the type 'json_schema' and a schema");
  return { responseMimeType: 'application/json', responseJsonSchema: format['schema'] };
}

function versionedUrl(baseUrl: string): string {
  const base = baseUrl.replace(/\/+$/, '');
  return /\/v\d+[a-z0-9]*$/.test(base) ? base : `${base}/v1beta`;
}

/** "models/gemini-…"; a name with a collection of its own, as "tunedModels/…", keeps it. */
function modelPath(model: string): string {
  const path = model.includes('/') ? model : `models/${model}`;
  return path.split('/').map(encodeURIComponent).join('/');
}
