// Answers of the media type text/x.enum: one of the schema's texts, without quotes. Providers of other protocols have only
// JSON whose root is an object, so the text is a member of one, and the answer is taken out of it.

import { isExactObject } from '../../protocols/placed.ts';
import { InnerJson, type JsonObject, type JsonValue, wrongField } from '../../wire/wire.ts';

export const ENUM_TYPE = 'text/x.enum';
const MEMBER = 'value';
/** The text in JSON that was cut, as by a limit of tokens. */
const CUT = /^\s*\{\s*"value"\s*:\s*"([^"\\]*)$/;

/** The schema for the provider, from a converted one at `path`. Throws invalid_request. */
export function enumSchema(schema: JsonValue | undefined, path: string): JsonObject {
  const values = isExactObject(schema) ? schema['enum'] : undefined;
  if (!Array.isArray(values) || values.length === 0 || !values.every((value) => typeof value === 'string'))
    throw wrongField(path, `with the media type "${ENUM_TYPE}" it should have an \`enum\` of texts`);
  return {
    type: 'object',
    properties: { [MEMBER]: { type: 'string', enum: values } },
    required: [MEMBER],
    additionalProperties: false,
  };
}

/** The text of an answer. One of a model that did not write the JSON is kept as it is. */
export function readEnum(text: string): string {
  const value = new InnerJson().read(text);
  if (isExactObject(value) && typeof value[MEMBER] === 'string') return value[MEMBER];
  if (typeof value === 'string') return value;
  return CUT.exec(text)?.[1] ?? text;
}
