// Tags: names and values by which usage is attributed. Those of accounts, people and keys are fixed; clients send others.

import { createHash } from 'node:crypto';
import { bounds } from '../config/config.ts';

/** Read by own members only: a name may be that of a member of every object. */
export type Tags = Readonly<Record<string, string>>;

/** Rules for the tags of an account's messages, besides those of the installation. */
export interface TagRules {
  /** Names of tags without which a message is refused. */
  required: readonly string[];
  /** Names of tags that clients cannot set. */
  pinned: readonly string[];
}

export const NO_TAGS: Tags = Object.freeze({});

export const TAG_NAME = new RegExp(`^[a-z][a-z0-9_-]{0,${bounds.tagNameCharactersMax - 1}}$`);

/** Whether the text can be the value of a tag: short, and without control characters and the commas that divide a header. */
export function isTagValue(value: string): boolean {
  return (
    value.length > 0 &&
    value.length <= bounds.tagValueCharactersMax &&
    value === value.trim() &&
    value.isWellFormed() &&
    !/[\p{Cc},]/u.test(value)
  );
}

/** The same for equal tags: JSON with the names in order. '' without tags. */
export function tagsText(tags: Tags): string {
  const names = Object.keys(tags);
  if (names.length === 0) return '';
  return JSON.stringify(Object.fromEntries(names.sort().map((name) => [name, tags[name]])));
}

/** The number of a set of tags, by its text: the same on every node. */
export function tagSetOf(text: string): number {
  const hash = createHash('sha256').update(text).digest();
  return hash.readUIntBE(0, 6) * 8 + ((hash[6] ?? 0) & 7) + 2; // 51 bits, above the numbers with a meaning
}
