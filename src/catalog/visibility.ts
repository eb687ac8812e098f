// The things that the operator may hide from account holders.

import type { Catalog } from './model.ts';

export const hideables = ['provider', 'upstream_model', 'group', 'multiplier'] as const;
export type Hideable = (typeof hideables)[number];

/** The things that a reader does not see. */
export interface Hidden {
  things: ReadonlySet<Hideable>;
  /** The text without the names of hidden providers and upstream models. */
  redact(text: string): string;
}

export const NOTHING_HIDDEN: Hidden = Object.freeze({ things: new Set<Hideable>(), redact: (text: string) => text });

const hiddenIn = new WeakMap<Catalog, Hidden>();

/** The things that people, tokens and keys of accounts do not see. */
export function hiddenFromAccounts(catalog: Catalog): Hidden {
  if (catalog.settings.hiddenFromAccounts.length === 0) return NOTHING_HIDDEN;
  let hidden = hiddenIn.get(catalog);
  if (hidden === undefined) {
    hidden = { things: new Set(catalog.settings.hiddenFromAccounts), redact: makeRedact(catalog) };
    hiddenIn.set(catalog, hidden);
  }
  return hidden;
}

/** Names of members in JSON without a schema that lead to them, such as audit records and the answers to keys. */
const MEMBERS: Readonly<Record<string, Hideable>> = {
  provider: 'provider',
  providers: 'provider',
  upstream_model: 'upstream_model',
  group: 'group',
  groups: 'group',
  multiplier: 'multiplier',
};

/** The thing that a member with this name tells; null: none that can be hidden. */
export function hideableOf(name: string): Hideable | null {
  return Object.hasOwn(MEMBERS, name) ? (MEMBERS[name] ?? null) : null;
}

/** The value without what is hidden: lists are empty, and other members null. */
export function withoutHidden<Value>(value: Value, { things }: Hidden): Value {
  return (things.size === 0 ? value : strip(value, things)) as Value;
}

function strip(value: unknown, things: ReadonlySet<Hideable>): unknown {
  if (Array.isArray(value)) return value.map((member) => strip(member, things));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const thing = hideableOf(name);
      return [name, thing !== null && things.has(thing) ? emptied(member) : strip(member, things)];
    }),
  );
}

/** The value in place of a hidden one. */
export function emptied(value: unknown): unknown {
  return Array.isArray(value) ? [] : null;
}

/** How messages of providers name the vendor of a kind. */
const VENDORS: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['Anthropic'],
  openai: ['OpenAI'],
  'openai-responses': ['OpenAI'],
  gemini: ['Google', 'Gemini'],
  bedrock: ['Amazon', 'AWS', 'Bedrock'],
  vertex: ['Google', 'Vertex', 'Vertex AI'],
  foundry: ['Microsoft', 'Azure', 'Foundry'],
};

/** A provider's message may name it, its address and its model. Names that the catalog sells stay. */
export function makeRedact({ settings, providers, models, aliases }: Catalog): Hidden['redact'] {
  const words = new Map<string, string>();
  const add = (word: string, instead: string) => {
    if (word.length > 1 && !models.has(word) && !aliases.has(word)) words.set(word.toLowerCase(), instead);
  };
  const hides = (thing: Hideable) => settings.hiddenFromAccounts.includes(thing);
  if (hides('provider'))
    for (const { name, kind, baseUrl } of providers.values())
      for (const word of [name, kind, URL.parse(baseUrl)?.host ?? '', ...(VENDORS[kind] ?? [])])
        add(word, 'the provider');
  if (hides('upstream_model'))
    for (const { name, routes } of models.values()) for (const { upstreamModel } of routes) add(upstreamModel, name);
  const inOrder = [...words.keys()].sort((one, other) => other.length - one.length).map((word) => RegExp.escape(word));
  if (inOrder.length === 0) return NOTHING_HIDDEN.redact;
  const pattern = new RegExp(
    `${hides('provider') ? 'https?://[^\\s"\']+|' : ''}(?<![\\w-])(?:${inOrder.join('|')})(?![\\w-])`,
    'gi',
  );
  return (text) => text.replace(pattern, (found) => words.get(found.toLowerCase()) ?? '…');
}
