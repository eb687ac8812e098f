// The models and list prices that this version brings along, a file for each family of providers.
// Operators' files and first starts take prices from it; nothing here changes prices that stand.

import { assert } from '../../base/assert.ts';
import { listedModel, type PriceInput } from '../document.ts';
import { type Fault, formatFault, readPart } from '../fault.ts';
import anthropic from './anthropic.json' with { type: 'json' };
import deepseek from './deepseek.json' with { type: 'json' };
import gemini from './gemini.json' with { type: 'json' };
import minimax from './minimax.json' with { type: 'json' };
import moonshot from './moonshot.json' with { type: 'json' };
import openai from './openai.json' with { type: 'json' };
import xai from './xai.json' with { type: 'json' };
import zhipu from './zhipu.json' with { type: 'json' };

export interface ListedModel {
  name: string;
  /** Whose model it is, which is also the kind of provider where the service has one for it. */
  family: string;
  /** The day of the prices, such as "2026-07-24". */
  asOf: string;
  /** Its dated names at the provider. */
  aliases: readonly string[];
  displayName: string;
  /** What the list does not know of it is null. */
  price: PriceInput;
  maxInputTokens: number | null;
  maxOutputTokens: number | null;
  /** The day on which the provider said that it ends it; null while it said nothing. */
  retiresOn: string | null;
}

/** One family's list: its day, and where its prices were found. */
export interface PriceList {
  family: string;
  asOf: string;
  source: string;
}

interface ListFile {
  as_of: string;
  source: string;
  models: Record<string, object>;
}

const files: Record<string, ListFile> = { anthropic, deepseek, gemini, minimax, moonshot, openai, xai, zhipu };

/** When what comes with the service was made: the day of its newest list. */
export const PRICE_LIST_MS = Math.max(...Object.values(files).map((file) => Date.parse(file.as_of)));

/** Every family's list, by the family's name. */
export function priceLists(): PriceList[] {
  return Object.entries(files).map(([family, { as_of, source }]) => ({ family, asOf: as_of, source }));
}

/** The models of a family, newest first; none for a family that is not on the list. */
export function listedModels(family: string): ListedModel[] {
  return [...readFiles().models.values()].filter((model) => model.family === family);
}

/** Those of every family, newest first within each. */
export function allListedModels(): ListedModel[] {
  return [...readFiles().models.values()];
}

/** What the list has under the first of these names, or dated names, that it knows; null when it knows none. */
export function findListed(names: readonly string[]): ListedModel | null {
  const { models, aliases } = readFiles();
  for (const name of names) {
    const listed = models.get(aliases.get(name) ?? name);
    if (listed !== undefined) return listed;
  }
  return null;
}

interface ReadLists {
  models: ReadonlyMap<string, ListedModel>;
  aliases: ReadonlyMap<string, string>;
}

let read: ReadLists | null = null; // read when it is first asked for: most commands never do

function readFiles(): ReadLists {
  if (read !== null) return read;
  const listed = Object.entries(files).flatMap(([family, file]) =>
    Object.entries(file.models).map(([name, members]) => listedFrom(name, members, family, file.as_of)),
  );
  const models = new Map(listed.map((model) => [model.name, model]));
  const aliases = new Map(
    listed.flatMap(({ name, aliases }) => aliases.map((alias): [string, string] => [alias, name])),
  );
  read = { models, aliases };
  return read;
}

function listedFrom(name: string, members: object, family: string, asOf: string): ListedModel {
  const faults: Fault[] = [];
  const document = readPart(listedModel, members, [family, name], faults);
  assert(document !== null, `the price list is wrong: ${faults.map(formatFault).join('; ')}`);
  return Object.freeze({
    name,
    family,
    asOf,
    aliases: document.aliases,
    displayName: document.display_name,
    price: document.price,
    maxInputTokens: document.max_input_tokens,
    maxOutputTokens: document.max_output_tokens,
    retiresOn: document.retires_on,
  });
}
