// Refuses, by name, fields of a front's requests that have no equivalent in a message.

import { type JsonObject, type JsonValue, wrongField } from '../wire/wire.ts';

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
