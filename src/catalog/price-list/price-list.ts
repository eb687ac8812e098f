// Built-in models and list prices, one file per provider family, for apply files and first starts.

import { assert } from '../../base/assert.ts';
import { parseTimeMs } from '../../base/checked-number.ts';
import { listedModel } from '../document.ts';
import { type Fault, formatFault, readPart } from '../fault.ts';
import anthropic from './anthropic.json' with { type: 'json' };
import deepseek from './deepseek.json' with { type: 'json' };
import gemini from './gemini.json' with { type: 'json' };
import minimax from './minimax.json' with { type: 'json' };
import mistral from './mistral.json' with { type: 'json' };
import moonshot from './moonshot.json' with { type: 'json' };
import openai from './openai.json' with { type: 'json' };
import xai from './xai.json' with { type: 'json' };
import zhipu from './zhipu.json' with { type: 'json' };

/** Its `family` is also the provider kind if there is one; unknown parts of the price are null. */
export type ListedModel = ReturnType<typeof listedFrom>;

export interface PriceList {
  family: string;
  /** The date of its newest row. */
  asOf: string;
  source: string;
}

interface ListFile {
  source: string;
  models: Record<string, { as_of: string }>;
}

const files: Record<string, ListFile> = { anthropic, deepseek, gemini, minimax, mistral, moonshot, openai, xai, zhipu };

function newestOf({ models }: ListFile): string {
  const dates = Object.values(models).map(({ as_of }) => as_of);
  return dates.sort().at(-1) ?? '';
}

/** The date of the newest row of all. */
export const PRICE_LIST_MS = Math.max(...Object.values(files).map((file) => parseTimeMs(newestOf(file)) ?? 0));

export function priceLists(): PriceList[] {
  return Object.entries(files).map(([family, file]) => ({ family, asOf: newestOf(file), source: file.source }));
}

/** A family's models, newest first; empty for an unknown family. */
export function listedModels(family: string): ListedModel[] {
  return [...readFiles().models.values()].filter((model) => model.family === family);
}

/** All families' models, newest first within each. */
export function allListedModels(): ListedModel[] {
  return [...readFiles().models.values()];
}

/** The entry for the first of these names, or dated names, that is on the list; null if none is. */
export function findListed(names: readonly string[]): ListedModel | null {
  const { models, aliases } = readFiles();
  for (const name of names) {
    const listed = models.get(aliases.get(name) ?? name);
    if (listed !== undefined) return listed;
  }
  return null;
}

let read: { models: Map<string, ListedModel>; aliases: Map<string, string> } | null = null;

/** Reads the files on first use: most commands never need them. */
function readFiles(): NonNullable<typeof read> {
  if (read !== null) return read;
  const listed = Object.entries(files).flatMap(([family, file]) =>
    Object.entries(file.models).map(([name, members]) => listedFrom(name, members, family)),
  );
  read = {
    models: new Map(listed.map((model) => [model.name, model])),
    aliases: new Map(listed.flatMap(({ name, aliases }) => aliases.map((alias) => [alias, name]))),
  };
  return read;
}

function listedFrom(name: string, members: object, family: string) {
  const faults: Fault[] = [];
  const document = readPart(listedModel, members, [family, name], faults);
  assert(document !== null, `the price list is invalid: ${faults.map(formatFault).join('; ')}`);
  return Object.freeze({
    name,
    family,
    asOf: document.as_of,
    source: document.source,
    aliases: document.aliases,
    displayName: document.display_name,
    serves: document.serves,
    price: document.price,
    priceChanges: document.price_changes,
    maxInputTokens: document.max_input_tokens,
    maxOutputTokens: document.max_output_tokens,
    retiresOn: document.retires_on,
  });
}
