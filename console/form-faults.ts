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

/** Of what is not wrong by itself, but with what there is, the words begin with the field: "email: there is …". */
function faultInWords(message: string, fields: readonly string[]): Record<string, string> | null {
  const [, field = '', fault = ''] = /^(\w+): (.+)$/s.exec(message) ?? [];
  return fields.includes(field) ? { [field]: fault } : null;
}
