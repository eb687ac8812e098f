// Gemini: translates requests of Google's generateContent to Messages and answers back, by docs/gemini.md.

import { isWholeNumber } from '../../base/checked-number.ts';
import {
  type JsonObject,
  jsonObjects,
  type NativeBody,
  NO_THOUGHT_SIGNATURE,
  objectOf,
  rewriteRequest,
  scanJson,
  textOf,
} from '../../wire/wire.ts';
import type { AnswerTranslator, Asked, Front, Operation } from '../front.ts';
import { isCarried, weighThinking } from './carried-thinking.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { geminiErrorBody } from './convert-error.ts';
import { convertMessage } from './convert-message.ts';
import { convertRequest, type GeminiTerms } from './convert-request.ts';
import { asksForImages, imagesForm, translateImages } from './gemini-images.ts';
import { KEY_HEADER, METHOD, MODELS, plainModel } from './model-paths.ts';
import { readBody } from './read-body.ts';

export { geminiEmbeddings } from './gemini-embeddings.ts';
export { geminiImages } from './gemini-images.ts';

const ROOT = '/v1beta/';
const OPERATIONS: Readonly<Record<string, (model: string) => Operation>> = {
  generateContent: (model) => ({ asks: 'message', model, stream: false }),
  streamGenerateContent: (model) => ({ asks: 'message', model, stream: true }),
  countTokens: (model) => ({ asks: 'count', model }),
};
const NOT_OFFERED = [
  'asyncBatchEmbedContent',
  'batchEmbedText',
  'batchGenerateContent',
  'bidiGenerateContent',
  'embedText',
  'generateAnswer',
  'generateMessage',
  'generateText',
  'predictLongRunning',
];
const KIND = 'gemini';

export const gemini: Front = {
  protocol: 'gemini',
  hasOpenAiHeaders: false,
  keyHeader: KEY_HEADER,
  owns: (path, { headers }) => path.startsWith(ROOT) || isMethod(path) || (isOfModels(path) && headers.has(KEY_HEADER)),
  findOperation,
  weigh: (body, weight) => weighThinking(requestOf(body)['contents'], weight),
  translate,
  imagesForm,
  errorBody: geminiErrorBody,
  countBody: ({ input_tokens: totalTokens = 0 }) => JSON.stringify({ totalTokens }),
  modelsBody: ({ data }) => JSON.stringify({ models: jsonObjects(data).map(describeModel) }),
  modelBody: (model) => JSON.stringify(describeModel(model)),
};

function isOfModels(path: string): boolean {
  return MODELS.test(path);
}

/** Only these paths say by themselves whose they are: a model may have a colon in its name. */
function isMethod(path: string): boolean {
  const operation = findOperation(path);
  return operation?.asks === 'message' || operation?.asks === 'count';
}

function findOperation(path: string): Operation | null {
  const [whole, name] = MODELS.exec(path) ?? [];
  if (whole === undefined) return null;
  if (name === undefined) return { asks: 'models' };
  const [, model = '', method = ''] = METHOD.exec(name) ?? [];
  if (NOT_OFFERED.includes(method)) return null;
  if (Object.hasOwn(OPERATIONS, method)) return OPERATIONS[method]?.(plainModel(model)) ?? null;
  return { asks: 'model', id: plainModel(name) };
}

/** The request inside a request for its token count. */
function requestOf(body: JsonObject): JsonObject {
  return objectOf(body['generateContentRequest'] ?? body['generate_content_request'] ?? body);
}

function translate(body: JsonObject, asked: Asked): ReturnType<Front['translate']> {
  const { operation, query } = asked;
  const model = 'model' in operation ? operation.model : '';
  const given = requestOf(body);
  if (operation.asks === 'message' && asksForImages(given)) return translateImages(given, asked);
  const read = readBody(given);
  const { message, terms } = convertRequest(read.body, { model, stream: 'stream' in operation && operation.stream });
  const isList = new URLSearchParams(query).get('alt') !== 'sse';
  return {
    message,
    native: nativeBody(read.body, read.isWhole && given === body ? asked : null),
    answer: answerOf(terms, isList),
  };
}

/** The client's own text, if there is nothing in it that Google must not get. */
function nativeBody(body: JsonObject, own: Pick<Asked, 'text' | 'members'> | null): NativeBody {
  const contents = jsonObjects(body['contents']);
  const isForeign = contents.some(({ parts }) =>
    jsonObjects(parts).some((part) => isCarried(part['thoughtSignature'])),
  );
  const { serviceTier, ...others } = body; // the provider's own word for it is added when the message is sent
  if (own !== null && !isForeign && serviceTier === undefined)
    return { kind: KIND, text: own.text, members: own.members };
  const text =
    own !== null && !isForeign
      ? rewriteRequest(own, { serviceTier: undefined, service_tier: undefined })
      : JSON.stringify({ ...others, contents: isForeign ? contents.flatMap(withoutCarried) : contents });
  return { kind: KIND, text, members: scanJson(text) };
}

/** Thinking of other providers is no signature for Google. Parts that only carried it, and contents of such, are left out. */
function withoutCarried(content: JsonObject): JsonObject[] {
  const parts = jsonObjects(content['parts']).flatMap((part): JsonObject[] => {
    const { thoughtSignature, ...rest } = part;
    if (!isCarried(thoughtSignature)) return [part];
    if (part['functionCall'] !== undefined) return [{ ...rest, thoughtSignature: NO_THOUGHT_SIGNATURE }];
    return rest['text'] === '' ? [] : [rest];
  });
  return parts.length === 0 ? [] : [{ ...content, parts }];
}

function describeModel(model: JsonObject): JsonObject {
  const { id, display_name: displayName, max_input_tokens: inputs, max_tokens: outputs } = model;
  const name = textOf(id);
  return {
    name: `models/${name}`,
    baseModelId: name,
    version: '1',
    displayName: textOf(displayName) || name,
    description: '',
    ...(isWholeNumber(inputs) && { inputTokenLimit: inputs }),
    ...(isWholeNumber(outputs) && { outputTokenLimit: outputs }),
    supportedGenerationMethods: Object.keys(OPERATIONS),
  };
}

const LIST_HEADERS = { 'content-type': 'application/json' };
const EVENT_HEADERS = {};

function answerOf(terms: GeminiTerms, isList: boolean): AnswerTranslator {
  return {
    streamHeaders: isList ? LIST_HEADERS : EVENT_HEADERS,
    origins: terms.origins,
    message: (message) => convertMessage(message, terms),
    writer: () => new ChunkWriter(terms, isList),
  };
}
