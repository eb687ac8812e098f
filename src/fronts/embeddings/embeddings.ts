// Embeddings in OpenAI's format. The inputs are one message without output, and the answer is not translated.

import { isWholeNumber } from '../../base/checked-number.ts';
import { type JsonObject, type JsonValue, requireText, wrongField } from '../../wire/wire.ts';
import { frontOfUse } from '../other-use.ts';

/** As at OpenAI. The provider would charge for the embeddings of more inputs, but its answer could be too long to be read. */
const INPUTS_MAX = 2_048;
const FORMATS = ['float', 'base64'];
/** The fields that are read, and first parts of the path of an error. */
export const FIELDS: ReadonlySet<string> = new Set(['body', 'dimensions', 'encoding_format', 'input', 'model', 'user']);

export const embeddings = frontOfUse({
  protocol: 'embeddings',
  paths: ['/v1/embeddings'],
  fields: FIELDS,
  convert: (body) => ({ message: convertRequest(body) }),
});

function convertRequest(body: JsonObject): JsonObject {
  const { model = null, dimensions = null, encoding_format = null, user = null } = body;
  if (dimensions !== null && !(isWholeNumber(dimensions) && dimensions > 0))
    throw wrongField('dimensions', 'Input should be a positive integer');
  const format = requireFormat(encoding_format);
  return {
    ...(model !== null && { model }),
    max_tokens: 0,
    messages: [{ role: 'user', content: readInputs(body['input']) }],
    embeddings: { dimensions, encoding_format: format },
    ...(user !== null && { metadata: { user_id: requireText(user, 'user') } }),
  };
}

function requireFormat(given: JsonValue): string {
  const format = FORMATS.find((one) => one === (given ?? 'float'));
  if (format === undefined) throw wrongField('encoding_format', "Input should be 'float' or 'base64'");
  return format;
}

/** A block for each input. Throws invalid_request. */
function readInputs(input: JsonValue | undefined): JsonObject[] {
  if (input === undefined) throw wrongField('input', 'Field required');
  if (!Array.isArray(input)) return [textBlock(input, 'input')];
  if (input.length === 0) throw wrongField('input', 'List should have at least 1 item');
  if (isTokens(input)) return [{ type: 'tokens', tokens: input }];
  if (input.length > INPUTS_MAX) throw wrongField('input', `List should have at most ${INPUTS_MAX} items`);
  return input.map((one, place) =>
    isTokens(one) ? { type: 'tokens', tokens: one } : textBlock(one, `input.${place}`),
  );
}

function isTokens(input: JsonValue): input is number[] {
  return Array.isArray(input) && input.length > 0 && input.every(isWholeNumber);
}

function textBlock(input: JsonValue, path: string): JsonObject {
  const text = requireText(input, path);
  if (text === '') throw wrongField(path, 'String should have at least 1 character');
  return { type: 'text', text };
}
