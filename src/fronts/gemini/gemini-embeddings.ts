// Gemini's embedContent and batchEmbedContents: embeddings whose requests and answers have Google's form.

import { isWholeNumber } from '../../base/checked-number.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  requireText,
  wrongField,
} from '../../wire/wire.ts';
import type { Front, Operation } from '../front.ts';
import { UNTRANSLATED } from '../other-use.ts';
import { geminiErrorBody } from './convert-error.ts';
import { KEY_HEADER, METHOD, MODELS, plainModel } from './model-paths.ts';

const METHODS = ['embedContent', 'batchEmbedContents'];
const REQUESTS_MAX = 100; // Google's limit

export const geminiEmbeddings: Front = {
  protocol: 'embeddings',
  hasOpenAiHeaders: false,
  keyHeader: KEY_HEADER,
  owns: (path) => findOperation(path) !== null,
  findOperation,
  weigh: () => {},
  translate: (body, { operation }) => ({
    message: convertRequest(body, 'model' in operation ? (operation.model ?? '') : ''),
    native: null,
    answer: UNTRANSLATED,
  }),
  errorBody: geminiErrorBody,
};

function findOperation(path: string): Operation | null {
  const [, name = ''] = MODELS.exec(path) ?? [];
  const [, model = '', method = ''] = METHOD.exec(name) ?? [];
  return METHODS.includes(method) ? { asks: 'message', model: plainModel(model), stream: false } : null;
}

/** A list of requests is answered by a list. Throws invalid_request. */
function convertRequest(body: JsonObject, model: string): JsonObject {
  const list = body['requests'];
  const requests = list === undefined ? [readRequest(body, '')] : readRequests(list);
  const [first] = requests;
  const odd = requests.findIndex((one) => one.dimensions !== first?.dimensions || one.taskType !== first?.taskType);
  if (odd >= 0)
    throw wrongField(`requests.${odd}`, 'outputDimensionality and taskType should be those of the first request');
  return {
    model,
    max_tokens: 0,
    messages: [{ role: 'user', content: requests.map(({ text }) => ({ type: 'text', text })) }],
    embeddings: {
      dimensions: first?.dimensions ?? null,
      task_type: first?.taskType ?? null,
      encoding_format: 'float',
      form: list === undefined ? 'one' : 'list',
    },
  };
}

interface EmbedRequest {
  text: string;
  dimensions: number | null;
  taskType: string | null;
}

function readRequests(list: JsonValue): EmbedRequest[] {
  if (!Array.isArray(list) || list.length === 0 || list.length > REQUESTS_MAX)
    throw wrongField('requests', `Input should be a list of 1 to ${REQUESTS_MAX} requests`);
  return list.map((one, place) => {
    if (!isJsonObject(one)) throw wrongField(`requests.${place}`, 'Input should be an object');
    return readRequest(one, `requests.${place}.`);
  });
}

/** Names are in camel case, or with underscores as Google accepts them, too. The texts of parts are one. */
function readRequest(request: JsonObject, prefix: string): EmbedRequest {
  const { content } = request;
  const parts = isJsonObject(content) ? content['parts'] : undefined;
  const listed = isJsonObject(parts) ? [parts] : jsonObjects(parts);
  if (listed.length === 0) throw wrongField(`${prefix}content`, 'Field required, with parts that have a text');
  const text = listed
    .map((part, place) => requireText(part['text'] ?? null, `${prefix}content.parts.${place}.text`))
    .join('\n');
  if (text === '') throw wrongField(`${prefix}content`, 'Text should have at least 1 character');
  const dimensions = request['outputDimensionality'] ?? request['output_dimensionality'] ?? null;
  if (dimensions !== null && !(isWholeNumber(dimensions) && dimensions > 0))
    throw wrongField(`${prefix}outputDimensionality`, 'Input should be a positive integer');
  const taskType = request['taskType'] ?? request['task_type'] ?? null;
  return { text, dimensions, taskType: taskType === null ? null : requireText(taskType, `${prefix}taskType`) };
}
