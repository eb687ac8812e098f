// Translates a generateContent request to a Messages request. Gateway and provider validate the rest.

import { isWholeNumber } from '../../base/checked-number.ts';
import { ANY_JSON, schemaFormat } from '../../protocols/answer-format.ts';
import { GEMINI_CONFIG } from '../../protocols/gemini.ts';
import { type Placed, requireObject } from '../../protocols/placed.ts';
import { googleTierMember } from '../../protocols/service-tiers.ts';
import { GEMINI_CHOICES, typeOfChoice } from '../../protocols/tool-choice.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  requireList,
  requireText,
  requireToolName,
  wrongField,
} from '../../wire/wire.ts';
import type { Origins } from '../origins.ts';
import { checkRanges, type Ranges } from '../request-fields.ts';
import { convertContents, convertSystem } from './convert-contents.ts';
import { convertSchema } from './convert-schema.ts';
import { ENUM_TYPE, enumSchema } from './enum-answer.ts';

/** The facts that the response needs. Small, because a stream may last much longer than its request is kept. */
export interface GeminiTerms {
  /** The client asked to see thoughts. */
  includesThoughts: boolean;
  /** The answer is one of the schema's texts, which the provider writes in JSON. */
  isEnum: boolean;
  origins: Origins;
}

/** `body` is canonical. Throws invalid_request (the message begins with the field's path) and feature_unavailable. */
export function convertRequest(
  body: JsonObject,
  { model, stream }: { model: string; stream: boolean },
): { message: JsonObject; terms: GeminiTerms } {
  const config = body['generationConfig'] === undefined ? {} : requireObject(body['generationConfig'], CONFIG);
  checkRanges(config, RANGES, `${CONFIG}.`);
  const conversation = convertContents(body['contents']);
  const tools = convertTools(body);
  const thinking = convertThinking(config);
  const format = convertFormat(config);
  const system = convertSystem(body['systemInstruction']);
  if (format.instruction !== null)
    system.push({ block: { type: 'text', text: format.instruction }, path: `${CONFIG}.responseMimeType` });
  const output = { ...thinking.effort, ...format.member };
  const message: JsonObject = {
    model,
    ...sampling(config),
    ...googleTierMember(body['serviceTier']),
    ...(system.length > 0 && { system: system.map(({ block }) => block) }),
    messages: conversation.messages,
    ...tools.members,
    ...(Object.keys(output).length > 0 && { output_config: output }),
    ...thinking.member,
    ...(stream && { stream: true }),
  };
  return {
    message,
    terms: {
      includesThoughts: thinking.isIncluded,
      isEnum: format.isEnum,
      origins: {
        messages: conversation.origins,
        system: system.map(({ path }) => path),
        tools: tools.origins,
        fields: fieldsOf(format.field),
      },
    },
  };
}

const CONFIG = 'generationConfig';
const CHOICE = 'toolConfig.functionCallingConfig';

/** https://ai.google.dev/api/generate-content#generationconfig (29 November 2026). */
const RANGES: Ranges = {
  temperature: [0, 2],
  topP: [0, 1],
  frequencyPenalty: [-2, 2],
  presencePenalty: [-2, 2],
};

/** Zero is the same as none. */
const OPTIONAL = ['maxOutputTokens', 'topK', 'frequencyPenalty', 'presencePenalty'];

function sampling(config: JsonObject): JsonObject {
  const kept = Object.entries(GEMINI_CONFIG).flatMap(([own, name]): [string, JsonValue][] => {
    const value = config[own];
    if (value === undefined || (value === 0 && OPTIONAL.includes(own))) return [];
    if (own === 'stopSequences') {
      const stops = requireList(value, `${CONFIG}.${own}`).filter((stop) => stop !== '');
      return stops.length === 0 ? [] : [[name, stops]];
    }
    return [[name, value]];
  });
  return Object.fromEntries(kept);
}

