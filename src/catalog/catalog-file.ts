// Reads the file that `apply` takes: every fault of its members is found, also beside others, and
// what it takes from the price list is put in its place. What would change is planned elsewhere.

import type { z } from 'zod';
import {
  type CredentialInput,
  type GroupInput,
  groupInput,
  type ModelInput,
  modelInput,
  modelName,
  type ProviderInput,
  plainName,
  type SettingsInput,
  settingsInput,
  vendorPrefixes,
} from './document.ts';
import { type Fault, membersOf, readPart } from './fault.ts';
import { readCredentials, readProvider } from './read-provider.ts';
import { takeListed } from './take-listed.ts';

/** A file as it was read. A name whose object has a fault stands with null, so that references to it are no faults too. */
export interface CatalogFile {
  providers: Map<string, ProviderInput | null>;
  /** The further credentials of those providers that have the key, by name, also where the provider has a fault. */
  credentials: Map<string, Map<string, CredentialInput | null>>;
  models: Map<string, ModelInput | null>;
  /** What each model leads to and is called, also of one that has a fault. */
  references: Map<string, ModelReferences>;
  groups: Map<string, GroupInput | null>;
  /** What the file says under `vendor_prefixes`: empty for a key without a value, null without the key. */
  vendorPrefixes: Pick<SettingsInput, 'vendor_prefixes'> | null;
  /** The members that the file has under `settings`; null without the key. */
  settings: Omit<SettingsInput, 'vendor_prefixes'> | null;
}

/** Names by their positions in the file; null for what cannot be one, which is a fault already. */
export interface ModelReferences {
  providers: (string | null)[];
  aliases: (string | null)[];
}

const SECTIONS = ['vendor_prefixes', 'providers', 'models', 'groups', 'settings'];

/** Reads a file (contract.md, "The file that apply takes"), adding every fault of its members. */
export function readCatalogFile(value: unknown, kinds: readonly string[], faults: Fault[]): CatalogFile {
  const sections = membersOf(value ?? {}, [], faults);
  for (const name of sections.keys())
    if (!SECTIONS.includes(name))
      faults.push({ path: [name], message: `there is no such member (known: ${SECTIONS.join(', ')})` });
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
  return {
    credentials,
    providers: readSection('providers', plainName, (object, path) => {
      const provider = readProvider(object, kinds, path, faults);
      const given = readCredentials(object, path, faults);
      if (given !== null) credentials.set(path[1], given);
      return provider;
    }),
    models: readSection('models', modelName, (object, path) => readModel(object, path, faults)),
    references: readReferences(sections.get('models')),
    groups: readSection('groups', plainName, (object, path) => readPart(groupInput, object, path, faults)),
    vendorPrefixes: sections.has('vendor_prefixes') ? readPrefixes(sections.get('vendor_prefixes'), faults) : null,
    settings: sections.has('settings')
      ? readPart(settingsInput, sections.get('settings') ?? {}, ['settings'], faults)
      : null,
  };
}

/** Its members, with what they take from the price list in its place. */
function readModel(object: unknown, path: [section: string, name: string], faults: Fault[]): ModelInput | null {
  const found: Fault[] = [];
  const { members, listedOn } = takeListed(path[1], object, path, found);
  const model = readPart(modelInput, members, path, faults);
  faults.push(...found);
  if (model === null || found.length > 0) return null;
  return listedOn === null ? model : { ...model, price_source: { catalogue: listedOn } };
}

function readReferences(models: unknown): CatalogFile['references'] {
  const listOf = (value: unknown) => (Array.isArray(value) ? value : []);
  const nameIn = (schema: z.ZodType<string>, value: unknown) => schema.safeParse(value).data ?? null;
  const referencesOf = (model: unknown): ModelReferences => {
    const members = membersOf(model, [], []);
    return {
      providers: listOf(members.get('routes')).map((one) => nameIn(plainName, membersOf(one, [], []).get('provider'))),
      aliases: listOf(members.get('aliases')).map((alias) => nameIn(modelName, alias)),
    };
  };
  const named = [...membersOf(models, [], [])].map(([name, model]): [string, ModelReferences] => [
    name,
    referencesOf(model),
  ]);
  return new Map(named);
}

function readPrefixes(value: unknown, faults: Fault[]): CatalogFile['vendorPrefixes'] {
  if (value === null) return {};
  const prefixes = readPart(vendorPrefixes, value, ['vendor_prefixes'], faults);
  return prefixes === null ? null : { vendor_prefixes: prefixes };
}
