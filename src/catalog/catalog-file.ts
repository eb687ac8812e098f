// Reads the file of `apply`: finds all faults of its members, and fills in values from the price list.

import type { z } from 'zod';
import type {
  AgentPolicyInput,
  CredentialInput,
  GroupInput,
  ModelInput,
  PlanInput,
  ProviderInput,
} from './document.ts';
import {
  agentPolicyInput,
  groupInput,
  modelEntryName,
  modelInput,
  modelName,
  plainName,
  planInput,
} from './document.ts';
import { type Fault, membersOf, readPart } from './fault.ts';
import { findListed, findListedCost, type Platform, type PriceList } from './price-list/price-list.ts';
import { readCredentials, readProvider } from './read-provider.ts';
import { type SettingsInput, settingsInput, vendorPrefixes } from './settings.ts';

/** A model's members as if the file stated every price. */
interface Taken {
  members: unknown;
  /** The day of the list that the price comes from; null for a stated price. */
  listedOn: string | null;
}

type Path = readonly (string | number)[];

const FROM_LIST = 'catalogue';
const STAND_IN = { input: '0', output: '0' }; // after a fault, so that it is not reported twice

/** The platform of a provider by its name; null for one that is unknown. */
export type PlatformOf = (provider: unknown) => Platform | null;

/** Fills in values from the list for model `name`. After a fault, the members serve only to find further faults. */
export function takeListed(
  list: PriceList,
  name: string,
  object: unknown,
  path: Path,
  faults: Fault[],
  platformOf: PlatformOf,
): Taken {
  if (typeof object !== 'object' || object === null || Array.isArray(object))
    return { members: object, listedOn: null };
  const members = membersOf(object, [], []);
  const listedOn = takePrice(list, name, members, path, faults);
  const routes = members.get('routes');
  const withCost = (route: unknown, at: number) =>
    takeCost(list, name, route, [...path, 'routes', at], faults, platformOf);
  if (Array.isArray(routes)) members.set('routes', routes.map(withCost));
  return { members: Object.fromEntries(members), listedOn };
}

/** Members that the file gives itself stay. */
function takePrice(
  list: PriceList,
  name: string,
  members: Map<string, unknown>,
  path: Path,
  faults: Fault[],
): string | null {
  const requested = members.get(FROM_LIST);
  members.delete(FROM_LIST);
  if (requested === undefined || requested === false) return null;
  const listed = requested === true ? findListed(list, namesOf(name, members)) : null;
  const stated = ['price', 'price_changes'].find((name) => members.has(name));
  if (typeof requested !== 'boolean' || stated !== undefined || listed === null) {
    let message = 'the price list has no entry for this model, its aliases or its first route: set a price';
    if (typeof requested !== 'boolean') message = 'must be true or false';
    else if (stated !== undefined) message = `cannot be combined with ${stated}: remove one of them`;
    faults.push({ path: [...path, FROM_LIST], message });
    if (!members.has('price')) members.set('price', STAND_IN);
    return null;
  }
  members.set('price', listed.price);
  members.set('price_changes', listed.priceChanges);
  const others = {
    display_name: listed.displayName,
    serves: listed.serves,
    max_input_tokens: listed.maxInputTokens,
    max_output_tokens: listed.maxOutputTokens,
  };
  for (const [member, value] of Object.entries(others)) if (!members.has(member)) members.set(member, value);
  return listed.asOf;
}

/** Names under which the model may be on the list: its own, its aliases, and its first route's. */
function namesOf(name: string, members: ReadonlyMap<string, unknown>): string[] {
  const aliases = members.get('aliases');
  const routes = members.get('routes');
  const upstream = membersOf(Array.isArray(routes) ? routes[0] : null, [], []).get('model');
  const others: unknown[] = [...(Array.isArray(aliases) ? aliases : []), upstream];
  return [name, ...others.filter((other) => typeof other === 'string')];
}

function takeCost(
  list: PriceList,
  name: string,
  route: unknown,
  path: Path,
  faults: Fault[],
  platformOf: PlatformOf,
): unknown {
  const members = membersOf(route, [], []);
  if (members.get('cost') !== FROM_LIST) return route;
  const upstream = members.get('model') ?? name;
  const platform = platformOf(members.get('provider')) ?? { kind: '', region: null };
  const listed = typeof upstream === 'string' ? findListedCost(list, platform, upstream) : null;
  const message = 'the price list has no entry for the model of this route at its provider: set the cost';
  if (listed === null) faults.push({ path: [...path, 'cost'], message });
  if (members.has('cost_changes'))
    faults.push({ path: [...path, 'cost_changes'], message: 'cannot be combined with cost: catalogue' });
  members.set('cost', listed === null ? STAND_IN : listed.price);
  members.set('cost_changes', listed?.priceChanges ?? []);
  return Object.fromEntries(members);
}

/** A file as read. An object with a fault is null, so that references to it are not reported as faults too. */
export interface CatalogFile {
  providers: Map<string, ProviderInput | null>;
  /** Further credentials of providers that have the key, by name, including providers with faults. */
  credentials: Map<string, Map<string, CredentialInput | null>>;
  models: Map<string, ModelInput | null>;
  /** Routes and aliases of each model, including models with faults. */
  references: ReturnType<typeof readReferences>;
  groups: Map<string, GroupInput | null>;
  plans: Map<string, PlanInput | null>;
  agentPolicies: Map<string, AgentPolicyInput | null>;
  /** The file's `vendor_prefixes`: empty for a key without a value, null without the key. */
  vendorPrefixes: Pick<SettingsInput, 'vendor_prefixes'> | null;
  /** The file's `settings`; null without the key. */
  settings: Omit<SettingsInput, 'vendor_prefixes'> | null;
}

