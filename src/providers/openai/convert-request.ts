// A message request as a Chat Completions request: its address, headers and body. Pure; what a family knows is in
// its profile, and what nobody can say is refused here, before anything is sent.

import { createHash } from 'node:crypto';
import { exactBody, isJsonObject, type JsonObject, type JsonValue, type MessageRequest } from '../../wire/wire.ts';
import { isStrictSchema } from '../is-strict-schema.ts';
import { refuseFields } from '../lost-fields.ts';
import { type Attempt, type ProviderEndpoint, ProviderFault } from '../provider.ts';
import { refuseField } from '../refuse-field.ts';
import { convertEffort } from './convert-effort.ts';
import { convertMessages } from './convert-messages.ts';
import { convertTools } from './convert-tools.ts';
import type { Profile } from './profile.ts';

const CHAT_PATH = '/chat/completions';
const FORMAT_NAME = 'output';

/**
 * The address of a path such as "/chat/completions". A base without a path gets the one of its family; one with a query,
 * as Azure's older addresses have (?api-version=…), keeps it.
 */
export function convertUrl(baseUrl: string, profile: Profile, path: string): string {
  const [address = '', query] = baseUrl.split('?');
  const base = address.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  if (query !== undefined)
    return `${base}${isBare(base) && profile.family === 'azure' ? '/openai' : ''}${path}?${query}`;
  return base + (isBare(base) ? profile.rootPath : '') + path;
}

/** The address of the messages of an attempt. In Azure's older ones the model's deployment is part of it. */
export function convertChatUrl({ provider: { baseUrl }, upstreamModel }: Attempt, profile: Profile): string {
  const [address = '', query] = baseUrl.split('?');
  const resource = address.replace(/\/+$/, '').replace(/\/openai$/, '');
  if (profile.family !== 'azure' || query === undefined || !isBare(resource))
    return convertUrl(baseUrl, profile, CHAT_PATH);
  return `${resource}/openai/deployments/${encodeURIComponent(upstreamModel)}${CHAT_PATH}?${query}`;
}

function isBare(base: string): boolean {
  return /^https?:\/\/[^/]*$/.test(base);
}

/** All headers that are sent. Of the caller's only its trace travels on. Throws ProviderFault (credentials). */
export function convertHeaders(attempt: Attempt, profile: Profile, accept: string): Record<string, string> {
  const headers = endpointHeaders(attempt.provider, profile, accept);
  if (attempt.trace) {
    headers['traceparent'] = attempt.trace.traceparent;
    if (attempt.trace.tracestate !== null) headers['tracestate'] = attempt.trace.tracestate;
  }
  return headers;
}

/** The headers of a request that is no caller's. Throws ProviderFault (credentials). */
export function endpointHeaders(endpoint: ProviderEndpoint, profile: Profile, accept: string): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', accept, 'user-agent': 'turnpike' };
  const credential = endpoint.credential?.reveal().trim();
  if (credential === undefined) return headers;
  if (!/^[\x21-\x7e]+$/.test(credential))
    throw new ProviderFault('credentials', "the provider's credential is empty or has characters no header can carry");
  headers[profile.keyHeader] = profile.keyHeader === 'authorization' ? `Bearer ${credential}` : credential;
  return headers;
}

/** The body of POST /chat/completions. Throws ProviderFault (rejected), naming the field. */
export function convertBody(attempt: Attempt, profile: Profile): JsonObject {
  const { request, upstreamModel, maxTokens } = attempt;
  const { body } = request;
  const exact = exactBody(request); // for what is written as it was read: inputs of tools and schemas
  refuseFields(body, 'openai');
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model produces at least one token');
  const tools = convertTools(exact, profile);
  return {
    model: upstreamModel,
    messages: convertMessages(exact, profile, upstreamModel),
    [profile.maxTokens]: maxTokens,
    ...convertSampling(request, profile),
    ...convertStops(body['stop_sequences'], profile),
    ...tools,
    ...convertEffort(body, profile, tools['tools'] !== undefined),
    ...convertFormat(exact, profile),
    ...convertEndUser(body['metadata'], profile),
    ...(request.stream && { stream: true }),
    ...(request.stream && profile.streamUsage && { stream_options: { include_usage: true } }),
  };
}

/** Old versions of LangChain send -1 where they mean "unset"; a penalty may be below zero. */
function convertSampling({ body, protocol }: MessageRequest, { sampling, ownSampling }: Profile): JsonObject {
  const set: JsonObject = {};
  if (protocol === 'chat-completions' && sampling.length > 0)
    for (const name of ownSampling) if (typeof body[name] === 'number') set[name] = body[name];
  for (const name of sampling) {
    const value = body[name];
    if (typeof value === 'number' && value >= 0) set[name] = value;
  }
  return set;
}

function convertStops(stops: JsonValue | undefined, { stopMax }: Profile): JsonObject {
  if (!Array.isArray(stops) || stops.length === 0) return {};
  if (stops.length > stopMax)
    refuseField(
      'stop_sequences',
      stopMax === 0 ? 'this model takes no stop sequences' : `this model takes at most ${stopMax} stop sequences`,
    );
  return { stop: stops };
}

/** The words for a model without it are those by which a coding agent goes on without asking for it. */
function convertFormat(body: JsonObject, profile: Profile): JsonObject {
  const config = isJsonObject(body['output_config']) ? body['output_config'] : {};
  const format = config['format'] ?? body['output_format']; // the second is its older name
  if (!isJsonObject(format)) return {};
  if (!profile.jsonSchema || format['type'] !== 'json_schema')
    refuseField('output_config.format', 'Extra inputs are not permitted');
  const schema = format['schema'] ?? {};
  // Who knows strict tools refuses a schema that is none; others hold to any.
  const strict = !profile.strictTools || (isJsonObject(schema) && isStrictSchema(schema));
  const json_schema = { name: FORMAT_NAME, schema, strict };
  return { response_format: { type: 'json_schema', json_schema } };
}

/** A hash: the provider may tell callers apart, and learns nothing of who they are. */
function convertEndUser(metadata: JsonValue | undefined, { endUser }: Profile): JsonObject {
  const userId = isJsonObject(metadata) ? metadata['user_id'] : null;
  if (endUser === null || typeof userId !== 'string' || userId === '') return {};
  return { [endUser]: createHash('sha256').update(userId).digest('hex') };
}