/** Names of Messages in sentences. */
const WORDS: readonly [string, string][] = [
  ['budget_tokens', `${CONFIG}.thinkingConfig.thinkingBudget`],
  ['input_schema', 'parameters'],
  ['thinking.budget_tokens', `${CONFIG}.thinkingConfig.thinkingBudget`],
  ['tool_result', 'functionResponse'],
  ['tool_use', 'functionCall'],
  ['tool_use_id', 'id'],
];

function fieldsOf(formatField: string): Map<string, string> {
  return new Map([
    ...WORDS,
    ['output_config.format', formatField],
    ...Object.entries(GEMINI_CONFIG).map(([own, name]): [string, string] => [name, `${CONFIG}.${own}`]),
    ['messages', 'contents'],
    ['output_config', formatField],
    ['output_config.effort', `${CONFIG}.thinkingConfig`],
    ['thinking', `${CONFIG}.thinkingConfig`],
    ['tool_choice', CHOICE],
    ['speed', 'serviceTier'],
    ['service_tier', 'serviceTier'],
  ]);
}

interface Thinking {
  isIncluded: boolean;
  /** `thinking` of the Messages request, if requested. */
  member: JsonObject;
  effort: JsonObject;
}

const EFFORTS: Readonly<Record<string, string>> = { MINIMAL: 'low', LOW: 'low', MEDIUM: 'medium', HIGH: 'high' };
const DYNAMIC = -1;
const BUDGET_LEAST = 1_024;

/** Without a budget or a level, a request to include thoughts asks for thinking; else the model's default applies. */
function convertThinking({ thinkingConfig, maxOutputTokens }: JsonObject): Thinking {
  const path = `${CONFIG}.thinkingConfig`;
  const given = thinkingConfig === undefined ? {} : requireObject(thinkingConfig, path);
  const { includeThoughts, thinkingBudget: budget, thinkingLevel: level } = given;
  const isIncluded = includeThoughts === true;
  const named = typeof level === 'string' ? level.toUpperCase() : null;
  if (named !== null && named !== 'THINKING_LEVEL_UNSPECIFIED') {
    if (!Object.hasOwn(EFFORTS, named))
      throw wrongField(`${path}.thinkingLevel`, `Input should be '${Object.keys(EFFORTS).join("', '")}'`);
    return { isIncluded, member: ADAPTIVE, effort: { effort: EFFORTS[named] as string } };
  }
  if (budget === 0) return { isIncluded, member: { thinking: { type: 'disabled' } }, effort: {} };
  if (budget === undefined ? isIncluded : budget === DYNAMIC) return { isIncluded, member: ADAPTIVE, effort: {} };
  if (budget !== undefined && !isWholeNumber(budget))
    throw wrongField(`${path}.thinkingBudget`, 'Input should be a valid integer');
  return { isIncluded, member: budget === undefined ? {} : budgetMember(budget, maxOutputTokens), effort: {} };
}

/** Messages have room for an answer beyond the budget, and a least budget; a limit too low for both means no thinking. */
function budgetMember(budget: number, limit: JsonValue | undefined): JsonObject {
  const most = isWholeNumber(limit) && limit > 0 && limit <= budget ? Math.floor(limit / 2) : budget;
  if (most < budget && most < BUDGET_LEAST) return {};
  return { thinking: { type: 'enabled', budget_tokens: Math.max(most, BUDGET_LEAST) } };
}

const ADAPTIVE: JsonObject = { thinking: { type: 'adaptive' } };

interface Format {
  /** `format` of `output_config`, if any. */
  member: JsonObject;
  /** The system instruction; null: none. */
  instruction: string | null;
  isEnum: boolean;
  field: string;
}

const MEDIA_TYPES = ['', 'text/plain', 'application/json', ENUM_TYPE];

