// Lists the changes of a catalog document field by field, for review. Pure. Credentials are never included.

import type { CatalogChangeShape, CatalogShape, ListedModelShape } from '../../../src/admin-api/shapes.ts';

export type CatalogDocument = CatalogShape['document'];
/** The body of POST /apply. */
export interface CatalogEdit {
  document: {
    providers?: Record<string, object>;
    models?: Record<string, object>;
    groups?: Record<string, object>;
    plans?: Record<string, object>;
    agent_policies?: Record<string, object>;
    settings?: object;
    vendor_prefixes?: unknown;
  };
  remove?: { kind: 'provider' | 'model' | 'group' | 'plan' | 'agent_policy'; name: string }[];
}

export interface ChangeLine {
  /** The path of the field: "price.input". */
  member: string;
  /** Null if the field was absent or had its default. */
  before: string | null;
  after: string | null;
  /** A credential: its values are never shown. */
  isSecret: boolean;
  /** The stored secret is deleted; absent: it is not. */
  isRemoved?: true;
}

const sections = {
  provider: 'providers',
  model: 'models',
  group: 'groups',
  plan: 'plans',
  agent_policy: 'agent_policies',
} as const;
const SECRETS = ['api_key'];
const FROM_LIST = 'catalogue';
const PLATFORMS = ['bedrock', 'vertex', 'foundry']; // kinds whose listed costs are not those of the vendor

/** The changed fields of one object; none if it is deleted. `prices` resolves prices that are taken from the price list. */
export function linesOfChange(
  change: CatalogChangeShape,
  current: CatalogDocument,
  { document }: CatalogEdit,
  prices: readonly ListedModelShape[] = [],
): ChangeLine[] {
  if (change.action === 'delete') return [];
  const sides = sidesOf(change, current, document);
  const providers = Object.entries({ ...current.providers, ...document.providers }) as [string, { kind?: string }][];
  const platforms = new Set(providers.filter(([, { kind }]) => PLATFORMS.includes(kind ?? '')).map(([name]) => name));
  const [before, after] =
    change.kind === 'model' ? sides.map((side) => priced(change.name, platforms, side, prices)) : sides;
  if (before === undefined || after === undefined) return [];
  const names = change.fields ?? [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((name) => linesOfMember(name, before, after));
}

function sidesOf(
  { kind, name }: CatalogChangeShape,
  current: CatalogDocument,
  document: CatalogEdit['document'],
): [before: Record<string, unknown>, after: Record<string, unknown>] {
  if (kind === 'settings')
    return [
      { ...current.settings, vendor_prefixes: current.vendor_prefixes },
      { ...document.settings, vendor_prefixes: document.vendor_prefixes },
    ];
  const section = sections[kind];
  return [
    { ...(current[section][name] as object | undefined) },
    { ...(document[section]?.[name] as object | undefined) },
  ];
}

/** Replaces references to the price list with the listed prices. */
function priced(
  name: string,
  platforms: ReadonlySet<string>,
  model: Record<string, unknown>,
  prices: readonly ListedModelShape[],
): Record<string, unknown> {
  const listed = (names: readonly unknown[]) => {
    const row = prices.find((one) => [one.name, ...one.aliases].some((known) => names.includes(known)));
    return { price: row?.price ?? FROM_LIST, changes: row?.price_changes ?? [] };
  };
  const withListedCost = <Route extends { model?: string; provider?: string }>(route: Route) => {
    // The service finds the price of the platform, which may not be the vendor's.
    if (platforms.has(route.provider ?? '')) return route;
    const { price: cost, changes: cost_changes } = listed([route.model ?? name]);
    return { ...route, cost, cost_changes };
  };
  const { catalogue, routes, ...members } = model as {
    catalogue?: true;
    routes?: { model?: string; provider?: string; cost?: unknown }[];
  };
  const aliases = (members as { aliases?: string[] }).aliases ?? [];
  const { price, changes: price_changes } = listed([name, ...aliases, routes?.[0]?.model]);
  return {
    ...members,
    ...(catalogue === true && { price, price_changes }),
    ...(routes !== undefined && {
      routes: routes.map((route) => (route.cost === FROM_LIST ? withListedCost(route) : route)),
    }),
  };
}

function linesOfMember(name: string, before: Record<string, unknown>, after: Record<string, unknown>): ChangeLine[] {
  const [member, ...rest] = name.split('.');
  if (member === 'credentials' && rest.length > 0)
    return linesOfCredential(name, credentialOf(before, rest.join('.')), credentialOf(after, rest.join('.')));
  if (SECRETS.includes(name) || name === 'credentials') {
    const isRemoved = SECRETS.includes(name) && after[name] === undefined; // by another type of `auth`
    return [{ member: name, before: null, after: null, isSecret: true, ...(isRemoved && { isRemoved }) }];
  }
  return linesOfValues(name, before[name], after[name]);
}

interface WrittenCredential {
  api_key?: string;
  auth?: object;
}

function credentialOf(side: Record<string, unknown>, name: string): WrittenCredential | undefined {
  return (side['credentials'] as Record<string, WrittenCredential> | undefined)?.[name];
}

/** A further credential: its reference and users, and its key if it is given, or removed with it or by another type. */
function linesOfCredential(name: string, before: WrittenCredential | undefined, after: WrittenCredential | undefined) {
  const { api_key: _, ...was } = before ?? {};
  const { api_key: key, ...is } = after ?? {};
  const isRemoved =
    before !== undefined && before.auth === undefined && (after === undefined || after.auth !== undefined);
  const secret: ChangeLine = { member: `${name}.api_key`, before: null, after: null, isSecret: true };
  return [
    ...(key !== undefined ? [secret] : isRemoved ? [{ ...secret, isRemoved } as const] : []),
    ...linesOfValues(name, was, is),
  ];
}

function linesOfValues(name: string, before: unknown, after: unknown): ChangeLine[] {
  const [was, is] = [leaves(name, before), leaves(name, after)];
  return [...new Set([...was.keys(), ...is.keys()])]
    .map((member) => ({ member, before: was.get(member) ?? null, after: is.get(member) ?? null, isSecret: false }))
    .filter((line) => line.before !== line.after);
}

/** All leaf values by path, without nulls. */
function leaves(path: string, value: unknown): Map<string, string> {
  if (value === null || value === undefined) return new Map();
  if (typeof value !== 'object' || isPlainList(value)) return new Map([[path, shown(value)]]);
  // Positions start at one for display.
  const name = (key: string) => (Array.isArray(value) ? `${path}.${Number(key) + 1}` : `${path}.${key}`);
  return new Map(Object.entries(value).flatMap(([key, inner]) => [...leaves(name(key), inner)]));
}

function isPlainList(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one !== 'object' || one === null);
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}
