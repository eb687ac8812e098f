// The end user or conversation of a request: keeps a conversation on its route.

import { createHash } from 'node:crypto';
import { type JsonObject, requireText } from '../wire/wire.ts';

const USER_CHARACTERS_MAX = 256; // the lowest limit of all providers

/** `metadata` from the first of `names` that the body has. Throws invalid_request. */
export function userMember(body: JsonObject, names: readonly string[], fields: Map<string, string>): JsonObject {
  const name = names.find((one) => (body[one] ?? null) !== null && body[one] !== '');
  if (name === undefined) return {};
  fields.set('metadata', name);
  const user = requireText(body[name], name);
  const isLong = user.length > USER_CHARACTERS_MAX;
  return { metadata: { user_id: isLong ? createHash('sha256').update(user).digest('hex') : user } };
}
