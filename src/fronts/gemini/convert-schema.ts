// Converts a schema of Gemini, or a JSON Schema with Gemini's names of types, to a JSON Schema.

import { parseWholeNumber } from '../../base/checked-number.ts';
import { isExactObject } from '../../protocols/placed.ts';
import { type JsonObject, type JsonValue, textOf } from '../../wire/wire.ts';

const TYPES = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT', 'NULL'];
/** Members that are schemas, lists of schemas, or schemas by name; the older name of each, if there is one. */
const SCHEMAS = ['items', 'additionalProperties', 'not'];
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const BY_NAME = ['properties', '$defs', 'definitions'];
const RENAMED: Readonly<Record<string, string>> = {
  additional_properties: 'additionalProperties',
  any_of: 'anyOf',
  defs: '$defs',
  max_items: 'maxItems',
  max_length: 'maxLength',
  max_properties: 'maxProperties',
  min_items: 'minItems',
  min_length: 'minLength',
  min_properties: 'minProperties',
  prefix_items: 'prefixItems',
  ref: '$ref',
};
/** 64-bit integers, which Google's JSON has as texts. */
const COUNTS = ['maxItems', 'minItems', 'maxLength', 'minLength', 'maxProperties', 'minProperties'];
const DROPPED = ['propertyOrdering', 'property_ordering', 'nullable', 'example'];
/** Formats that say no more than the type. */
const OF_TYPE = ['enum', 'float', 'double', 'int32', 'int64'];

/** Does not change its argument. The request parser bounds the depth. */
export function convertSchema(schema: JsonValue): JsonValue {
  if (!isExactObject(schema)) return schema;
  const entries = Object.entries(schema).flatMap(([given, value]): [string, JsonValue][] => {
    const name = Object.hasOwn(RENAMED, given) ? (RENAMED[given] as string) : given;
    if (value === null || DROPPED.includes(name)) return [];
    if (name === 'format' && OF_TYPE.includes(textOf(value))) return [];
    return [[name, convertMember(name, value)]];
  });
  // By entries, because a property may have any name.
  const converted = Object.fromEntries(entries);
  return schema['nullable'] === true ? nullable(converted) : converted;
}

function convertMember(name: string, value: JsonValue): JsonValue {
  if (name === 'type') return Array.isArray(value) ? value.map(typeName) : typeName(value);
  if (SCHEMAS.includes(name)) return convertSchema(value);
  if (LISTS.includes(name) && Array.isArray(value)) return value.map(convertSchema);
  if (BY_NAME.includes(name) && isExactObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, convertSchema(part)]));
  if (COUNTS.includes(name) && typeof value === 'string') return parseWholeNumber(value) ?? value;
  return value;
}

function typeName(type: JsonValue): JsonValue {
  return typeof type === 'string' && TYPES.includes(type) ? type.toLowerCase() : type;
}

function nullable(schema: JsonObject): JsonObject {
  const { type, anyOf, enum: values } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] };
  return {
    ...schema,
    ...(typeof type === 'string' && { type: [type, 'null'] }),
    ...(Array.isArray(values) && !values.includes(null) && { enum: [...values, null] }),
  };
}
