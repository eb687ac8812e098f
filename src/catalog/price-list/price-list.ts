// Price lists: the one that each version includes, with a file per provider family, and newer ones of the same form.

import { z } from 'zod';
import { assert } from '../../base/assert.ts';
import { bounds } from '../../config/config.ts';
import { listedModel, modelName, plainName } from '../document.ts';
import { type Fault, formatFault, membersOf, readPart } from '../fault.ts';
import type { CatalogDocument } from '../store.ts';
import anthropic from './anthropic.json' with { type: 'json' };
import bedrock from './bedrock.json' with { type: 'json' };
import deepseek from './deepseek.json' with { type: 'json' };
import foundry from './foundry.json' with { type: 'json' };
import gemini from './gemini.json' with { type: 'json' };
import minimax from './minimax.json' with { type: 'json' };
import mistral from './mistral.json' with { type: 'json' };
import moonshot from './moonshot.json' with { type: 'json' };
import openai from './openai.json' with { type: 'json' };
import vertex from './vertex.json' with { type: 'json' };
import xai from './xai.json' with { type: 'json' };
import zhipu from './zhipu.json' with { type: 'json' };

/** A row. Its `family` is also the provider kind if there is one; unknown parts of the price are null. */
export type ListedModel = NonNullable<ReturnType<typeof readRow>>;

export interface PriceList {
  /** The date of its newest row. */
  asOf: string;
  families: readonly { family: string; asOf: string; source: string }[];
  /** By name, newest first within each family. */
  models: ReadonlyMap<string, ListedModel>;
  /** Alias → name. */
  aliases: ReadonlyMap<string, string>;
}

type Path = readonly (string | number)[];

const files = {
  anthropic,
  deepseek,
  gemini,
  minimax,
  mistral,
  moonshot,
  openai,
  xai,
  zhipu,
  bedrock,
  vertex,
  foundry,
};
const LIST_KIND = 'price_list'; // its only document is the list in use

let included: PriceList | null = null;

/** The list of this version. Read on first use: most commands never need it. */
export function includedPriceList(): PriceList {
  const faults: Fault[] = [];
  included ??= readPriceList(files, [], faults);
  assert(included !== null, `the price list is invalid: ${faults.map(formatFault).join('; ')}`);
  return included;
}

/** The list in use: the stored one unless that of this version is newer. One that cannot be read is ignored. */
export function priceListIn(documents: readonly CatalogDocument[]): PriceList {
  const stored = documents.find(({ kind }) => kind === LIST_KIND)?.document;
  const list = stored === undefined ? null : readPriceList(stored, [], []);
  return list !== null && list.asOf >= includedPriceList().asOf ? list : includedPriceList();
}

/** A family's models, newest first; empty for an unknown family. */
export function listedModels(family: string, { models }: PriceList = includedPriceList()): ListedModel[] {
  return [...models.values()].filter((model) => model.family === family);
}

/** The entry for the first of these names, or dated names, that is on the list; null if none is. */
export function findListed({ models, aliases }: PriceList, names: readonly string[]): ListedModel | null {
  for (const name of names) {
    const listed = models.get(aliases.get(name) ?? name);
    if (listed !== undefined) return listed;
  }
  return null;
}

/** Where a route is served: the kind of its provider, and its region if the kind has one. */
export interface Platform {
  kind: string;
  region: string | null;
}

/** Kinds of platforms that sell models of several vendors at their own prices. Their families have the same names. */
const PLATFORM_KINDS: readonly string[] = ['bedrock', 'vertex', 'foundry'];

export function isPlatform(kind: string): boolean {
  return PLATFORM_KINDS.includes(kind);
}

/**
 * The entry for the cost of a route: that of its platform, if its provider is one, and never that of the vendor, whose
 * prices differ; otherwise that of the model. A platform's rows are named after it: "bedrock/us.anthropic.claude-…"
 * where the model's name tells the place, "bedrock/us-east-1/…" for one region, and at Vertex "vertex/…" for the global
 * endpoint and "vertex/regional/…" for all others.
 */
export function findListedCost(list: PriceList, { kind, region }: Platform, upstreamModel: string): ListedModel | null {
  if (!isPlatform(kind)) return findListed(list, [upstreamModel]);
  if (kind === 'vertex')
    return findListed(list, [region === 'global' ? `vertex/${upstreamModel}` : `vertex/regional/${upstreamModel}`]);
  return findListed(list, [
    ...(region === null ? [] : [`${kind}/${region}/${upstreamModel}`]),
    `${kind}/${upstreamModel}`,
  ]);
}

const listFile = z.strictObject({
  source: z.string().min(1).max(1_000),
  models: z.custom<object>((value) => typeof value === 'object' && value !== null, 'must be an object'),
});

/** Reads a list, families by name; null after adding its faults. */
export function readPriceList(value: unknown, path: Path, faults: Fault[]): PriceList | null {
  const found: Fault[] = [];
  const families: PriceList['families'][number][] = [];
  const models = new Map<string, ListedModel>();
  const aliases = new Map<string, string>();
  const addName = (name: string, place: Path): void => {
    if (models.has(name) || aliases.has(name))
      found.push({ path: [...place], message: `"${name}" is on the list twice` });
  };
  for (const [family, given] of membersOf(value, [...path], found)) {
    readPart(plainName, family, [...path, family], found);
    const file = readPart(listFile, given, [...path, family], found);
    if (file === null) continue;
    const rows = membersOf(file.models, [...path, family, 'models'], found);
    if (models.size + rows.size > bounds.priceListModelsMax) {
      found.push({
        path: [...path, family, 'models'],
        message: `must not have more than ${bounds.priceListModelsMax} models in all families`,
      });
      break;
    }
    for (const [name, members] of rows) {
      const place = [...path, family, 'models', name];
      readPart(modelName, name, place, found);
      const row = readRow(name, members, family, place, found);
      if (row === null) continue;
      addName(name, place);
      models.set(name, row);
      for (const [at, alias] of row.aliases.entries()) {
        addName(alias, [...place, 'aliases', at]);
        aliases.set(alias, name);
      }
    }
    families.push({ family, asOf: newestOf(models, family), source: file.source });
  }
  if (found.length === 0 && models.size === 0) found.push({ path: [...path], message: 'must have a model' });
  faults.push(...found);
  return found.length > 0 ? null : Object.freeze({ asOf: newestOf(models), families, models, aliases });
}

function newestOf(models: ReadonlyMap<string, ListedModel>, family?: string): string {
  const rows = [...models.values()].filter((row) => family === undefined || row.family === family);
  return (
    rows
      .map(({ asOf }) => asOf)
      .sort()
      .at(-1) ?? ''
  );
}

function readRow(name: string, members: unknown, family: string, path: Path, faults: Fault[]) {
  const document = readPart(listedModel, members, path, faults);
  if (document === null) return null;
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