const SECTIONS = ['vendor_prefixes', 'providers', 'models', 'groups', 'plans', 'agent_policies', 'settings'];

/**
 * Reads a file (docs/configuration.md) and adds all faults of its members. `stored` finds the platform of a provider that
 * the file does not have.
 */
export function readCatalogFile(
  value: unknown,
  kinds: readonly string[],
  list: PriceList,
  faults: Fault[],
  stored: PlatformOf,
): CatalogFile {
  const sections = membersOf(value ?? {}, [], faults);
  for (const name of sections.keys())
    if (!SECTIONS.includes(name))
      faults.push({ path: [name], message: `unknown member (known: ${SECTIONS.join(', ')})` });
  const readSection = <T>(
    section: string,
    nameSchema: z.ZodType,
    read: (object: unknown, path: [section: string, name: string]) => T | null,
  ) => {
    const objects = new Map<string, T | null>();
    for (const [name, object] of membersOf(sections.get(section) ?? {}, [section], faults)) {
      readPart(nameSchema, name, [section, name], faults);
      objects.set(name, read(object, [section, name]));
    }
    return objects;
  };
  const credentials: CatalogFile['credentials'] = new Map();
  const given = membersOf(sections.get('providers') ?? {}, [], []);
  const platformOf: PlatformOf = (provider) =>
    typeof provider === 'string' && given.has(provider)
      ? platformIn(membersOf(given.get(provider), [], []))
      : stored(provider);
  return {
    credentials,
    providers: readSection('providers', plainName, (object, path) => {
      const provider = readProvider(object, kinds, path, faults);
      const given = readCredentials(object, path, faults);
      if (given !== null) credentials.set(path[1], given);
      return provider;
    }),
    models: readSection('models', modelEntryName, (object, path) => readModel(list, object, path, faults, platformOf)),
    references: readReferences(sections.get('models')),
    groups: readSection('groups', plainName, (object, path) => readPart(groupInput, object, path, faults)),
    plans: readSection('plans', plainName, (object, path) => readPart(planInput, object, path, faults)),
    agentPolicies: readSection('agent_policies', plainName, (object, path) =>
      readPart(agentPolicyInput, object, path, faults),
    ),
    vendorPrefixes: sections.has('vendor_prefixes') ? readPrefixes(sections.get('vendor_prefixes'), faults) : null,
    settings: sections.has('settings')
      ? readPart(settingsInput, sections.get('settings') ?? {}, ['settings'], faults)
      : null,
  };
}

function readModel(
  list: PriceList,
  object: unknown,
  path: [section: string, name: string],
  faults: Fault[],
  platformOf: PlatformOf,
): ModelInput | null {
  const found: Fault[] = [];
  const { members, listedOn } = takeListed(list, path[1], object, path, found, platformOf);
  const model = readPart(modelInput, members, path, faults);
  if (model !== null) checkStars(path[1], model, path, found);
  faults.push(...found);
  if (model === null || found.length > 0) return null;
  return listedOn === null ? model : { ...model, price_source: { catalogue: listedOn } };
}

/** An entry with `*` is of many models: each route follows its provider's list, and what only one model can have is refused. */
function checkStars(name: string, { aliases, display_name, routes }: ModelInput, path: Path, faults: Fault[]): void {
  const isPattern = name.includes('*');
  for (const [at, { model }] of routes.entries()) {
    if ((model ?? name).includes('*') === isPattern) continue;
    const message = isPattern
      ? 'must have one "*", as the name of the model has'
      : 'cannot have "*": the name of the model has none';
    faults.push({ path: [...path, 'routes', at, 'model'], message });
  }
  const refuse = (member: string) =>
    faults.push({ path: [...path, member], message: 'cannot be combined with "*" in the name of the model' });
  if (isPattern && aliases.length > 0) refuse('aliases');
  if (isPattern && display_name !== null) refuse('display_name');
}

/** The platform that the members of a provider name; null without a kind. */
export function platformIn(members: ReadonlyMap<string, unknown>): Platform | null {
  const [kind, region] = [members.get('kind'), members.get('region')];
  return typeof kind === 'string' ? { kind, region: typeof region === 'string' ? region : null } : null;
}

/** Names by position in the file; null for invalid ones, which are reported already. */
function readReferences(models: unknown) {
  const listOf = (value: unknown) => (Array.isArray(value) ? value : []);
  const nameIn = (schema: z.ZodType<string>, value: unknown) => schema.safeParse(value).data ?? null;
  const referencesOf = (model: unknown) => {
    const members = membersOf(model, [], []);
    return {
      providers: listOf(members.get('routes')).map((one) => nameIn(plainName, membersOf(one, [], []).get('provider'))),
      aliases: listOf(members.get('aliases')).map((alias) => nameIn(modelName, alias)),
    };
  };
  return new Map([...membersOf(models, [], [])].map(([name, model]) => [name, referencesOf(model)]));
}

function readPrefixes(value: unknown, faults: Fault[]): CatalogFile['vendorPrefixes'] {
  if (value === null) return {};
  const prefixes = readPart(vendorPrefixes, value, ['vendor_prefixes'], faults);
  return prefixes === null ? null : { vendor_prefixes: prefixes };
}
