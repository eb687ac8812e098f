// `attributes` and `excludedAttributes` (RFC 7644, section 3.9): what a response has of a resource. `schemas`, `id` and what names
// the resource stay.

import { bounds } from '../config/config.ts';
import { scimFault } from './faults.ts';
import { parsePath } from './filter.ts';
import type { JsonMembers } from './read-members.ts';

export interface Selection {
  /** In lower case, as "name" or "name.familyname"; null: all. */
  only: ReadonlySet<string> | null;
  without: ReadonlySet<string>;
}

export const everything: Selection = Object.freeze({ only: null, without: new Set<string>() });

const ALWAYS: readonly string[] = ['schemas', 'id'];

/** Throws invalidValue if both are given, invalidPath for a name that none could be. */
export function readSelection(attributes: string | null, excluded: string | null): Selection {
  const [only, without] = [namesIn(attributes), namesIn(excluded)];
  if (only.length > 0 && without.length > 0)
    throw scimFault('invalidValue', 'attributes: cannot be combined with excludedAttributes');
  return { only: only.length > 0 ? new Set(only) : null, without: new Set(without) };
}

function namesIn(text: string | null): string[] {
  if (text === null || text.trim() === '') return [];
  if (text.length > bounds.scimFilterCharactersMax)
    throw scimFault('invalidValue', `attributes: must have at most ${bounds.scimFilterCharactersMax} characters`);
  return text.split(',').flatMap((name) => {
    const { attribute, sub } = parsePath(name.trim());
    if (attribute === null) return [];
    return [sub === null ? attribute : `${attribute}.${sub}`];
  });
}

/** Whether a response has any of an attribute, which may then not be read at all. */
export function isSelected({ only, without }: Selection, attribute: string): boolean {
  if (without.has(attribute)) return false;
  return only === null || [...only].some((name) => name === attribute || name.startsWith(`${attribute}.`));
}

export function selectAttributes(selection: Selection, resource: JsonMembers): JsonMembers {
  const { only, without } = selection;
  if (only === null && without.size === 0) return resource;
  return selectMembers(resource, '', { only, without });
}

function selectMembers(members: JsonMembers, prefix: string, selection: Selection): JsonMembers {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => {
      const path = `${prefix}${name.toLowerCase()}`;
      if (prefix === '' && ALWAYS.includes(name)) return [[name, value]];
      if (!isSelected(selection, path)) return [];
      const isWhole = selection.only === null ? false : selection.only.has(path);
      if (prefix !== '' || isWhole || typeof value !== 'object' || value === null) return [[name, value]];
      const inner = (one: unknown) => selectMembers(one as JsonMembers, `${path}.`, selection);
      return [[name, Array.isArray(value) ? value.map(inner) : inner(value)]];
    }),
  );
}
