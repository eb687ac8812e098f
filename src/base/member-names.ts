// Names of members in code and in JSON: "drainSeconds" is "drain_seconds" there.

export type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

export function camelCase<Name extends string>(name: Name): CamelCase<Name> {
  return name.replaceAll(/_[a-z0-9]/g, (part) => part.slice(1).toUpperCase()) as CamelCase<Name>;
}
