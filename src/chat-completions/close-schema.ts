// A schema that was meant as a hint, made one that can be kept strictly: providers refuse objects that do not say that
// they have no members besides. What keeps to the closed schema keeps to the caller's own.

import type { JsonObject, JsonValue } from '../wire/wire.ts';
import { isExactObject } from './convert-parts.ts';

/** Members of a schema that are schemas, lists of them, and schemas by name. */
const INSIDE = ['items'];
const LISTS = ['anyOf', 'oneOf', 'prefixItems'];
const BY_NAME = ['properties', '$defs', 'definitions'];

/**
 * The schema with `additionalProperties: false` wherever an object with properties says nothing of others. Parts that
 * are joined (`allOf`) stay as they are: closed each for itself, they would take nothing. The schema itself is not changed.
 */
export function closeSchema(schema: JsonObject): JsonObject {
  return 'allOf' in schema ? schema : closed(schema);
}

function closed(schema: JsonObject): JsonObject {
  const made: JsonObject = { ...schema };
  for (const name of INSIDE) if (name in made) made[name] = closedPart(made[name]);
  for (const name of LISTS) if (Array.isArray(made[name])) made[name] = (made[name] as JsonValue[]).map(closedPart);
  for (const name of BY_NAME) if (isExactObject(made[name])) made[name] = closedMembers(made[name]);
  if (hasProperties(made) && made['additionalProperties'] === undefined) made['additionalProperties'] = false;
  return made;
}

/** An object without any is one of any form, and closed it would be empty. */
function hasProperties({ properties }: JsonObject): boolean {
  return isExactObject(properties) && Object.keys(properties).length > 0;
}

function closedPart(part: JsonValue | undefined): JsonValue {
  return isExactObject(part) ? closeSchema(part) : (part ?? null);
}

function closedMembers(members: JsonObject): JsonObject {
  const made: JsonObject = {};
  for (const [name, part] of Object.entries(members))
    Object.defineProperty(made, name, {
      value: closedPart(part),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  return made;
}
