// Places the faults that the admin API reports beside the fields of a form, as sentences that name the field.

import { ApiFailure } from './api.ts';

/**
 * Faults by field, for setErrors of a form. `names` maps paths of the API to fields with another name. Null if the
 * failure does not concern single fields.
 */
export function fieldFaults(
  failure: unknown,
  fields: readonly string[],
  names: Readonly<Record<string, string>> = {},
): Record<string, string> | null {
  if (!(failure instanceof ApiFailure)) return null;
  if (failure.faults.length === 0) return faultInWords(failure.message, fields);
  const found: Record<string, string> = {};
  for (const { path, message } of failure.faults) {
    const whole = path.join('.');
    const field = names[whole] ?? names[String(path[0])] ?? String(path[0] ?? '');
    if (!fields.includes(field)) return null;
    found[field] ??= faultSentence(path, message);
  }
  return found;
}

/** Fields that are chosen rather than typed, in the words of a request to choose one. */
const chosenFields: Readonly<Record<string, string>> = {
  account: 'an account',
  groups: 'at least one group',
  kind: 'a kind',
  models: 'at least one model',
  plan: 'a plan',
  provider: 'a provider',
  role: 'a role',
  types: 'at least one type of event',
};

/** Labels that differ from the words of the member. */
const fieldLabels: Readonly<Record<string, string>> = {
  addresses: 'Allowed IPs',
  api_key: 'API key',
  base_url: 'Address',
  concurrency: 'Concurrent requests',
  expires_at: 'Expiration date',
  input_tpm: 'Input tokens per minute',
  multiplier: 'Price multiplier',
  newPassword: 'New password',
  ends_at: 'End',
  origins: 'Allowed origins',
  output_tpm: 'Output tokens per minute',
  per_day_max: 'Maximum per day',
  residency: 'Data residency',
  rpm: 'Requests per minute',
  tiers: 'Service tiers',
  types: 'Event types',
};

/**
 * A fault of the API as a sentence that names its field: "is required" at "account" becomes "Choose an account.". The
 * API writes the end of a sentence whose subject is the field, or a clause of its own.
 */
export function faultSentence(path: readonly (string | number)[], message: string): string {
  const words = inWordsOfForm(message.trim());
  const at = path.findLastIndex((part) => typeof part === 'string');
  const field = String(path[at] ?? '');
  const label = fieldLabels[field] ?? humanized(field);
  const place = path[at + 1];
  const entry = typeof place === 'number' ? `${label}: entry ${place + 1}` : label;
  if (/^(is required|is missing|must not be empty$)/.test(words)) {
    if (typeof place !== 'number' && chosenFields[field] !== undefined) return `Choose ${chosenFields[field]}.`;
    return ended(`${entry} ${/^must/.test(words) ? 'is required' : words.replace(/^is missing/, 'is required')}`);
  }
  if (words === 'unknown member') return `${entry} is not supported here.`;
  const isPredicate = /^(must|is|are|has|have|cannot|can|does|do|resolves|exceeds|of)\b/.test(words);
  return ended(isPredicate && label !== '' ? `${entry} ${words}` : capitalized(words));
}

/** Members that a message names as in a catalog file become the checkboxes of the form. */
function inWordsOfForm(message: string): string {
  return message.replace(
    /: set "(\w+): true" to allow it$/,
    (_, member) => `. Select “${humanized(member)}” to allow it`,
  );
}

/** "quota_period" → "Quota period". */
function humanized(member: string): string {
  return capitalized(member.replaceAll('_', ' '));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function ended(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** Parses a conflict message that starts with its field: "email: there is …". */
function faultInWords(message: string, fields: readonly string[]): Record<string, string> | null {
  const [, field = '', fault = ''] = /^(\w+): (.+)$/s.exec(message) ?? [];
  return fields.includes(field) ? { [field]: faultSentence([field], fault) } : null;
}

/**
 * Faults of a catalog document by field, for the form of the object at `at`, for example ["models", "gpt"]. Null if a
 * fault belongs to no field.
 */
export function objectFaults(
  failure: unknown,
  at: readonly string[],
  isField: (field: string) => boolean,
): Record<string, string> | null {
  if (!(failure instanceof ApiFailure) || failure.faults.length === 0) return null;
  const found: Record<string, string> = {};
  for (const { path, message } of failure.faults) {
    if (at.some((part, index) => path[index] !== part)) return null;
    const rest = path.slice(at.length).map(String);
    // A fault of a list element belongs to the field of the list; a fault of the object belongs to its name.
    const field = [rest.join('.'), rest.slice(0, -1).join('.'), rest.length === 0 ? 'name' : ''].find(
      (one) => one !== '' && isField(one),
    );
    if (field === undefined) return null;
    found[field] ??= faultSentence(rest.length === 0 ? ['name'] : path, message);
  }
  return found;
}
