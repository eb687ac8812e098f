// Faults in files and documents, all collected. None repeats the wrong value, which may be a credential.

import type { z } from 'zod';

export interface Fault {
  /** Path from the top of the file, such as ["models", "llama", "routes", 0, "provider"]. */
  path: (string | number)[];
  message: string;
}

/** The parsed value, or null after adding all faults below `path`. */
export function readPart<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  path: readonly (string | number)[],
  faults: Fault[],
): z.output<Schema> | null {
  const result = schema.safeParse(value, { error: describeIssue });
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const at = [...path, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))];
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) faults.push({ path: [...at, key], message: 'unknown member' });
    } else faults.push({ path: at, message: issue.message });
  }
  return null;
}

/** The members of an object as a map, so that names such as "__proto__" have no effect. */
export function membersOf(value: unknown, path: (string | number)[], faults: Fault[]): Map<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return new Map(Object.entries(value));
  faults.push({ path, message: 'must be an object' });
  return new Map();
}

/** The fault in one line: its path with dots, then its description. */
export function formatFault(fault: Fault): string {
  return fault.path.length === 0 ? fault.message : `${fault.path.join('.')}: ${fault.message}`;
}

function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPE_WORDS[issue.expected] ?? issue.expected}${isQuotedNumber(issue) ? ' without quotes' : ''}`;
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`;
    case 'too_small':
      return issue.origin === 'number' ? `must be at least ${issue.minimum}` : 'must not be empty';
    case 'too_big':
      return issue.origin === 'number'
        ? `must be at most ${issue.maximum}`
        : `must not have more than ${issue.maximum} ${issue.origin === 'string' ? 'characters' : 'entries'}`;
    default:
      return undefined;
  }
}

function isQuotedNumber(issue: z.core.$ZodRawIssue): boolean {
  return issue['expected'] === 'number' && typeof issue.input === 'string' && /^\d{1,15}$/.test(issue.input);
}

const TYPE_WORDS: Record<string, string> = {
  string: 'a string',
  number: 'a whole number', // decimals are texts with their own description
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};