function convertFormat(config: JsonObject): Format {
  const name = config['responseJsonSchema'] === undefined ? 'responseSchema' : 'responseJsonSchema';
  const field = `${CONFIG}.${name}`;
  const type = config['responseMimeType'] ?? '';
  if (!MEDIA_TYPES.includes(type as string))
    throw wrongField(
      `${CONFIG}.responseMimeType`,
      `Input should be 'text/plain', 'application/json' or '${ENUM_TYPE}'`,
    );
  const isEnum = type === ENUM_TYPE;
  if (config[name] !== undefined || isEnum) {
    const given = convertSchema(requireObject(config[name], field));
    const schema = isEnum ? enumSchema(given, field) : given;
    return { member: { format: schemaFormat({ schema }, field) }, instruction: null, isEnum, field };
  }
  return { member: {}, instruction: type === 'application/json' ? ANY_JSON : null, isEnum, field };
}

interface ConvertedTools {
  /** `tools` and `tool_choice` of the Messages request, if any. */
  members: JsonObject;
  origins: string[];
}

function convertTools(body: JsonObject): ConvertedTools {
  const declared = requireList(body['tools'] ?? [], 'tools').flatMap((tool, index) => {
    const path = `tools.${index}.functionDeclarations`;
    const given = requireObject(tool, `tools.${index}`)['functionDeclarations'] ?? [];
    return requireList(given, path).map((one, place) => convertDeclaration(one, `${path}.${place}`));
  });
  const { choice, allowed } = readChoice(body['toolConfig']);
  if (declared.length === 0) return { members: {}, origins: [] };
  const kept = declared.filter(({ block }) => allowed === null || allowed.has(block['name'] as string));
  if (kept.length === 0) throw wrongField(`${CHOICE}.allowedFunctionNames`, 'none of them is declared in `tools`');
  return {
    members: { tools: kept.map(({ block }) => block), ...(choice !== null && { tool_choice: choice }) },
    origins: kept.map(({ path }) => path),
  };
}

function convertDeclaration(value: JsonValue, path: string): Placed {
  const { name, description, parameters, parametersJsonSchema } = requireObject(value, path);
  const own = parametersJsonSchema === undefined ? 'parameters' : 'parametersJsonSchema';
  const schema = convertSchema(requireObject(parametersJsonSchema ?? parameters ?? {}, `${path}.${own}`));
  const isTyped = isJsonObject(schema) && schema['type'] !== undefined;
  const block = {
    name: requireToolName(name, `${path}.name`),
    ...(typeof description === 'string' && { description }),
    input_schema: isTyped ? schema : { type: 'object', ...(schema as JsonObject) },
  };
  return { block, path };
}

interface Choice {
  choice: JsonObject | null;
  /** Names that may be called; null: all. */
  allowed: ReadonlySet<string> | null;
}

function readChoice(toolConfig: JsonValue | undefined): Choice {
  const config = toolConfig === undefined ? {} : requireObject(toolConfig, 'toolConfig');
  const calling = config['functionCallingConfig'];
  if (calling === undefined) return { choice: null, allowed: null };
  const { mode, allowedFunctionNames } = requireObject(calling, CHOICE);
  const names = requireList(allowedFunctionNames ?? [], `${CHOICE}.allowedFunctionNames`).map((name, place) =>
    requireText(name, `${CHOICE}.allowedFunctionNames.${place}`),
  );
  const allowed = names.length === 0 ? null : new Set(names);
  const word = typeof mode === 'string' ? mode.toUpperCase() : mode;
  if (word === undefined || word === 'MODE_UNSPECIFIED') return { choice: null, allowed };
  const type = typeOfChoice(word, GEMINI_CHOICES);
  if (type === null) throw wrongField(`${CHOICE}.mode`, "Input should be 'AUTO', 'ANY', 'NONE' or 'VALIDATED'");
  if (type === 'any' && names.length === 1) return { choice: { type: 'tool', name: names[0] as string }, allowed };
  return { choice: { type }, allowed: type === 'none' ? null : allowed };
}
