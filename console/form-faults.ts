// What the admin API says is wrong with an input, put beside the fields that it is about.

import { ApiFailure } from './api.ts';

/**
 * Faults by the name of their field, for a form's setErrors: `names` maps the API's path ("quota") to the form's field
 * where they differ. Null: the failure is not about single fields, and is to be shown as a whole.
 */
export function fieldFaults(
  failure: unknown,
  fields: readonly string[],
  names: Readonly<Record<string, string>> = {},
): Record<string, string> | null {
  if (!(failure instanceof ApiFailure) || failure.faults.length === 0) return null;
  const found: Record<string, string> = {};
  for (const { path, message } of failure.faults) {
    const whole = path.join('.');
    const field = names[whole] ?? names[String(path[0])] ?? String(path[0] ?? '');
    if (!fields.includes(field)) return null;
    found[field] ??= message;
  }
  return found;
}
