// What would change if a file were applied: a pure function of the documents that stand and the
// file. It finds every fault before it plans anything; a file with a fault changes nothing.

import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonValue } from '../wire/wire.ts';
import { type CatalogFile, readCatalogFile } from './catalog-file.ts';
import type { ProviderInput } from './document.ts';
import type { Fault } from './fault.ts';
import type { CatalogDocument, DocumentKind } from './store.ts';

export const SETTINGS_NAME = 'settings'; // there is one document of this kind

export interface PlanOptions {
  /** Also remove what a file made and this one does not have. */
  prune: boolean;
  /** Marks what is made; what stands keeps its mark. */
  origin: CatalogDocument['origin'];
  /** The kinds of providers that the service knows. */
  kinds: readonly string[];
  /** When the models of this file are made. */
  nowMs: number;
  seal(text: string, context: string): string;
  unseal(sealed: string, context: string): string;
}

/** One change, for a person to read: no value of it is shown, so no credential is. */
export interface Change {
  action: 'create' | 'update' | 'delete';
  kind: DocumentKind;
  name: string;
  /** The members that differ, for an update. */
  fields?: string[];
}

export interface Plan {
  faults: Fault[];
  changes: Change[];
  put: CatalogDocument[];
  remove: { kind: DocumentKind; name: string }[];
  /** What only the caller can find out, also of a file with faults: where names lead, and who is in a group. */
  questions: { providers: { name: string; base_url: string }[]; removedGroups: string[] };
}

interface Named {
  kind: DocumentKind;
  name: string;
  document: JsonObject;
}

/**
 * Plans a file. Empty when everything is as the file says. An object of the file is replaced whole,
 * except for a provider's credential, which stays when `api_key` is left out. `settings` is one object,
 * and so is `vendor_prefixes`: what stands stays only where the file does not have the key. Whether
 * accounts still use a group that is to be removed, and where names of providers resolve to, is asked
 * under `questions`: the caller finds out before it applies.
 */
export function planApply(current: readonly CatalogDocument[], file: unknown, options: PlanOptions): Plan {
  const faults: Fault[] = [];
  const read = readCatalogFile(file, options.kinds, faults);
  const standing = new Map(current.map((entry) => [keyOf(entry.kind, entry.name), entry]));
  const remove = options.prune ? current.filter((entry) => entry.origin === 'file' && !isInFile(read, entry)) : [];
  const staying = current.filter((entry) => !remove.includes(entry));
  checkProviders(read, standing, faults);
  checkRoutes(read, staying, remove, faults);
  checkNames(read, staying, faults);
  const removedGroups = remove.filter(({ kind }) => kind === 'group').map(({ name }) => name);
  const questions = { providers: providersToLookUp(read), removedGroups };
  const plan: Plan = { faults, changes: [], put: [], remove: [], questions };
  if (faults.length > 0) return plan;
  for (const wanted of wantedDocuments(read, standing, options)) {
    const before = standing.get(keyOf(wanted.kind, wanted.name));
    const fields = before === undefined ? [] : differingMembers(before.document, wanted.document);
    if (before !== undefined && fields.length === 0) continue;
    plan.put.push({ ...wanted, origin: before?.origin ?? options.origin });
    const change = { kind: wanted.kind, name: wanted.name };
    plan.changes.push(before === undefined ? { action: 'create', ...change } : { action: 'update', ...change, fields });
  }
  // What stands unchanged was looked up when it came: a start without a name service does not wait for it.
  const isChanged = (name: string) => plan.put.some((entry) => entry.kind === 'provider' && entry.name === name);
  questions.providers = questions.providers.filter(({ name }) => isChanged(name));
  for (const { kind, name } of remove) {
    plan.remove.push({ kind, name });
    plan.changes.push({ action: 'delete', kind, name });
  }
  return plan;
}

/** The context that binds a sealed credential to its provider. */
export function credentialContext(provider: string): string {
  return `provider:${provider}`;
}

function checkProviders(read: CatalogFile, standing: ReadonlyMap<string, CatalogDocument>, faults: Fault[]): void {
  for (const [name, provider] of read.providers) {
    if (provider === null) continue;
    const before = standing.get(keyOf('provider', name))?.document;
    if (before === undefined || provider.api_key !== undefined || typeof before['api_key_sealed'] !== 'string')
      continue;
    if (provider.base_url !== '' && originOf(before['base_url']) !== originOf(provider.base_url))
      faults.push({
        path: ['providers', name, 'api_key'],
        message: 'must be given anew, because base_url leads elsewhere: a credential is never sent to another host',
      });
  }
}

/** Those of which nobody said that they may be in a private network. */
function providersToLookUp(read: CatalogFile): Plan['questions']['providers'] {
  return [...read.providers].flatMap(([name, provider]) =>
    provider === null || provider.private_network ? [] : [{ name, base_url: provider.base_url }],
  );
}

