// Fields of a request that the translation to a message does not have. Some servers take them; the gateway decides which.

import { EXTRA_MEMBER, isJsonObject, type JsonObject } from '../wire/wire.ts';

/** The request with what is inside its `extra_body`, where clients that cannot add fields write them. Its own take precedence. */
export function withInner(body: JsonObject): JsonObject {
  const { [EXTRA_MEMBER]: inside, ...own } = body;
  return isJsonObject(inside) ? { ...inside, ...own } : own;
}

/** A member of the message with all fields but `translated` ones; null requests nothing. */
export function extraMember(body: JsonObject, translated: ReadonlySet<string>): JsonObject {
  const extra = Object.entries(withInner(body)).filter(([name, value]) => value !== null && !translated.has(name));
  return extra.length === 0 ? {} : { [EXTRA_MEMBER]: Object.fromEntries(extra) };
}
