// The models of entries with `*`: one for each name in the lists of their providers. Pure.

import { bounds } from '../config/config.ts';
import type { Secret } from '../secrets/secrets.ts';
import { modelName } from './document.ts';
import { type Catalog, frozenMap, type Model, type ProviderSettings, type Route } from './model.ts';

/** Where a provider's list is read, and with which credential: each may see other names. */
export interface ListSource {
  kind: string;
  baseUrl: string;
  /** null: the provider needs none. */
  credential: Secret | null;
}

/** The models that a provider listed, and where. */
export interface ModelList extends ListSource {
  names: readonly string[];
}

/** By provider. */
export type ModelLists = ReadonlyMap<string, ModelList>;

/**
 * With a credential for all accounts, because the list of another one may have names that only its account should see; null if
 * the provider has no such credential.
 */
export function listSourceOf({ kind, baseUrl, credentials }: ProviderSettings): ListSource | null {
  const shared = credentials.find(({ account, group }) => account === null && group === null);
  if (shared === undefined && credentials.length > 0) return null;
  return { kind, baseUrl, credential: shared?.secret ?? null };
}

export function sameSource(one: ListSource, other: ListSource): boolean {
  const isSameCredential =
    one.credential === other.credential || one.credential?.identity() === other.credential?.identity();
  return isSameCredential && one.kind === other.kind && one.baseUrl === other.baseUrl;
}

export function sameList(one: ModelList | undefined, other: ModelList): boolean {
  return (
    one !== undefined &&
    sameSource(one, other) &&
    one.names.length === other.names.length &&
    one.names.every((name, at) => name === other.names[at])
  );
}

export function isModelName(name: string): boolean {
  return modelName.safeParse(name).success;
}

/** Orders entries with `*`: the most literal characters first. */
export function byLiteralLength([one]: [string, unknown], [other]: [string, unknown]): number {
  return other.length - one.length || (one < other ? -1 : 1);
}

/** The text for `*` with which a pattern is the whole name, at least one character; null if it does not match. */
function starText(pattern: string, name: string): string | null {
  const at = pattern.indexOf('*');
  const tail = pattern.slice(at + 1);
  const isMatch = name.length >= pattern.length && name.startsWith(pattern.slice(0, at)) && name.endsWith(tail);
  return isMatch ? name.slice(at, name.length - tail.length) : null;
}

/** Each `*` of an entry stands for the same text; a function, because `$` in a text has a meaning to `replace`. */
function fill(pattern: string, text: string): string {
  return pattern.replace('*', () => text);
}

/** The only entry with `*` that may sell a model of this name; null: none, or the name is that of another entry. */
export function patternOf(catalog: Catalog, name: string): Model | null {
  return isModelName(name) ? sellerOf(catalog, name) : null;
}

/** As `patternOf`, for a name without characters that no model may have. */
function sellerOf({ models, aliases, patterns }: Catalog, name: string): Model | null {
  const isWritten = models.get(name)?.entry === null || aliases.has(name);
  if (isWritten || name.length > bounds.modelNameCharactersMax) return null;
  for (const pattern of patterns.values()) if (starText(pattern.name, name) !== null) return pattern;
  return null;
}

/** A model of the entry, over all of its routes, whether or not their providers list it. */
export function modelOf(pattern: Model, name: string): Model {
  const text = starText(pattern.name, name) ?? '';
  const routes = pattern.routes.map((route) => ({ ...route, upstreamModel: fill(route.upstreamModel, text) }));
  return { ...pattern, name, displayName: name, entry: pattern.name, routes };
}

/** The catalog with the listed models. The names of a list are model names (`isModelName`); one of another source is none. */
export function addListed(written: Catalog, lists: ModelLists): Catalog {
  if (written.patterns.size === 0) return written;
  const found = new Map<string, { pattern: Model; routes: Route[] }>();
  for (const pattern of written.patterns.values())
    for (const route of pattern.routes)
      for (const upstreamModel of namesAt(written, lists, route)) {
        const text = starText(route.upstreamModel, upstreamModel);
        if (text === null) continue;
        const name = fill(pattern.name, text);
        let listed = found.get(name);
        if (listed === undefined) {
          if (found.size >= bounds.listedModelsMax || sellerOf(written, name) !== pattern) continue;
          listed = { pattern, routes: [] };
          found.set(name, listed);
        }
        if (listed.pattern === pattern) listed.routes.push(Object.freeze({ ...route, upstreamModel }));
      }
  const listed = [...found].map(([name, { pattern, routes }]): [string, Model] => [
    name,
    Object.freeze({ ...pattern, name, displayName: name, entry: pattern.name, routes: Object.freeze(routes) }),
  ]);
  return Object.freeze({ ...written, models: frozenMap([...written.models, ...listed]) });
}

function namesAt({ providers }: Catalog, lists: ModelLists, { provider }: Route): readonly string[] {
  const [settings, list] = [providers.get(provider), lists.get(provider)];
  const source = settings === undefined ? null : listSourceOf(settings);
  return source !== null && list !== undefined && sameSource(source, list) ? list.names : [];
}
