// Converts a message request to Converse's. Pure.

import { FORMAT_NAME } from '../../protocols/answer-format.ts';
import { nearestEffort, readEffort, readThinking } from '../../protocols/effort.ts';
import { CLOUD_TIERS, requestedWord } from '../../protocols/service-tiers.ts';
import type { JsonObject, JsonValue } from '../../wire/wire.ts';
import { exactBody, isJsonObject, objectOf, textOf } from '../../wire/wire.ts';
import { gatherTools, readFunction, shortenToolName } from '../client-tools.ts';
import { answerFormat } from '../conversation.ts';
import { refuseField, refuseFields } from '../lost-fields.ts';
import { claudeGeneration } from '../models.ts';
import { NONE_REPLACED, type ReplacedProperties, renameProperties, replacedProperties } from '../property-names.ts';
import type { Attempt } from '../provider.ts';
import { REQUEST_RULES } from '../request-rules.ts';
import {
  completeSchema,
  isEnforceable,
  limitSchema,
  makeNodeBudget,
  type NodeBudget,
  refuseNames,
  schemaInWords,
} from '../tool-schemas.ts';
import { calledNames, convertMessages, convertSystem, isBreakpoint, pushCachePoint } from './convert-messages.ts';
import { type Family, familyOf } from './families.ts';
import { homeOf, isClaude } from './model-ids.ts';

const NO_CALL = 'This answer must not call a tool.';
const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

/** The body of Converse and ConverseStream. Throws ProviderFault (rejected) with the field's path. */
export function convertBody(attempt: Attempt): string {
  const { request, maxTokens, upstreamModel } = attempt;
  const exact = exactBody(request); // tool inputs and schemas as they were written
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model requires at least 1');
  const family = familyOf(upstreamModel);
  const additionalModelRequestFields = convertOwnFields(request.body, family);
  const outputConfig = convertOutput(exact, request.body, upstreamModel);
  const type = requestedWord(CLOUD_TIERS, request.body);
  return JSON.stringify({
    ...convertPrompt(exact, upstreamModel, family),
    inferenceConfig: convertInference(request.body, attempt),
    ...(Object.keys(additionalModelRequestFields).length > 0 && { additionalModelRequestFields }),
    ...(Object.keys(outputConfig).length > 0 && { outputConfig }),
    ...(type !== null && { serviceTier: { type } }),
  });
}

/** The input of CountTokens. Throws ProviderFault (rejected). */
export function convertCountInput({ request, upstreamModel }: Attempt): JsonValue {
  return { converse: convertPrompt(exactBody(request), upstreamModel, familyOf(upstreamModel)) };
}

function convertPrompt(body: JsonObject, model: string, family: Family): JsonObject {
  refuseFields(body, 'bedrock');
  const properties = isClaude(model) ? replacedProperties(body) : NONE_REPLACED;
  const messages = convertMessages(body['messages'], { family, home: homeOf(model), properties });
  const { tools, choice, isForbidden } = convertTools(body, family, properties);
  const system = convertSystem(body['system'], family);
  if (isForbidden) system.push({ text: NO_CALL });
  const schema = answerFormat(body)?.['schema'];
  if (isJsonObject(schema) && !isEnforceable(schema, REQUEST_RULES.bedrock))
    system.push({ text: schemaInWords(schema) });
  return {
    messages,
    ...(system.length > 0 && { system }),
    ...(tools.length > 0 && { toolConfig: { tools, ...(choice !== null && { toolChoice: choice }) } }),
  };
}

interface Tools {
  tools: JsonObject[];
  choice: JsonObject | null;
  /** The client allows no call. Converse has no such choice, so a sentence says it. */
  isForbidden: boolean;
}

/** Converse requires tools for a conversation with calls, whether or not they may be called again. */
function convertTools(body: JsonObject, family: Family, properties: ReplacedProperties): Tools {
  const called = calledNames(body['messages']);
  const given = gatherTools(body);
  const isForbidden = given.length === 0 || objectOf(body['tool_choice'])['type'] === 'none';
  if (isForbidden && called.length === 0) return { tools: [], choice: null, isForbidden: false };
  const nodes = makeNodeBudget();
  const tools = given.map(({ tool, path }) => convertTool(tool, path, family, nodes, properties));
  if (given.length === 0)
    tools.push(...called.map((name) => toolSpec(shortenToolName(name), undefined, NO_PARAMETERS)));
  pushCachePoint(tools, family.cachePoints && !family.plainSchemas && given.some(({ tool }) => isBreakpoint(tool)));
  return { tools, choice: isForbidden ? null : convertChoice(body['tool_choice']), isForbidden };
}

