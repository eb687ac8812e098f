// What differs between two states of an object, with every credential masked.

import { isDeepStrictEqual } from 'node:util';

export type JsonMembers = Record<string, unknown>;

const SECRET_NAME = /secret|sealed|api_key|password|credential|^token$|^key$/i;
const MASK = '[secret]';
const OTHER_MASK = '[another secret]';

/**
 * The members in which two states differ, as they were and as they are. A credential that changed
 * shows that it did, never what it was or is.
 */
export function describeChange(
  before: JsonMembers | null,
  after: JsonMembers | null,
): { before: JsonMembers | null; after: JsonMembers | null } {
  if (before === null || after === null) return { before: masked(before, MASK), after: masked(after, MASK) };
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => !isDeepStrictEqual(before[name], after[name]),
  );
  const pick = (from: JsonMembers) =>
    Object.fromEntries(names.filter((name) => name in from).map((name) => [name, from[name]]));
  return { before: masked(pick(before), MASK), after: masked(pick(after), OTHER_MASK, before) };
}

/** A copy in which every credential, however deep, is a mask. */
export function withoutSecrets(members: JsonMembers): JsonMembers {
  return masked(members, MASK) as JsonMembers;
}

/** What stood `before` in the same place, and is the same, has the mask of what did not change. */
function masked(members: JsonMembers | null, mask: string, before: unknown = null): JsonMembers | null {
  if (members === null) return null;
  const stood = new Map(Object.entries(before ?? {}));
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, maskValue(name, value, mask, stood.get(name))]),
  );
}

function maskValue(name: string, value: unknown, mask: string, before: unknown): unknown {
  if (typeof value === 'string' && SECRET_NAME.test(name)) return value === before ? MASK : mask;
  if (Array.isArray(value)) return value.map((member) => maskValue('', member, mask, null));
  if (typeof value === 'object' && value !== null) return masked(value as JsonMembers, mask, before);
  return value;
}
