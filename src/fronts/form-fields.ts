// Fields of forms, which are texts.

import { createHash } from 'node:crypto';
import { parseWholeNumber } from '../base/checked-number.ts';
import type { JsonObject, JsonValue, MeasuredForm } from '../wire/wire.ts';

/** The name of a field without the brackets of a list. */
export function plainName(name: string): string {
  return name.replace(/\[\d*\]$/, '');
}

/** null: neither true nor false. */
export function readFlag(value: string): boolean | null {
  if (/^(?:true|1)$/i.test(value)) return true;
  return /^(?:false|0|)$/i.test(value) ? false : null;
}

/** The fields as JSON has them, without empty ones; values that are not of their kind stay texts. Of a repeated field, the last one counts. */
export function fieldsAsJson(
  { fields }: Pick<MeasuredForm, 'fields'>,
  kinds: { numbers: readonly string[]; flags: readonly string[] },
): JsonObject {
  const read = (name: string, value: string): JsonValue => {
    if (kinds.numbers.includes(name)) return parseWholeNumber(value) ?? value;
    return kinds.flags.includes(name) ? (readFlag(value) ?? value) : value;
  };
  const stated = fields.filter(({ value }) => value !== '');
  return Object.fromEntries(stated.map(({ name, value }) => [plainName(name), read(plainName(name), value)]));
}

/** Equal requests have equal ones, whatever the boundary of their form is. */
export function fingerprint({ fields, files }: MeasuredForm): string {
  const said = [
    fields.map(({ name, value }) => [name, value]),
    files.map(({ field, name, sha256 }) => [field, name, sha256]),
  ];
  return createHash('sha256').update(JSON.stringify(said)).digest('hex');
}
