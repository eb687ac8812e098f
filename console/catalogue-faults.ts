// What apply says is wrong with a document, put beside the fields of a form of one of its objects.

import { ApiFailure } from './api.ts';

/**
 * Faults by the field of the form that is of the object at `at`, ["models", "gpt"]: "routes.0.provider". Null where one
 * of them is about none of the fields: then the failure is shown whole.
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
    // Of a list of texts the field is the list; the object's own name has a field, too.
    const field = [rest.join('.'), rest.slice(0, -1).join('.'), rest.length === 0 ? 'name' : ''].find(
      (one) => one !== '' && isField(one),
    );
    if (field === undefined) return null;
    found[field] ??= message;
  }
  return found;
}
