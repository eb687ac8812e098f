// What would change if a file were applied: a pure function of the documents that stand and the
// file. It finds every fault before it plans anything; a file with a fault changes nothing.

import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../wire/wire.ts';
import { type CatalogFile, readCatalogFile } from './catalog-file.ts';
import { storedSchemas } from './document.ts';
import type { Fault } from './fault.ts';
import { checkCredentials, checkRemovedGroups, credentialMembers, type PlanSeals } from './plan-credentials.ts';
import type { CatalogDocument, DocumentKind } from './store.ts';

export const SETTINGS_NAME = 'settings'; // there is one document of this kind

export interface PlanOptions extends PlanSeals {
  /** Also remove what a file made and this one does not have. */
  prune: boolean;
  /** Also removed, whoever made them. */
  remove?: readonly Removed[];
  /** Marks what is made; what stands keeps its mark. */
  origin: CatalogDocument['origin'];
  /** The kinds of providers that the service knows. */
  kinds: readonly string[];
  /** When the models of this file are made. */
  nowMs: number;
}

/** What is to be removed by its name. */
export interface Removed {
  kind: Exclude<DocumentKind, 'settings'>;
  name: string;
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
  /** What only the caller can find out, also of a file with faults: where names lead, who is in a group, and which accounts there are. */
  questions: {
    providers: { name: string; base_url: string }[];
    removedGroups: string[];
    /** Ids of accounts that credentials of the file are for, each with its place. */
    accounts: { id: string; path: Fault['path'] }[];
  };
}

interface Named {
  kind: DocumentKind;
  name: string;
  document: JsonObject;
}

/**
 * Plans a file. Empty when everything is as the file says. An object of the file is replaced whole,
 * except for a provider's credentials: each stays when its `api_key` is left out, and the further ones all stay when
 * `credentials` is. `settings` is one object,
 * and so is `vendor_prefixes`: what stands stays only where the file does not have the key. Whether
 * accounts still use a group that is to be removed, and where names of providers resolve to, is asked
 * under `questions`, and which accounts there are: the caller finds out before it applies.
 */
export function planApply(current: readonly CatalogDocument[], file: unknown, options: PlanOptions): Plan {
  const faults: Fault[] = [];
  const read = readCatalogFile(file, options.kinds, faults);
  const standing = new Map(current.map((entry) => [keyOf(entry.kind, entry.name), entry]));
  const named = new Set((options.remove ?? []).map(({ kind, name }) => keyOf(kind, name)));
  const remove = current.filter(
    (entry) =>
      named.has(keyOf(entry.kind, entry.name)) || (options.prune && entry.origin === 'file' && !isInFile(read, entry)),
  );
  const staying = current.filter((entry) => !remove.includes(entry));
  const standingProvider = (name: string) => standing.get(keyOf('provider', name))?.document;
  const hasGroup = (name: string) =>
    read.groups.has(name) || staying.some(({ kind, name: other }) => kind === 'group' && other === name);
  checkCredentials(read, standingProvider, hasGroup, faults);
  checkRemoved(read, standing, options.remove ?? [], faults);
  checkRoutes(read, staying, remove, faults);
  checkNames(read, staying, faults);
  const removedGroups = remove.filter(({ kind }) => kind === 'group').map(({ name }) => name);
  checkRemovedGroups(read, staying, removedGroups, faults);
  const questions = { providers: providersToLookUp(read), removedGroups, accounts: accountsOf(read) };
  const plan: Plan = { faults, changes: [], put: [], remove: [], questions };
  if (faults.length > 0) return plan;
  for (const wanted of wantedDocuments(read, standing, options)) {
    const before = standing.get(keyOf(wanted.kind, wanted.name));
    const fields = before === undefined ? [] : differingMembers(asStoredNow(before), wanted.document);
    if (before !== undefined && fields.length === 0) continue;
    plan.put.push({ ...wanted, origin: before?.origin ?? options.origin });
    const change = { kind: wanted.kind, name: wanted.name };
    plan.changes.push(before === undefined ? { action: 'create', ...change } : { action: 'update', ...change, fields });
  }
  // What stands unchanged was looked up when it came: a start without a name service does not wait for it.
  const isChanged = (name: string) => plan.put.some((entry) => entry.kind === 'provider' && entry.name === name);
  questions.providers = questions.providers.filter(({ name }) => isChanged(name));
  questions.accounts = questions.accounts.filter(({ path }) => isChanged(String(path[1])));
  for (const { kind, name } of remove) {
    plan.remove.push({ kind, name });
    plan.changes.push({ action: 'delete', kind, name });
  }
  return plan;
}

/** Those of which nobody said that they may be in a private network. */
function providersToLookUp(read: CatalogFile): Plan['questions']['providers'] {
  return [...read.providers].flatMap(([name, provider]) =>
    provider === null || provider.private_network ? [] : [{ name, base_url: provider.base_url }],
  );
}

function accountsOf(read: CatalogFile): Plan['questions']['accounts'] {
  return [...read.credentials].flatMap(([provider, credentials]) =>
    [...credentials].flatMap(([name, credential]) =>
      credential === null || credential.account === null
        ? []
        : [{ id: credential.account, path: ['providers', provider, 'credentials', name, 'account'] }],
    ),
  );
}

/** What is named to be removed stands, and the file does not have it. */
function checkRemoved(
  read: CatalogFile,
  standing: ReadonlyMap<string, CatalogDocument>,
  removed: readonly Removed[],
  faults: Fault[],
): void {
  for (const [index, { kind, name }] of removed.entries()) {
    const entry = standing.get(keyOf(kind, name));
    const path = ['remove', index];
    if (entry === undefined) faults.push({ path, message: `there is no ${kind} "${name}"` });
    else if (isInFile(read, entry)) faults.push({ path, message: `the ${kind} "${name}" is in the document as well` });
  }
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
          message: `the provider "${name}" would be removed, but the model "${model.name}" has a route to it`,
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
    const { kind, base_url, private_network } = provider;
    const before = standing.get(keyOf('provider', name))?.document;
    const sealed = credentialMembers(name, provider, read.credentials.get(name), before, options);
    yield { kind: 'provider', name, document: { kind, base_url, private_network, ...sealed } };
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

/** The members that differ; of credentials each that does, by its name. */
function differingMembers(before: JsonObject, after: JsonObject): string[] {
  return differingNames(before, after).flatMap((name) => {
    if (name === 'api_key_sealed') return ['api_key'];
    if (name !== 'credentials') return [name];
    return differingNames(before[name] as JsonObject, after[name] as JsonObject).map((one) => `credentials.${one}`);
  });
}

function differingNames(before: JsonObject, after: JsonObject): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !isDeepStrictEqual(before[name], after[name]));
}

/** What stands, as this version would store it: a member that came with a newer version is no change by itself. */
function asStoredNow({ kind, document }: CatalogDocument): JsonObject {
  return (storedSchemas[kind].safeParse(document).data ?? document) as JsonObject;
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

function keyOf(kind: DocumentKind, name: string): string {
  return `${kind} ${name}`;
}
