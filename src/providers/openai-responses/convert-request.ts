// A message request as the body of POST /v1/responses, which keeps nothing at the provider (store: false): every turn
// brings the whole conversation, reasoning included. Only what is listed here travels. Pure.

import { createHash } from 'node:crypto';
import { exactBody, isJsonObject, type JsonObject, jsonObjects } from '../../wire/wire.ts';
import { readThinking } from '../effort.ts';
import { isStrictSchema } from '../is-strict-schema.ts';
import { refuseFields } from '../lost-fields.ts';
import type { Attempt } from '../provider.ts';
import { refuseField } from '../refuse-field.ts';
import { convertMessages } from './convert-messages.ts';
import { convertThinking } from './convert-thinking.ts';
import { convertTools } from './convert-tools.ts';
import { takesEndUser } from './endpoint.ts';
import { reasoningOf } from './reasoning-models.ts';
import { homeOf } from './reasoning-signature.ts';

// The provider refuses a lower one. Up to here an answer may be longer than was asked for.
const OUTPUT_TOKENS_LEAST = 16;
const FORMAT_NAME = 'output';
// A line that a client adds for its own vendor's accounting: nobody else's business, and other in every conversation.
const BILLING_LINE = /^x-anthropic-billing-header:/;

/** The body of POST /v1/responses. Throws ProviderFault (rejected) for what the provider cannot be told. */
export function convertBody(attempt: Attempt, model = reasoningOf(attempt.upstreamModel)): JsonObject {
  const { request, upstreamModel, maxTokens } = attempt;
  const { body } = request;
  const exact = exactBody(request); // for what is written as it was read: inputs of tools and schemas
  refuseFields(body, 'openai-responses');
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model answers with at least one token');
  const isThinking = readThinking(body) === 'on' && model.does !== 'never';
  return {
    model: upstreamModel,
    ...convertSystem(body),
    input: convertMessages(exact, isThinking ? homeOf(attempt.provider) : null),
    ...convertTools(exact),
    ...convertThinking(body, model),
    ...convertFormat(exact),
    ...(isThinking || model.does === 'always' ? {} : convertSampling(body)), // who reasons refuses to be told
    ...(takesEndUser(attempt.provider) && convertEndUser(body)),
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

/** As a hash: it is told apart from others, and not who it is. */
function convertEndUser({ metadata }: JsonObject): JsonObject {
  const userId = isJsonObject(metadata) ? metadata['user_id'] : null;
  if (typeof userId !== 'string' || userId === '') return {};
  return { safety_identifier: createHash('sha256').update(userId).digest('hex') };
}

/** What is unset or usual goes unsaid: a model that reasons refuses to be told even that. */
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