function convertTool(
  tool: JsonObject,
  path: string,
  family: Family,
  nodes: NodeBudget,
  properties: ReplacedProperties,
): JsonObject {
  const { name, description, schema: given } = readFunction(tool, path);
  const completed = completeSchema(objectOf(given), REQUEST_RULES.bedrock, nodes);
  const names = properties.get(name)?.sent;
  const schema = names === undefined ? completed : renameProperties(completed, names);
  if (properties !== NONE_REPLACED) refuseNames(schema, REQUEST_RULES.bedrock, `${path}.input_schema`);
  return toolSpec(shortenToolName(name), description, family.plainSchemas ? plainSchema(schema) : schema);
}

function toolSpec(name: string, description: JsonValue | undefined, json: JsonObject): JsonObject {
  const isDescribed = typeof description === 'string' && description !== '';
  return { toolSpec: { name, ...(isDescribed && { description }), inputSchema: { json } } };
}

/** The top level with the only members that the family accepts; with definitions, which others refer to, unchanged. */
function plainSchema(schema: JsonObject): JsonObject {
  if ('$defs' in schema || 'definitions' in schema) return schema;
  const { properties = {}, required } = schema;
  return { type: 'object', properties, ...(required !== undefined && { required }) };
}

function convertChoice(choice: JsonValue | undefined): JsonObject | null {
  if (!isJsonObject(choice)) return null;
  const { type, name } = choice;
  if (type === 'auto' || type === 'any') return { [type]: {} };
  if (type === 'tool') return { tool: { name: shortenToolName(textOf(name)) } };
  return refuseField('tool_choice.type', "Input should be 'auto', 'any', 'tool' or 'none'");
}

/** Clients that send -1 mean "unset"; Converse accepts temperatures up to 1. */
function convertInference(body: JsonObject, { maxTokens, upstreamModel }: Attempt): JsonObject {
  const { temperature, top_p: topP, stop_sequences: stops } = body;
  const claude = isClaude(upstreamModel) ? claudeGeneration(upstreamModel) : null;
  const takesSampling = claude === null || (claude.takesSampling && readThinking(body) !== 'on');
  const isSet = (value: JsonValue | undefined): value is number =>
    takesSampling && typeof value === 'number' && value >= 0;
  const isOne = claude?.takesBothSampling === false && isSet(temperature);
  const stopSequences = Array.isArray(stops) ? stops.filter((stop) => textOf(stop).trim() !== '') : [];
  return {
    maxTokens,
    ...(isSet(temperature) && { temperature: Math.min(temperature, 1) }),
    ...(isSet(topP) && !isOne && { topP }),
    ...(stopSequences.length > 0 && { stopSequences }),
  };
}

/** The parameters that Converse passes to the model as they are. */
function convertOwnFields(body: JsonObject, { thinking, topK, efforts }: Family): JsonObject {
  const fields: JsonObject = {};
  const { top_k } = body;
  if (typeof top_k === 'number' && top_k >= 0) {
    if (topK === 'top_k') fields['top_k'] = top_k;
    if (topK === 'inferenceConfig') fields['inferenceConfig'] = { topK: top_k };
  }
  const isOn = readThinking(body) === 'on';
  const effort = nearestEffort(readEffort(body), efforts) ?? efforts.at(-1) ?? null;
  if (thinking === 'thinking' && isOn) {
    fields['thinking'] = body['thinking'] as JsonValue;
    delete fields['top_k']; // not allowed with thinking
  } else if (thinking === 'reasoningConfig' && isOn)
    fields['reasoningConfig'] = { type: 'enabled', maxReasoningEffort: effort };
  else if (thinking === 'reasoning_effort') fields['reasoning_effort'] = isOn ? effort : (efforts[0] ?? null); // it always thinks: otherwise least
  return fields;
}

function convertOutput(exact: JsonObject, body: JsonObject, model: string): JsonObject {
  const config = objectOf(body['output_config']);
  const format = answerFormat(exact) ?? {};
  const effort = isClaude(model) && claudeGeneration(model).efforts !== 'none' ? config['effort'] : undefined;
  return {
    ...(typeof effort === 'string' && { effort }),
    ...(Object.keys(format).length > 0 && convertFormat(format)),
  };
}

function convertFormat({ type, schema }: JsonObject): JsonObject {
  if (type !== 'json_schema' || !isJsonObject(schema))
    refuseField('output_config.format', "Input should have the type 'json_schema' and a schema");
  if (!isEnforceable(schema, REQUEST_RULES.bedrock)) return {}; // the system prompt has it
  const jsonSchema = { name: FORMAT_NAME, schema: JSON.stringify(limitSchema(schema, REQUEST_RULES.bedrock)) };
  return { textFormat: { type, structure: { jsonSchema } } };
}
