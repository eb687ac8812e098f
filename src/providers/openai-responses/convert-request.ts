// A message request as the body of POST /v1/responses, which keeps nothing at the provider (store: false): every turn
// brings the whole conversation, reasoning included. Only what is listed here travels. Pure.

import { isJsonObject, type JsonObject, jsonObjects } from '../../wire/wire.ts';
import type { Attempt, ProviderEndpoint } from '../provider.ts';
import { ProviderFault } from '../provider.ts';
import { convertMessages } from './convert-messages.ts';
import { convertThinking, readDisplay } from './convert-thinking.ts';
import { convertTools } from './convert-tools.ts';
import { isStrictSchema } from './is-strict-schema.ts';
import { homeOf } from './reasoning-signature.ts';
import { refuseField, refuseFields } from './refuse-field.ts';

// The provider refuses a lower one. Up to here an answer may be longer than was asked for.
const OUTPUT_TOKENS_LEAST = 16;
const FORMAT_NAME = 'output';
// A line that a client adds for its own vendor's accounting: nobody else's business, and other in every conversation.
const BILLING_LINE = /^x-anthropic-billing-header:/;
// They refuse to be told how to sample. A model with another name may still: it says so itself.
const REASONING_MODEL = /^(o\d|gpt-5(?!.*chat))/;

/** The address of a path such as "/responses"; the base may be given with or without its version. */
export function convertUrl(baseUrl: string, path: string): string {
  const base = baseUrl.replace(/\/+$/, '');
  return `${/\/v\d+$/.test(base) ? base : `${base}/v1`}${path}`;
}

/** The headers of a request. Of a caller's own only the trace travels on. Throws ProviderFault (credentials). */
export function convertHeaders(
  { credential }: Pick<ProviderEndpoint, 'credential'>,
  accept: string,
  trace: Attempt['trace'] = null,
): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', accept, 'user-agent': 'turnpike' };
  if (trace) {
    headers['traceparent'] = trace.traceparent;
    if (trace.tracestate !== null) headers['tracestate'] = trace.tracestate;
  }
  if (credential === null) return headers;
  const secret = credential.reveal().trim();
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw new ProviderFault('credentials', "the provider's credential is empty or has characters no header can carry");
  headers['authorization'] = `Bearer ${secret}`;
  return headers;
}

/** The body of POST /v1/responses. Throws ProviderFault (rejected) for what the provider cannot be told. */
export function convertBody(attempt: Attempt): JsonObject {
  const { request, upstreamModel, maxTokens } = attempt;
  const { body } = request;
  refuseFields(body);
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model answers with at least one token');
  const isThinking = readDisplay(body) !== 'hidden';
  return {
    model: upstreamModel,
    ...convertSystem(body),
    input: convertMessages(body, isThinking ? homeOf(attempt.provider) : null),
    ...convertTools(body),
    ...convertThinking(body),
    ...convertFormat(body),
    ...(isThinking || REASONING_MODEL.test(upstreamModel) ? {} : convertSampling(body)),
    ...(body['service_tier'] === 'standard_only' && { service_tier: 'default' }),
    max_output_tokens: Math.max(OUTPUT_TOKENS_LEAST, maxTokens),
    store: false,
    stream: request.stream,
  };
}

function convertSystem({ system }: JsonObject): JsonObject {
  const texts = typeof system === 'string' ? [system] : jsonObjects(system).map(({ text }) => text);
  const said = texts.filter((text) => typeof text === 'string' && text !== '' && !BILLING_LINE.test(text));
  return said.length === 0 ? {} : { instructions: said.join('\n\n') };
}

/** What the protocol takes for unset goes unsaid: models that reason refuse to be told it, too. */
function convertSampling(body: JsonObject): JsonObject {
  const { temperature, top_p } = body;
  const isSet = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value !== 1;
  return { ...(isSet(temperature) && { temperature }), ...(isSet(top_p) && { top_p }) };
}

function convertFormat(body: JsonObject): JsonObject {
  const format =
    (isJsonObject(body['output_config']) ? body['output_config']['format'] : null) ?? body['output_format'];
  if (!isJsonObject(format)) return {};
  const { type, schema } = format;
  if (type !== 'json_schema' || !isJsonObject(schema))
    return refuseField('output_config.format', 'the provider of this model takes a json_schema with its schema only');
  return { text: { format: { type, name: FORMAT_NAME, schema, strict: isStrictSchema(schema) } } };
}
