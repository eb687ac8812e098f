// Whether a JSON Schema may be given to the provider as strict: it refuses one in which an object has optional or
// additional members, and words that it cannot hold a model to. Any other goes as a plain schema, which the model
// follows as well as it can. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';

const UNKNOWN_WORDS = [
  'allOf',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'if',
  'not',
  'oneOf',
  'patternProperties',
  'then',
];
const TELLING_WORDS = ['$ref', 'anyOf', 'const', 'enum', 'type'];

/** Its depth is bounded by the parser of requests. */
export function isStrictSchema(schema: JsonObject): boolean {
  return schema['type'] === 'object' && isStrict(schema);
}

function isStrict(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema) || UNKNOWN_WORDS.some((word) => word in schema)) return false;
  const { items, anyOf, $defs, definitions } = schema;
  return (
    TELLING_WORDS.some((word) => word in schema) &&
    hasStrictMembers(schema) &&
    (items === undefined || isStrict(items)) &&
    (anyOf === undefined || (Array.isArray(anyOf) && anyOf.every(isStrict))) &&
    [$defs, definitions].every((schemas) => !isJsonObject(schemas) || Object.values(schemas).every(isStrict))
  );
}

function hasStrictMembers({ type, properties, required, additionalProperties }: JsonObject): boolean {
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
  if (!isObject) return true;
  if (additionalProperties !== false || !isJsonObject(properties)) return false;
  const names = Array.isArray(required) ? required : [];
  return Object.entries(properties).every(([name, member]) => names.includes(name) && isStrict(member));
}
