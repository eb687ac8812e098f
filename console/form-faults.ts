// Places the faults that the admin API reports beside the fields of a form.

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
    found[field] ??= message;
  }
  return found;
}

/** Parses a conflict message that starts with its field: "email: there is …". */
function faultInWords(message: string, fields: readonly string[]): Record<string, string> | null {
  const [, field = '', fault = ''] = /^(\w+): (.+)$/s.exec(message) ?? [];
  return fields.includes(field) ? { [field]: fault } : null;
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
    found[field] ??= message;
  }
  return found;
}
