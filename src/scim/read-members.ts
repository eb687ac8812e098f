// Members of a client's JSON, whose names SCIM compares without case (RFC 7643, section 2.1), with bounds on texts.

import { bounds } from '../config/config.ts';
import { scimFault } from './faults.ts';

export type JsonMembers = Record<string, unknown>;

export function isObject(value: unknown): value is JsonMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of the member with this name, in any case; undefined without one. */
export function memberOf(json: JsonMembers, name: string): unknown {
  if (Object.hasOwn(json, name)) return json[name];
  const lower = name.toLowerCase();
  for (const [key, value] of Object.entries(json)) if (key.toLowerCase() === lower) return value;
  return undefined;
}

/** A text or null. Throws invalidValue. */
export function optionalText(value: unknown, name: string, charactersMax: number = bounds.scimTextCharactersMax) {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw scimFault('invalidValue', `${name}: must be a string`);
  if (value.length > charactersMax)
    throw scimFault('invalidValue', `${name}: must have at most ${charactersMax} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are refused
  if (!value.isWellFormed() || /[\u0000-\u001f\u007f-\u009f]/.test(value))
    throw scimFault('invalidValue', `${name}: must not contain control characters`);
  return value;
}

/** Throws invalidValue for an empty text, too. */
export function requiredText(value: unknown, name: string): string {
  const text = optionalText(value, name)?.trim() ?? '';
  if (text === '') throw scimFault('invalidValue', `${name}: is required`);
  return text;
}

/** Entra ID writes "True" and "False" (https://learn.microsoft.com/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility). */
export function optionalFlag(value: unknown, name: string): boolean | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (text !== 'true' && text !== 'false') throw scimFault('invalidValue', `${name}: must be true or false`);
  return text === 'true';
}

/** The values of a multi-valued attribute; one alone is a list of it. Throws invalidValue. */
export function listOf(value: unknown, name: string, max: number): unknown[] {
  if (value === undefined || value === null) return [];
  const list = Array.isArray(value) ? value : [value];
  if (list.length > max) throw scimFault('invalidValue', `${name}: must have at most ${max} values`);
  return list;
}
