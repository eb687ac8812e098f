// Structured output: any JSON object, or a schema. Read from clients, and written for providers.

import { type JsonObject, type JsonValue, requireText, wrongField } from '../wire/wire.ts';
import { isExactObject, requireObject } from './placed.ts';

interface Format {
  /** For `output_config`; null: any format. */
  format: JsonObject | null;
  /** The system instruction; null: none. */
  instruction: string | null;
}

const ANY = { format: null, instruction: null };
/** Nothing enforces it. */
export const ANY_JSON = 'Answer with one JSON object, and write nothing before or after it.';

/** The format at `path`. `holder` is the member that has the schema; null: the format itself. Throws invalid_request. */
export function readFormat(value: JsonValue, path: string, holder: string | null): Format {
  if (value === null) return ANY;
  const format = requireObject(value, path);
  switch (requireText(format['type'], `${path}.type`)) {
    case 'text':
      return ANY;
    case 'json_object':
      return { format: null, instruction: ANY_JSON };
    case 'json_schema': {
      const at = holder === null ? path : `${path}.${holder}`;
      const described = holder === null ? format : requireObject(format[holder], at);
      return { format: schemaFormat(described, at), instruction: null };
    }
    default:
      throw wrongField(`${path}.type`, "Input should be 'text', 'json_object' or 'json_schema'");
  }
}

/** The name of every schema, which providers require. */
export const FORMAT_NAME = 'output';

/** A format with a schema, as `readFormat` reads it. */
export function writeFormat(schema: JsonValue, strict: boolean, holder: string | null): JsonObject {
  const described = { name: FORMAT_NAME, schema, strict };
  return { type: 'json_schema', ...(holder === null ? described : { [holder]: described }) };
}

/** `output_config.format` from an object with `schema` and `strict`. Throws invalid_request. */
export function schemaFormat(described: JsonObject, path: string): JsonObject {
  const schema = requireObject(described['schema'], `${path}.schema`);
  return { type: 'json_schema', schema: described['strict'] === true ? schema : closeSchema(schema) };
}

/** Schema members that are lists of schemas, or schemas by name. */
const LISTS = ['anyOf', 'oneOf', 'prefixItems'];
const BY_NAME = ['properties', '$defs', 'definitions'];

/**
 * The schema with `additionalProperties: false` in each object with properties that does not say otherwise. Parts of
 * `allOf` stay open: closed separately, they would match nothing. Does not change its argument.
 */
function closeSchema(schema: JsonValue): JsonValue {
  if (!isExactObject(schema) || 'allOf' in schema) return schema;
  const made: JsonObject = { ...schema };
  if (made['items'] !== undefined) made['items'] = closeSchema(made['items']);
  for (const name of LISTS) if (Array.isArray(made[name])) made[name] = (made[name] as JsonValue[]).map(closeSchema);
  for (const name of BY_NAME) {
    const members = made[name];
    if (isExactObject(members))
      made[name] = Object.fromEntries(Object.entries(members).map(([key, part]) => [key, closeSchema(part)]));
  }
  const { properties } = made;
  // An object without properties may have any members; closed, it would be empty.
  const hasProperties = isExactObject(properties) && Object.keys(properties).length > 0;
  if (hasProperties && made['additionalProperties'] === undefined) made['additionalProperties'] = false;
  return made;
}
