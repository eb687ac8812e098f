// Reads a request body of Gemini: names in camel case, because Google accepts both, and only members that are known to
// be free of charge or priced. The same members are passed on to a provider of Gemini's own protocol.

import { TurnpikeError } from '../../errors.ts';
import { isExactObject } from '../../protocols/placed.ts';
import { type JsonObject, type JsonValue, wrongField } from '../../wire/wire.ts';

interface Refusal {
  code: 'feature_unavailable' | 'feature_not_priced' | 'invalid_request';
  why: string;
  /** Values that request nothing, as JSON in lower case, besides null, false and an empty list. */
  harmless?: readonly string[];
}

/** The members of an object, or of each object in a list. Any others are left out. */
interface Shape {
  /** With the shape inside; null: the value is kept as it is. */
  kept: Readonly<Record<string, Shape | null>>;
  refused?: Readonly<Record<string, Refusal>>;
  /** Why other members are refused; absent: they are left out. */
  others?: string;
  /**
   * Members that are lists. One object or text in place of a list is a list of one, as for Google: its own samples write
   * `contents` and `parts` so (https://github.com/google-gemini/generative-ai-python/blob/main/samples/rest/system_instruction.sh).
   */
  lists?: readonly string[];
  /** The usual form of a value that has another one. */
  normalize?(value: JsonValue): JsonValue;
}

const CODE: Refusal = { code: 'feature_not_priced', why: 'code execution has no price on this path' };
const SERVER_TOOL: Refusal = { code: 'feature_not_priced', why: 'this tool has no price on this path' };
const STORED_CONTEXT: Refusal = {
  code: 'feature_unavailable',
  why: 'stored contexts are not supported; send the content itself',
};

const BLOB: Shape = { kept: { mimeType: null, data: null, displayName: null } };
const FILE: Shape = { kept: { mimeType: null, fileUri: null, displayName: null } };
const MEDIA = { inlineData: BLOB, fileData: FILE };

const PART: Shape = {
  kept: {
    ...MEDIA,
    text: null,
    thought: null,
    thoughtSignature: null,
    mediaResolution: null,
    functionCall: { kept: { id: null, name: null, args: null } },
    functionResponse: { kept: { id: null, name: null, response: null, parts: { kept: MEDIA } }, lists: ['parts'] },
  },
  refused: {
    codeExecutionResult: CODE,
    executableCode: CODE,
    toolCall: SERVER_TOOL,
    toolResponse: SERVER_TOOL,
    videoMetadata: { code: 'feature_unavailable', why: 'videos are not supported' },
  },
  others: 'Input should be text, inlineData, fileData, functionCall or functionResponse',
  normalize: (value) => (typeof value === 'string' ? { text: value } : value),
};
const CONTENT: Shape = { kept: { role: null, parts: PART }, lists: ['parts'], normalize: asContent };

/** Clients write a text in place of its content, or its part beside the role. */
function asContent(value: JsonValue): JsonValue {
  if (typeof value === 'string') return { parts: [value] };
  if (!isExactObject(value) || value['parts'] !== undefined || value['text'] === undefined) return value;
  const { text, ...rest } = value;
  return { ...rest, parts: [{ text }] };
}

const DECLARATION: Shape = {
  kept: { name: null, description: null, parameters: null, parametersJsonSchema: null },
};
const TOOL: Shape = {
  kept: { functionDeclarations: DECLARATION },
  lists: ['functionDeclarations'],
  refused: {
    codeExecution: CODE,
    computerUse: SERVER_TOOL,
    enterpriseWebSearch: SERVER_TOOL,
    fileSearch: SERVER_TOOL,
    googleMaps: SERVER_TOOL,
    googleSearch: { code: 'feature_not_priced', why: 'web search has no price on this path' },
    googleSearchRetrieval: { code: 'feature_not_priced', why: 'web search has no price on this path' },
    mcpServers: SERVER_TOOL,
    retrieval: SERVER_TOOL,
    urlContext: SERVER_TOOL,
  },
  others: 'Input should be functionDeclarations',
};

const ONLY_TEXT = 'only text output is supported';

const GENERATION: Shape = {
  kept: {
    frequencyPenalty: null,
    maxOutputTokens: null,
    mediaResolution: null,
    presencePenalty: null,
    responseJsonSchema: null,
    responseMimeType: null,
    responseSchema: null,
    seed: null,
    stopSequences: null,
    temperature: null,
    thinkingConfig: { kept: { includeThoughts: null, thinkingBudget: null, thinkingLevel: null } },
    topK: null,
    topP: null,
  },
  lists: ['stopSequences'],
  refused: {
    candidateCount: {
      code: 'invalid_request',
      why: 'a request returns one candidate; send the request several times for more',
      harmless: ['0', '1'],
    },
    imageConfig: { code: 'feature_not_priced', why: ONLY_TEXT },
    logprobs: { code: 'invalid_request', why: 'log probabilities are not available', harmless: ['0'] },
    responseLogprobs: { code: 'invalid_request', why: 'log probabilities are not available' },
    responseModalities: { code: 'feature_not_priced', why: ONLY_TEXT, harmless: ['["text"]', '"text"'] },
    speechConfig: { code: 'feature_not_priced', why: ONLY_TEXT },
  },
};