function checkRoutes(
  read: CatalogFile,
  staying: readonly CatalogDocument[],
  remove: readonly CatalogDocument[],
  faults: Fault[],
): void {
  const stays = (provider: string) =>
    read.providers.has(provider) || staying.some((entry) => entry.kind === 'provider' && entry.name === provider);
  for (const [name, { providers }] of read.references)
    for (const [index, provider] of providers.entries())
      if (provider !== null && !stays(provider))
        faults.push({
          path: ['models', name, 'routes', index, 'provider'],
          message: `there is no provider "${provider}"`,
        });
  for (const { name } of remove.filter((entry) => entry.kind === 'provider'))
    for (const model of staying)
      if (model.kind === 'model' && !read.models.has(model.name) && routeProviders(model.document).includes(name))
        faults.push({
          path: ['providers'],
          message: `the provider "${name}" is not in the file any more, but the model "${model.name}" has a route to it`,
        });
}

/** Every name and alias leads to one model. */
function checkNames(read: CatalogFile, staying: readonly CatalogDocument[], faults: Fault[]): void {
  const others = staying.filter((entry) => entry.kind === 'model' && !read.models.has(entry.name));
  const names = new Set([...read.models.keys(), ...others.map((entry) => entry.name)]);
  const owners = new Map<string, string>();
  for (const other of others)
    for (const alias of textsOf(other.document['aliases'])) {
      owners.set(alias, other.name);
      if (read.models.has(alias))
        faults.push({ path: ['models', alias], message: `is an alias of the model "${other.name}" already` });
    }
  for (const [name, { aliases }] of read.references)
    for (const [index, alias] of aliases.entries()) {
      if (alias === null) continue;
      const path = ['models', name, 'aliases', index];
      const owner = owners.get(alias);
      if (names.has(alias)) faults.push({ path, message: `"${alias}" is the name of a model` });
      else if (owner !== undefined)
        faults.push({ path, message: `"${alias}" is an alias of the model "${owner}" already` });
      owners.set(alias, name);
    }
}

/** Everything the file asks for, as it would be stored. Called only for a file without a fault. */
function* wantedDocuments(
  read: CatalogFile,
  standing: ReadonlyMap<string, CatalogDocument>,
  options: PlanOptions,
): Generator<Named> {
  for (const [name, provider] of read.providers) {
    if (provider === null) continue;
    const before = standing.get(keyOf('provider', name))?.document['api_key_sealed'];
    yield { kind: 'provider', name, document: providerDocument(name, provider, before, options) };
  }
  for (const [name, model] of read.models) {
    const createdAt = standing.get(keyOf('model', name))?.document['created_at'];
    const created_at = typeof createdAt === 'string' ? createdAt : new Date(options.nowMs).toISOString();
    yield { kind: 'model', name, document: { ...model, created_at } };
  }
  for (const [name, group] of read.groups) yield { kind: 'group', name, document: { ...group } };
  if (!hasSettings(read)) return;
  const before = standing.get(keyOf('settings', SETTINGS_NAME));
  const document = settingsDocument(read, options.prune && before?.origin === 'file' ? {} : before?.document);
  if (before !== undefined || Object.keys(document).length > 0)
    yield { kind: 'settings', name: SETTINGS_NAME, document };
}

/** The one document of both keys of the file. */
function settingsDocument(read: CatalogFile, kept: JsonObject = {}): JsonObject {
  const { vendor_prefixes: keptPrefixes, ...keptSettings } = kept;
  const prefixes = read.vendorPrefixes ?? (keptPrefixes === undefined ? {} : { vendor_prefixes: keptPrefixes });
  return { ...prefixes, ...(read.settings ?? keptSettings) } as JsonObject;
}

/** An `api_key` that is the one that stands keeps its seal, so that applying a file again changes nothing. */
function providerDocument(
  name: string,
  { kind, base_url, api_key, private_network }: ProviderInput,
  before: JsonValue | undefined,
  options: PlanOptions,
): JsonObject {
  const context = credentialContext(name);
  const standing = typeof before === 'string' && base_url !== '' ? before : null;
  const isKept = api_key === undefined || (standing !== null && opensTo(standing, api_key, context, options));
  return { kind, base_url, private_network, api_key_sealed: isKept ? standing : options.seal(api_key, context) };
}

function opensTo(sealed: string, text: string, context: string, options: PlanOptions): boolean {
  try {
    return options.unseal(sealed, context) === text;
  } catch {
    return false; // sealed under another installation's secret: the file's credential takes its place
  }
}

function differingMembers(before: JsonObject, after: JsonObject): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names]
    .filter((name) => !isDeepStrictEqual(before[name], after[name]))
    .map((name) => (name === 'api_key_sealed' ? 'api_key' : name));
}

function isInFile(read: CatalogFile, { kind, name }: CatalogDocument): boolean {
  switch (kind) {
    case 'provider':
      return read.providers.has(name);
    case 'model':
      return read.models.has(name);
    case 'group':
      return read.groups.has(name);
    case 'settings':
      return hasSettings(read);
  }
}

function hasSettings(read: CatalogFile): boolean {
  return read.settings !== null || read.vendorPrefixes !== null;
}

function routeProviders(model: JsonObject): string[] {
  const routes = model['routes'];
  return Array.isArray(routes) ? routes.flatMap((route) => textsOf([(route as JsonObject)['provider']])) : [];
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((part) => typeof part === 'string') : [];
}

function originOf(baseUrl: JsonValue | undefined): string | null {
  return typeof baseUrl === 'string' ? (URL.parse(baseUrl)?.origin ?? null) : null;
}

function keyOf(kind: DocumentKind, name: string): string {
  return `${kind} ${name}`;
}
