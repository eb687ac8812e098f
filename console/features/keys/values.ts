// Converts between the settings of a key in the admin API and the values of its form. Pure.

import type { KeyShape } from '../../../src/admin-api/shapes.ts';
import { tagsOf, tagTexts } from '../../tags.ts';

type ExpiryChoice = 'never' | '12h' | '7d' | '30d' | '90d' | '365d' | 'at';
type Period = KeyShape['quota_period'];

/** The field values; empty: no limit. */
export interface KeyValues {
  account: string;
  /** The id of the person, or 'service'; empty: as the API decides. */
  person: string;
  name: string;
  quota: string;
  quota_period: Period;
  expires: ExpiryChoice;
  /** For 'at': ISO 8601. */
  expires_at: string;
  models: string[];
  groups: string[];
  rpm: number | string;
  input_tpm: number | string;
  output_tpm: number | string;
  concurrency: number | string;
  origins: string[];
  addresses: string[];
  /** Such as "cost_centre=4711". */
  tags: string[];
}

export const emptyValues: KeyValues = {
  account: '',
  person: '',
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
  tags: [],
};

/** The fields that are collapsed at first. */
export const collapsedFields = [
  'groups',
  'rpm',
  'input_tpm',
  'output_tpm',
  'concurrency',
  'origins',
  'addresses',
  'tags',
] as const satisfies (keyof KeyValues)[];

const HOUR_MS = 3_600_000;
const expiresAfterMs: Readonly<Record<Exclude<ExpiryChoice, 'never' | 'at'>, number>> = {
  '12h': 12 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
  '90d': 90 * 24 * HOUR_MS,
  '365d': 365 * 24 * HOUR_MS,
};

/** The API shows a key without groups with all groups of its account. */
export function valuesOf(key: KeyShape, accountGroups: readonly string[]): KeyValues {
  const hasAll = key.groups.length === accountGroups.length && key.groups.every((name) => accountGroups.includes(name));
  return {
    account: key.account,
    person: key.person ?? 'service',
    name: key.name,
    quota: key.quota ?? '',
    quota_period: key.quota_period,
    expires: key.expires_at === null ? 'never' : 'at',
    expires_at: key.expires_at ?? '',
    models: key.models ?? [],
    groups: hasAll ? [] : key.groups,
    rpm: key.rpm ?? '',
    input_tpm: key.input_tpm ?? '',
    output_tpm: key.output_tpm ?? '',
    concurrency: key.concurrency ?? '',
    origins: key.origins ?? [],
    addresses: key.addresses ?? [],
    tags: tagTexts(key.tags),
  };
}

/** The body of POST /keys, with only the fields that were filled in. */
export function createBody(values: KeyValues, nowMs: number): Record<string, unknown> {
  const terms = settingsOf(values, nowMs);
  const filled = Object.entries(terms).filter(([name, value]) =>
    name === 'tags'
      ? values.tags.length > 0
      : (value !== null && value !== '') || (name === 'person' && values.person === 'service'),
  );
  return Object.fromEntries(values.quota.trim() === '' ? filled.filter(([name]) => name !== 'quota_period') : filled);
}

/** The body of PATCH /keys/{id}, with only the changed fields. */
export function changeBody(before: KeyValues, after: KeyValues, nowMs: number): Record<string, unknown> {
  const isSame = (name: string) => {
    const fields = name === 'expires_at' ? (['expires', 'expires_at'] as const) : [name as keyof KeyValues];
    return fields.every((field) => JSON.stringify(before[field]) === JSON.stringify(after[field]));
  };
  return Object.fromEntries(Object.entries(settingsOf(after, nowMs)).filter(([name]) => !isSame(name)));
}

/** Null: no limit. The API reports invalid numbers. */
function settingsOf(values: KeyValues, nowMs: number): Record<string, unknown> {
  const list = (members: string[]) => (members.length === 0 ? null : members);
  const limit = (value: number | string) => (value === '' ? null : value);
  return {
    account: values.account,
    person: values.person === 'service' ? null : values.person,
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
    tags: tagsOf(values.tags),
  };
}

function expiryOf({ expires, expires_at }: KeyValues, nowMs: number): string | null {
  if (expires === 'never') return null;
  return expires === 'at' ? expires_at : new Date(nowMs + expiresAfterMs[expires]).toISOString();
}

/** Sandbox models simulate responses and errors. */
export function isSandbox(name: string): boolean {
  return name.startsWith('sandbox-');
}

/** A sandbox model that answers with an error. */
export function isSandboxError(name: string): boolean {
  return name.startsWith('sandbox-error-');
}

/** The model to preselect: a real one that is not failing, or the sandbox model that always answers. */
export function defaultModel(names: readonly string[], failing: ReadonlySet<string> = NONE): string {
  const well = names.filter((name) => !failing.has(name));
  const real = well.find((name) => !isSandbox(name));
  return real ?? (well.includes('sandbox-echo') ? 'sandbox-echo' : (well[0] ?? names[0] ?? ''));
}

const NONE: ReadonlySet<string> = new Set();
