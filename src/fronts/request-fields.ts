// Fields of requests that several fronts read alike: those that are refused, ranges of sampling parameters, the end user, and fields
// that the translation does not have.

import { createHash } from 'node:crypto';
import { isExactObject } from '../protocols/placed.ts';
import { EXTRA_MEMBER, isJsonObject, type JsonObject, type JsonValue, requireText, wrongField } from '../wire/wire.ts';

export interface RefusedField {
  why: string;
  /** Values that request nothing, as JSON, in addition to null, false, zero and empty values. */
  harmless?: readonly string[];
}

/** Throws invalid_request for the first field that requests something unavailable. */
export function refuseFields(body: JsonObject, refused: Readonly<Record<string, RefusedField>>): void {
  for (const [name, { why, harmless = [] }] of Object.entries(refused)) {
    const value = body[name];
    if (requests(value) && !harmless.includes(JSON.stringify(value))) throw wrongField(name, why);
  }
}

/** An empty object requests the defaults. */
export function requests(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return false;
  return Array.isArray(value) ? value.length > 0 : true;
}

/** Ranges of sampling parameters, by protocol, so that a request is refused before it is sent and in its own words. */
export type Ranges = Readonly<Record<string, readonly [least: number, most: number]>>;

/** https://www.openresponses.org/reference, and https://platform.openai.com/docs/api-reference/chat/create (29 November 2026). */
export const OPENAI_RANGES: Ranges = {
  temperature: [0, 2],
  top_p: [0, 1],
  frequency_penalty: [-2, 2],
  presence_penalty: [-2, 2],
};

/** Throws invalid_request for the first member of `holder` that is no number, or outside of its range. */
export function checkRanges(holder: JsonObject, ranges: Ranges, parent = ''): void {
  for (const [name, [least, most]] of Object.entries(ranges)) {
    const value = holder[name] ?? null;
    const isLong = isJsonObject(value) && !isExactObject(value); // a number with many digits, which the provider judges
    if (value === null || isLong) continue;
    if (typeof value !== 'number') throw wrongField(parent + name, 'Input should be a valid number');
    if (value < least) throw wrongField(parent + name, `Input should be greater than or equal to ${least}`);
    if (value > most) throw wrongField(parent + name, `Input should be less than or equal to ${most}`);
  }
}

/** The fields with these names that the body has, but for penalties of zero, which are the default. */
export function givenFields(body: JsonObject, names: readonly string[]): JsonObject {
  const given = names.map((name): [string, JsonValue] => [name, body[name] ?? null]);
  return Object.fromEntries(
    given.filter(([name, value]) => value !== null && !(value === 0 && name.endsWith('_penalty'))),
  );
}

const USER_CHARACTERS_MAX = 256; // the lowest limit of all providers
/** Fields that identify the conversation or the end user, most specific first. */
const USER_FIELDS = ['prompt_cache_key', 'safety_identifier', 'user'];

/** The end user or conversation, which keeps a conversation on its route: `metadata`. Throws invalid_request. */
export function userMember(body: JsonObject, fields: Map<string, string>): JsonObject {
  const name = USER_FIELDS.find((one) => (body[one] ?? null) !== null && body[one] !== '');
  if (name === undefined) return {};
  fields.set('metadata', name);
  const user = requireText(body[name], name);
  const isLong = user.length > USER_CHARACTERS_MAX;
  return { metadata: { user_id: isLong ? createHash('sha256').update(user).digest('hex') : user } };
}

/** The request with what is inside its `extra_body`, where clients that cannot add fields write them. Its own take precedence. */
export function withInner(body: JsonObject): JsonObject {
  const { [EXTRA_MEMBER]: inside, ...own } = body;
  return isJsonObject(inside) ? { ...inside, ...own } : own;
}

/**
 * A member of the message with all fields but `translated` ones; null requests nothing. Some servers take them; the gateway
 * decides which.
 */
export function extraMember(body: JsonObject, translated: ReadonlySet<string>): JsonObject {
  const extra = Object.entries(withInner(body)).filter(([name, value]) => value !== null && !translated.has(name));
  return extra.length === 0 ? {} : { [EXTRA_MEMBER]: Object.fromEntries(extra) };
}
