// What a record of the audit says has changed, member by member, as texts to be read. Pure.

import type { AuditShape } from '../src/admin-api/shapes.ts';

export interface Difference {
  name: string;
  /** Null: there was, or is, no such member. */
  before: string | null;
  after: string | null;
}

/** How the audit shows a credential: never its value, only whether it is another. */
export const SECRET = '[secret]';
export const OTHER_SECRET = '[another secret]';

/** Those that differ; all where there was nothing before, or is nothing after. */
export function differencesOf({ before, after }: Pick<AuditShape, 'before' | 'after'>): Difference[] {
  const [was, is] = [flatten(before ?? {}), flatten(after ?? {})];
  const names = [...new Set([...was.keys(), ...is.keys()])];
  return names
    .map((name) => ({ name, before: was.get(name) ?? null, after: is.get(name) ?? null }))
    .filter((difference) => difference.before !== difference.after);
}

/** Members of members by their path, "price.input"; lists as they are. */
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

/** What the object is called, where the record says it. */
export function nameIn({ before, after }: Pick<AuditShape, 'before' | 'after'>): string | null {
  for (const members of [after, before])
    for (const name of ['name', 'email'])
      if (typeof members?.[name] === 'string' && members[name] !== '') return members[name];
  return null;
}

/** Where the console shows the object of a record; null where it has no page. */
export function pageOf(object: string): { to: string; search?: Record<string, string> } | null {
  if (/^key_[0-9A-Za-z]+$/.test(object)) return { to: `/keys/${object}` };
  if (/^acct_[0-9A-Za-z]+$/.test(object)) return { to: `/accounts/${object}` };
  if (/^req_[0-9A-Za-z]+$/.test(object)) return { to: `/usage/${object}` };
  if (/^person_[0-9A-Za-z]+$/.test(object)) return { to: '/people', search: { person: object } };
  if (/^tok_[0-9A-Za-z]+$/.test(object)) return { to: '/tokens' };
  const [kind] = object.split(' ', 1);
  const pages: Readonly<Record<string, string>> = { model: '/models', group: '/groups', provider: '/providers' };
  const to = object.includes(' ') ? pages[kind ?? ''] : undefined;
  return to === undefined ? null : { to };
}

/** A day of a filter, "2026-11-22", as a moment: its beginning where whoever looks is, or the beginning of the next. */
export function momentOfDay(day: string | undefined, isEnd: boolean): string | null {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day ?? '') ?? [];
  if (year === undefined) return null;
  const moment = new Date(Number(year), Number(month) - 1, Number(date) + (isEnd ? 1 : 0));
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString();
}
