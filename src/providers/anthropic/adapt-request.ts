// Requests of other protocols within the rules of Claude: parameters that its models refuse and other services accept are
// left out or translated.

import { asReminder } from '../../protocols/placed.ts';
import type { JsonObject, JsonValue, MessageRequest } from '../../wire/wire.ts';
import { EXTRA_MEMBER, exactBody, isJsonObject, isThinking, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import { replacedToolNames, shortenToolName } from '../client-tools.ts';
import { refuseField } from '../lost-fields.ts';
import { claudeGeneration, type Generation } from '../models.ts';
import {
  NONE_REPLACED,
  type ReplacedProperties,
  renameKeys,
  renameProperties,
  replacedProperties,
} from '../property-names.ts';
import type { Attempt } from '../provider.ts';
import { REQUEST_RULES, type RequestRules } from '../request-rules.ts';
import {
  completeSchema,
  isEnforceable,
  limitSchema,
  makeNodeBudget,
  type NodeBudget,
  refuseNames,
  schemaInWords,
} from '../tool-schemas.ts';

/** Members of a body with their new values; undefined: left out. */
export type Changes = Record<string, JsonValue | undefined>;

const RULES: RequestRules = REQUEST_RULES.anthropic;
/** Parameters that only providers of the other protocol accept. */
const UNKNOWN: Changes = {
  frequency_penalty: undefined,
  presence_penalty: undefined,
  seed: undefined,
  [EXTRA_MEMBER]: undefined,
};
const BUDGETS: ReadonlyMap<string, number> = new Map([
  ['low', 1_024],
  ['medium', 4_096],
  ['high', 16_384],
]);
const BUDGET_LEAST = 1_024;
const BUDGET_MOST = 32_768; // of any higher effort

/** The changes of the members of a request, whose `messages` may be changed already. Throws ProviderFault (rejected). */
export function adaptRequest(attempt: Attempt, messages: JsonValue | undefined): Changes {
  const { request, upstreamModel } = attempt;
  const generation = claudeGeneration(upstreamModel);
  const exact = exactBody(request); // schemas and tool inputs are written as they were read
  refuseImages(request.body['messages']);
  const sent = jsonObjects(messages ?? request.body['messages']);
  const isForced = FORCING.includes(objectOf(request.body['tool_choice'])['type']);
  const thinking = adaptThinking(attempt, generation, sent, isForced && generation.takesForcedCall);
  const isThinking = isOn('thinking' in thinking ? thinking['thinking'] : request.body['thinking']);
  const told: string[] = [];
  const properties = replacedProperties(request.body);
  return {
    ...UNKNOWN,
    ...thinking,
    ...adaptSampling(request, generation, isThinking),
    ...adaptStops(request.body['stop_sequences']),
    ...adaptOutput(exact, generation, told),
    ...adaptTools(exact, properties),
    ...(isForced && adaptChoice(exact, generation, told)),
    ...tell(exact['system'], told),
    ...adaptMessages(jsonObjects(messages ?? exact['messages']), properties),
  };
}

/** The system prompt with sentences in place of what the model does not take. */
function tell(system: JsonValue | undefined, told: readonly string[]): Changes {
  if (told.length === 0) return {};
  const blocks = typeof system === 'string' && system !== '' ? [{ type: 'text', text: system }] : jsonObjects(system);
  return { system: [...blocks, ...told.map((text) => ({ type: 'text', text }))] };
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
  const budget_tokens = Math.min(BUDGETS.get(effort) ?? BUDGET_MOST, Math.floor(maxTokens / 2));
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

/** Sampling is not allowed with thinking. A temperature above 1 becomes 1; 1 is the default of both. */
function adaptSampling(
  { body: { temperature, top_p } }: MessageRequest,
  { takesSampling, takesBothSampling }: Generation,
  isThinking: boolean,
): Changes {
  if (isThinking || !takesSampling) return { temperature: undefined, top_p: undefined, top_k: undefined };
  const hottest = typeof temperature === 'number' && temperature >= 1;
  const hasTopP = typeof top_p === 'number' && top_p !== 1;
  const isOne = takesBothSampling || !hasTopP || typeof temperature !== 'number';
  return {
    ...(hottest && { temperature: hasTopP && !isOne ? undefined : 1 }),
    ...((top_p === 1 || (!isOne && !hottest)) && { top_p: undefined }),
  };
}

/** "each stop sequence must contain non-whitespace". */
function adaptStops(stops: JsonValue | undefined): Changes {
  if (!Array.isArray(stops)) return {};
  const kept = stops.filter((stop) => textOf(stop).trim() !== '');
  return kept.length === stops.length ? {} : { stop_sequences: kept.length > 0 ? kept : undefined };
}

/** `told` gets the schema of an answer that is not enforced. */
function adaptOutput(
  { output_config: config, thinking }: JsonObject,
  { efforts, off }: Generation,
  told: string[],
): Changes {
  const adapted: JsonObject = { ...objectOf(config) };
  const { effort, format } = adapted;
  // A model that always thinks is asked to think as little as possible.
  if (off === null && isJsonObject(thinking) && !isOn(thinking)) adapted['effort'] = 'low';
  else if (efforts === 'none') delete adapted['effort'];
  else if (effort === 'xhigh' && efforts === 'no xhigh') adapted['effort'] = 'high';
  if (isJsonObject(format) && isJsonObject(format['schema'])) {
    const { schema } = format;
    if (isEnforceable(schema, RULES)) adapted['format'] = { ...format, schema: limitSchema(schema, RULES) };
    else {
      delete adapted['format'];
      told.push(schemaInWords(schema));
    }
  }
  if (Object.keys(adapted).length === 0) return { output_config: undefined };
  return { output_config: adapted };
}

function adaptTools({ tools }: JsonObject, properties: ReplacedProperties): Changes {
  if (!Array.isArray(tools)) return {};
  const nodes = makeNodeBudget();
  let strictCount = 0;
  const adapted = jsonObjects(tools).map((tool, index) => {
    const isStrict = isEnforced(tool) && ++strictCount <= RULES.strictToolsMax;
    const made = adaptTool(tool, isStrict, nodes, properties);
    refuseNames(objectOf(made['input_schema']), RULES, `tools.${index}.input_schema`);
    return made;
  });
  return adapted.every((tool, place) => tool === tools[place]) ? {} : { tools: adapted };
}

function isEnforced({ strict, input_schema: schema }: JsonObject): boolean {
  return strict === true && isJsonObject(schema) && isEnforceable(schema, RULES);
}

function adaptTool(tool: JsonObject, isStrict: boolean, nodes: NodeBudget, properties: ReplacedProperties): JsonObject {
  const { strict, ...rest } = tool;
  const { name, input_schema: schema } = tool;
  if (!isJsonObject(schema)) return tool;
  const sent = shortenToolName(textOf(name), RULES);
  const names = properties.get(textOf(name))?.sent;
  const whole = completeSchema(schema, RULES, nodes);
  const completed = names === undefined ? whole : renameProperties(whole, names);
  if (isStrict) return { ...tool, name: sent, input_schema: limitSchema(completed, RULES) };
  if (strict === undefined && sent === name && completed === schema) return tool;
  return { ...rest, name: sent, input_schema: completed };
}

/** Names that differ at the provider. */
export interface ReplacedNames {
  /** Tool name at the provider → tool name of the client. */
  tools: ReadonlyMap<string, string>;
  properties: ReplacedProperties;
}

const SAME_NAMES: ReplacedNames = { tools: new Map(), properties: NONE_REPLACED };

export function replacedNames({ request: { body, protocol } }: Attempt): ReplacedNames {
  if (protocol === 'messages') return SAME_NAMES;
  return { tools: replacedToolNames(body, RULES), properties: replacedProperties(body) };
}

/** A model that refuses forced calls reads which tool to call: `told` gets the sentence. */
function adaptChoice({ tool_choice }: JsonObject, { takesForcedCall }: Generation, told: string[]): Changes {
  const { type, name: given, ...rest } = objectOf(tool_choice);
  const name = typeof given === 'string' ? shortenToolName(given, RULES) : null;
  if (takesForcedCall) return { tool_choice: { type: textOf(type), ...(name !== null && { name }), ...rest } };
  const words = name === null ? 'at least one of the tools' : `the tool ${JSON.stringify(name)}`;
  told.push(`This answer must call ${words}.`);
  return { tool_choice: { type: 'auto', ...rest } };
}

/** In place of a message without content, which is refused. */
const NO_CONTENT: JsonObject = { type: 'text', text: '(no content)' };

/** `messages`, if any of them changes. */
function adaptMessages(messages: readonly JsonObject[], properties: ReplacedProperties): Changes {
  const last = messages.length - 1;
  const adapted = messages.map((message, index) => adaptMessage(message, index === last, properties));
  return adapted.every((message, index) => message === messages[index]) ? {} : { messages: adapted };
}

function adaptMessage(message: JsonObject, isLast: boolean, properties: ReplacedProperties): JsonObject {
  const { role } = message;
  if (!Array.isArray(message['content'])) return message;
  const content = jsonObjects(message['content']);
  if (content.length === 0) return { ...message, content: [NO_CONTENT] };
  // Few models accept system messages in the middle: they become user text in the same place.
  if (role === 'system') return { role: 'user', content: content.map(remind) };
  const adapted = content.map((block) => renameCall(block, properties));
  const [end] = adapted.slice(-1);
  // "final assistant content cannot end with trailing whitespace"
  if (isLast && role === 'assistant' && end?.['type'] === 'text') {
    const text = textOf(end['text']).trimEnd();
    if (text !== end['text']) adapted[adapted.length - 1] = { ...end, text };
  }
  return adapted.every((block, place) => block === content[place]) ? message : { ...message, content: adapted };
}

function remind(block: JsonObject): JsonObject {
  return { ...block, text: asReminder(String(block['text'])) };
}

function renameCall(block: JsonObject, properties: ReplacedProperties): JsonObject {
  if (block['type'] !== 'tool_use') return block;
  const name = shortenToolName(textOf(block['name']), RULES);
  const names = properties.get(textOf(block['name']))?.sent;
  if (names !== undefined) return { ...block, name, input: renameKeys(objectOf(block['input']), names) };
  return name === block['name'] ? block : { ...block, name };
}

/** Throws ProviderFault (rejected) for an image that another provider may accept. */
function refuseImages(messages: JsonValue | undefined): void {
  for (const [index, { content }] of jsonObjects(messages).entries())
    refuseImagesIn(content, `messages.${index}.content`);
}

function refuseImagesIn(content: JsonValue | undefined, path: string): void {
  for (const [place, { type, source, content: inner }] of jsonObjects(content).entries()) {
    if (type === 'tool_result') refuseImagesIn(inner, `${path}.${place}.content`);
    const { type: given, media_type: mediaType } = objectOf(source);
    if (type === 'image' && given === 'base64' && !RULES.images.includes(textOf(mediaType)))
      refuseField(
        `${path}.${place}.source.media_type`,
        `the provider of this model accepts only ${RULES.images.join(', ')}`,
      );
  }
}
