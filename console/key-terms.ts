// A key's terms between its form and the admin API: what the form shows of a key, and what is sent of the form. Pure.

import type { KeyShape } from '../src/admin-api/shapes.ts';

export type ExpiryChoice = 'never' | '12h' | '7d' | '30d' | '90d' | '365d' | 'at';
type Period = KeyShape['quota_period'];

/** Every text and number as it stands in its field; empty: no limit. */
export interface KeyValues {
  account: string;
  name: string;
  quota: string;
  quota_period: Period;
  expires: ExpiryChoice;
  /** Where that is 'at': as the field for a date and a time has it, in the time of whoever looks. */
  expires_at: string;
  models: string[];
  groups: string[];
  rpm: number | string;
  input_tpm: number | string;
  output_tpm: number | string;
  concurrency: number | string;
  origins: string[];
  addresses: string[];
}

export const blankValues: KeyValues = {
  account: '',
  name: '',
  quota: '',
  quota_period: 'total',
  expires: 'never',
  expires_at: '',
  models: [],
  groups: [],
  rpm: '',
  input_tpm: '',
  output_tpm: '',
  concurrency: '',
  origins: [],
  addresses: [],
};

/** Of the form's fields, which are folded away at first. */
export const foldedFields = [
  'groups',
  'rpm',
  'input_tpm',
  'output_tpm',
  'concurrency',
  'origins',
  'addresses',
] as const satisfies (keyof KeyValues)[];

const HOUR_MS = 3_600_000;
const expiresAfterMs: Readonly<Record<Exclude<ExpiryChoice, 'never' | 'at'>, number>> = {
  '12h': 12 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
  '90d': 90 * 24 * HOUR_MS,
  '365d': 365 * 24 * HOUR_MS,
};

/** A key that names no groups of its own has all of its account's, and the API shows both alike. */
export function valuesOf(key: KeyShape, accountGroups: readonly string[]): KeyValues {
  const hasAll = key.groups.length === accountGroups.length && key.groups.every((name) => accountGroups.includes(name));
  return {
    account: key.account,
    name: key.name,
    quota: key.quota ?? '',
    quota_period: key.quota_period,
    expires: key.expires_at === null ? 'never' : 'at',
    expires_at: key.expires_at === null ? '' : localText(new Date(key.expires_at)),
    models: key.models ?? [],
    groups: hasAll ? [] : key.groups,
    rpm: key.rpm ?? '',
    input_tpm: key.input_tpm ?? '',
    output_tpm: key.output_tpm ?? '',
    concurrency: key.concurrency ?? '',
    origins: key.origins ?? [],
    addresses: key.addresses ?? [],
  };
}

/** What POST /keys is sent: only what was filled in. An account's own people need not name it. */
export function bodyOfNew(values: KeyValues, nowMs: number): Record<string, unknown> {
  const terms = termsOf(values, nowMs);
  const filled = Object.entries(terms).filter(([, value]) => value !== null && value !== '');
  return Object.fromEntries(values.quota.trim() === '' ? filled.filter(([name]) => name !== 'quota_period') : filled);
}

/** What PATCH /keys/{id} is sent: only what is another than before. */
export function bodyOfChange(before: KeyValues, after: KeyValues, nowMs: number): Record<string, unknown> {
  const isSame = (name: string) => {
    const fields = name === 'expires_at' ? (['expires', 'expires_at'] as const) : [name as keyof KeyValues];
    return fields.every((field) => JSON.stringify(before[field]) === JSON.stringify(after[field]));
  };
  return Object.fromEntries(Object.entries(termsOf(after, nowMs)).filter(([name]) => !isSame(name)));
}

/** Null: no limit. What is no number goes as it is, so that the API says what is wrong with it. */
function termsOf(values: KeyValues, nowMs: number): Record<string, unknown> {
  const list = (members: string[]) => (members.length === 0 ? null : members);
  const limit = (value: number | string) => (value === '' ? null : value);
  return {
    account: values.account,
    name: values.name.trim(),
    quota: values.quota.trim() === '' ? null : values.quota.trim(),
    quota_period: values.quota_period,
    expires_at: expiryOf(values, nowMs),
    models: list(values.models),
    groups: list(values.groups),
    rpm: limit(values.rpm),
    input_tpm: limit(values.input_tpm),
    output_tpm: limit(values.output_tpm),
    concurrency: limit(values.concurrency),
    origins: list(values.origins),
    addresses: list(values.addresses),
  };
}

function expiryOf({ expires, expires_at }: KeyValues, nowMs: number): string | null {
  if (expires === 'never') return null;
  if (expires !== 'at') return new Date(nowMs + expiresAfterMs[expires]).toISOString();
  const at = new Date(expires_at); // without an offset: in the time of whoever looks
  return Number.isNaN(at.getTime()) ? expires_at : at.toISOString();
}

/** "2026-11-18T12:00", as the field for a date and a time takes it. */
export function localText(at: Date): string {
  const two = (figure: number) => String(figure).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** What to try first: of the sandbox, whose models mostly misbehave, the one that answers. */
export function firstToTry(names: readonly string[]): string {
  const [first = ''] = names;
  return first.startsWith('sandbox-') && names.includes('sandbox-echo') ? 'sandbox-echo' : first;
}

/** Whether a model's name is one that a pattern stands for: `*` is any run of characters, nothing else is special. */
export function fitsPattern(name: string, pattern: string): boolean {
  const parts = pattern.split('*');
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (parts.length === 1) return name === pattern;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let from = first.length;
  const until = name.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const at = name.indexOf(part, from);
    if (at < 0 || at + part.length > until) return false;
    from = at + part.length;
  }
  return true;
}
