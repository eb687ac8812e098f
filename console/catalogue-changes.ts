// What would change of the catalogue, member by member, as a person reads it: the names that the API says differ, and
// what stood and would stand there. Pure; no credential is ever repeated.

import type { CatalogChangeShape, CatalogueShape, ListedModelShape } from '../src/admin-api/shapes.ts';

export type Standing = CatalogueShape['document'];
/** What apply takes, and what it is told to remove. */
export interface Wanted {
  document: {
    providers?: Record<string, object>;
    models?: Record<string, object>;
    groups?: Record<string, object>;
    settings?: object;
    vendor_prefixes?: unknown;
  };
  remove?: { kind: 'provider' | 'model' | 'group'; name: string }[];
}

export interface ChangeLine {
  /** "price.input". */
  member: string;
  /** Null where there was none, or what is there by default. */
  before: string | null;
  after: string | null;
  /** A credential: it differs, and that is all that is said. */
  isSecret: boolean;
}

const sections = { provider: 'providers', model: 'models', group: 'groups' } as const;
const SECRETS = ['api_key'];
const FROM_LIST = 'catalogue';

/**
 * The lines of one change; none for what is removed. `prices` is the price list, by which is said what a price is that is
 * taken from it.
 */
export function linesOfChange(
  change: CatalogChangeShape,
  standing: Standing,
  { document }: Wanted,
  prices: readonly ListedModelShape[] = [],
): ChangeLine[] {
  if (change.action === 'delete') return [];
  const sides = sidesOf(change, standing, document);
  const [before, after] = change.kind === 'model' ? sides.map((side) => priced(change.name, side, prices)) : sides;
  if (before === undefined || after === undefined) return [];
  const names = change.fields ?? [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => linesOfMember(name, before, after));
}

function sidesOf(
  { kind, name }: CatalogChangeShape,
  standing: Standing,
  document: Wanted['document'],
): [before: Record<string, unknown>, after: Record<string, unknown>] {
  if (kind === 'settings')
    return [
      { ...standing.settings, vendor_prefixes: standing.vendor_prefixes },
      { ...document.settings, vendor_prefixes: document.vendor_prefixes },
    ];
  const section = sections[kind];
  return [
    { ...(standing[section][name] as object | undefined) },
    { ...(document[section]?.[name] as object | undefined) },
  ];
}

/** A model with what it takes from the list put in its place. */
function priced(
  name: string,
  model: Record<string, unknown>,
  prices: readonly ListedModelShape[],
): Record<string, unknown> {
  const listed = (names: readonly unknown[]) =>
    prices.find((one) => [one.name, ...one.aliases].some((known) => names.includes(known)))?.price ?? FROM_LIST;
  const { catalogue, routes, ...members } = model as {
    catalogue?: true;
    routes?: { model?: string; cost?: unknown }[];
  };
  const aliases = (members as { aliases?: string[] }).aliases ?? [];
  return {
    ...members,
    ...(catalogue === true && { price: listed([name, ...aliases, routes?.[0]?.model]) }),
    ...(routes !== undefined && {
      routes: routes.map((route) =>
        route.cost === FROM_LIST ? { ...route, cost: listed([route.model ?? name]) } : route,
      ),
    }),
  };
}

function linesOfMember(name: string, before: Record<string, unknown>, after: Record<string, unknown>): ChangeLine[] {
  if (SECRETS.includes(name) || name.startsWith('credentials'))
    return [{ member: name, before: null, after: null, isSecret: true }];
  const [was, is] = [leaves(name, before[name]), leaves(name, after[name])];
  return [...new Set([...was.keys(), ...is.keys()])]
    .map((member) => ({ member, before: was.get(member) ?? null, after: is.get(member) ?? null, isSecret: false }))
    .filter((line) => line.before !== line.after);
}

/** Every value that is no object, by its path. Nothing is said of null. */
function leaves(path: string, value: unknown): Map<string, string> {
  if (value === null || value === undefined) return new Map();
  if (typeof value !== 'object' || isPlainList(value)) return new Map([[path, shown(value)]]);
  // People count from one.
  const name = (key: string) => (Array.isArray(value) ? `${path}.${Number(key) + 1}` : `${path}.${key}`);
  return new Map(Object.entries(value).flatMap(([key, inner]) => [...leaves(name(key), inner)]));
}

function isPlainList(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one !== 'object' || one === null);
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}
