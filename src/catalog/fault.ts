// Faults in files and documents, all collected. None repeats the wrong value, which may be a credential.

export interface Fault {
  /** Path from the top of the file, such as ["models", "llama", "routes", 0, "provider"]. */
  path: (string | number)[];
  message: string;
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
