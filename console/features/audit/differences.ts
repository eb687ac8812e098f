// The fields that an audit record changed, as text. Pure.

import type { AuditShape } from '../../../src/admin-api/shapes.ts';
import { pathOf } from '../../parts/link.tsx';

export interface Difference {
  name: string;
  /** Null if the field did not exist. */
  before: string | null;
  after: string | null;
}

/** The audit log replaces credentials with these markers. */
export const SECRET = '[secret]';
export const OTHER_SECRET = '[another secret]';

/** The changed fields; all fields of a created or deleted object. */
export function differencesOf({ before, after }: Pick<AuditShape, 'before' | 'after'>): Difference[] {
  const [was, is] = [flatten(before ?? {}), flatten(after ?? {})];
  const names = [...new Set([...was.keys(), ...is.keys()])];
  return names
    .map((name) => ({ name, before: was.get(name) ?? null, after: is.get(name) ?? null }))
    .filter((difference) => difference.before !== difference.after);
}

/** Flattens nested fields to paths such as "price.input"; keeps lists. */
function flatten(members: Record<string, unknown>, path = ''): Map<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(members)) {
    const whole = path === '' ? name : `${path}.${name}`;
    if (isMembers(value)) for (const [inner, text] of flatten(value, whole)) found.set(inner, text);
    else found.set(whole, textOf(value));
  }
  return found;
}

function isMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((member) => typeof member === 'string')) return value.join(', ');
  return JSON.stringify(value);
}

/** The name of the object, if the record contains it. */
export function nameOfObject({ before, after }: Pick<AuditShape, 'before' | 'after'>): string | null {
  for (const members of [after, before])
    for (const name of ['name', 'email'])
      if (typeof members?.[name] === 'string' && members[name] !== '') return members[name];
  return null;
}

/** The page of the object of a record; null if it has none. */
export function pageOf(object: string): { to: string; search?: Record<string, string> } | null {
  if (/^key_[0-9A-Za-z]+$/.test(object)) return { to: pathOf.key(object) };
  if (/^acct_[0-9A-Za-z]+$/.test(object)) return { to: pathOf.account(object) };
  if (/^dest_[0-9A-Za-z]+$/.test(object)) return { to: pathOf.destination(object) };
  if (/^dlv_[0-9A-Za-z]+$/.test(object)) return { to: pathOf.delivery(object) };
  if (/^req_[0-9A-Za-z]+$/.test(object)) return { to: pathOf.request(object) };
  if (/^person_[0-9A-Za-z]+$/.test(object)) return { to: '/people', search: { person: object } };
  if (/^tok_[0-9A-Za-z]+$/.test(object)) return { to: '/tokens' };
  const [kind] = object.split(' ', 1);
  const pages: Readonly<Record<string, string>> = { model: '/models', group: '/groups', provider: '/providers' };
  const to = object.includes(' ') ? pages[kind ?? ''] : undefined;
  return to === undefined ? null : { to };
}