const CALLING: Shape = { kept: { allowedFunctionNames: null, mode: null }, lists: ['allowedFunctionNames'] };

const REQUEST: Shape = {
  kept: {
    contents: CONTENT,
    generationConfig: GENERATION,
    safetySettings: null,
    serviceTier: null,
    systemInstruction: CONTENT,
    toolConfig: { kept: { functionCallingConfig: CALLING } },
    tools: TOOL,
  },
  lists: ['contents', 'safetySettings', 'tools'],
  refused: {
    cachedContent: STORED_CONTEXT,
    store: { code: 'feature_unavailable', why: 'answers are not stored here' },
  },
};

/** Names of refused members, as docs/gemini.md lists them. */
export const REFUSED_NAMES: readonly string[] = [REQUEST, TOOL, PART, GENERATION].flatMap(({ refused = {} }) =>
  Object.keys(refused),
);

/** Names of members that are read: of the request, its tools and parts, and what it asks of the answer. */
export const KEPT_NAMES: readonly string[] = [REQUEST, TOOL, PART, GENERATION].flatMap(({ kept }) => Object.keys(kept));

export interface ReadBody {
  body: JsonObject;
  /** No member was left out or changed: a provider of the same protocol can get the client's text. */
  isWhole: boolean;
}

/** Throws invalid_request, feature_unavailable and feature_not_priced; the message begins with the field's path. */
export function readBody(given: JsonObject): ReadBody {
  const reader = new BodyReader();
  const body = reader.read(given, REQUEST, '') as JsonObject;
  return { body, isWhole: reader.isWhole };
}

const NAME_CHARACTERS_MAX = 64; // in a path

class BodyReader {
  isWhole = true;

  /** The parser bounds the depth. A value of another type is judged by its converter. */
  read(value: JsonValue, shape: Shape, path: string): JsonValue {
    if (Array.isArray(value)) return value.map((one, place) => this.read(one, shape, `${path}.${place}`));
    const normal = shape.normalize?.(value) ?? value;
    if (normal !== value) this.isWhole = false;
    if (!isExactObject(normal)) return normal;
    const members: JsonObject = {};
    for (const [given, inside] of Object.entries(normal)) {
      const shown = given.slice(0, NAME_CHARACTERS_MAX);
      if (inside !== null) this.#take(members, given, inside, shape, path === '' ? shown : `${path}.${shown}`);
    }
    return members;
  }

  #take(members: JsonObject, given: string, inside: JsonValue, shape: Shape, path: string): void {
    const name = camelCase(given);
    const { kept, refused = {}, others, lists = [] } = shape;
    if (Object.hasOwn(refused, name)) refuse(refused[name] as Refusal, inside, path);
    else if (!Object.hasOwn(kept, name)) {
      if (others !== undefined) throw wrongField(path, others);
      this.isWhole = false;
    } else {
      if (Object.hasOwn(members, name)) throw wrongField(path, `\`${name}\` is given twice`);
      const within = kept[name] as Shape | null;
      const value = lists.includes(name) ? this.#asList(inside) : inside;
      members[name] = within === null ? value : this.read(value, within, path);
    }
  }

  #asList(value: JsonValue): JsonValue {
    if (Array.isArray(value) || !isOne(value)) return value;
    this.isWhole = false;
    return [value];
  }
}

/** Whether it may stand in place of a list of one. */
function isOne(value: JsonValue | undefined): value is JsonObject | string {
  return typeof value === 'string' || isExactObject(value);
}

const OLDER_NAME = /^_(?=response_?json_?schema$)/i;

/** "max_output_tokens" is "maxOutputTokens". Other names have one spelling each, which what is weighed relies on. */
function camelCase(name: string): string {
  if (!name.includes('_')) return name;
  return name.replace(OLDER_NAME, '').replace(/(?<=.)_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** An empty object requests a feature with its defaults. */
function refuse({ code, why, harmless = [] }: Refusal, value: JsonValue, path: string): void {
  if (value === false || (Array.isArray(value) && value.length === 0)) return;
  if (harmless.includes(JSON.stringify(value).toLowerCase())) return;
  throw new TurnpikeError(code, `${path}: ${why}`);
}
