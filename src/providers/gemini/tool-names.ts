// Names of tools as Gemini takes them: shorter than those of the Messages protocol, and not with every beginning.

import { createHash } from 'node:crypto';

const TAKEN = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const KEPT_CHARACTERS = 54; // "_", these, "_" and eight of a digest are at most 64

/** The same name where it can be taken; else one made of it, always the same. */
export function shortenName(name: string): string {
  if (TAKEN.test(name)) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `_${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, KEPT_CHARACTERS)}_${digest}`;
}

/** Shortened names and what they stand for; a name that is no key stands for itself. */
export function namesByShort(names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [shortenName(name), name]));
}
