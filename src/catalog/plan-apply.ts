// Plans the changes of an applied file. Pure. Finds all faults before planning; a file with a fault changes nothing.

import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, jsonObjects, objectOf } from '../wire/wire.ts';
import { type Auth, needsSecret } from './auth.ts';
import { type CatalogFile, platformIn, readCatalogFile } from './catalog-file.ts';
import { type CredentialInput, KINDS_WITH_LIST, PROTOCOLS_OF_KINDS, type ProviderInput } from './document.ts';
import type { Fault } from './fault.ts';
import { priceListIn } from './price-list/price-list.ts';
import { addressesOf, type ProviderAddress } from './read-provider.ts';
import type { CatalogDocument, DocumentKind } from './store.ts';
import { credentialContext, storedSchemas } from './store.ts';

interface PlanSeals {
  seal(text: string, context: string): string;
  unseal(sealed: string, context: string): string;
}

interface Basis {
  read: CatalogFile;
  /** All stored objects, by `keyOf`. */
  standing: ReadonlyMap<string, ObjectDocument>;
  remove: readonly ObjectDocument[];
  staying: readonly ObjectDocument[];
  report(path: Fault['path'], message: string): void;
}

function elsewhere(member: ProviderAddress['member']): string {
  return `must be given again, because ${member} has another host: a stored credential is never sent to a new host`;
}

/**
 * Finds kept credentials that do not exist, that would be sent to a host other than the one they were given for, or whose
 * group does not exist after the file.
 */
function checkCredentials({ read, standing: stored, staying, report }: Basis): void {
  const standingOf = (provider: string) => stored.get(keyOf('provider', provider))?.document;
  const hasGroup = (name: string) => read.groups.has(name) || staying.some(isNamed('group', name));
  for (const [provider, credentials] of read.credentials) {
    const standing = furtherOf(standingOf(provider));
    for (const [name, credential] of credentials) {
      if (credential === null) continue;
      const path = ['providers', provider, 'credentials', name];
      const kept = keptSeal(credential.auth, standing.get(name));
      if (credential.api_key === undefined && isKeyNeeded(credential.auth) && kept === null)
        report([...path, 'api_key'], 'is missing: no credential of this name is stored');
      if (credential.group !== null && !hasGroup(credential.group))
        report([...path, 'group'], `there is no group "${credential.group}"`);
    }
  }
  for (const [name, provider] of read.providers) {
    const before = standingOf(name);
    const isMissing = provider?.api_key === undefined && keptSeal(provider?.auth, before) === null;
    if (provider?.auth !== undefined && needsSecret(provider.auth) && isMissing)
      report(['providers', name, 'api_key'], `is missing: auth of the type ${provider.auth.type} needs it`);
    if (provider === null || before === undefined || provider.base_url === '') continue;
    const known = new Set(addressesOf(name, before).map(({ url }) => originOf(url)));
    const moved = addressesOf(name, provider).find(({ url }) => !known.has(originOf(url)));
    if (moved === undefined) continue;
    for (const place of keptCredentials(provider, read.credentials.get(name), before))
      report(['providers', name, ...place, 'api_key'], elsewhere(moved.member));
  }
}

/** Finds kept credentials whose group is removed. */
function checkRemovedGroups({ read, staying, report }: Basis, removedGroups: readonly string[]): void {
  for (const { kind, name: provider, document } of staying) {
    if (kind !== 'provider' || read.credentials.has(provider) || read.providers.get(provider)?.base_url === '')
      continue;
    for (const [name, { group }] of furtherOf(document))
      if (typeof group === 'string' && removedGroups.includes(group))
        report(
          ['groups'],
          `the group "${group}" would be removed, but the credential "${name}" of the provider "${provider}" is restricted to it`,
        );
  }
}

/** Finds plans with a group that does not exist after the file, and two plans that are sold at one price of Stripe. */
function checkPlans({ read, staying, report }: Basis): void {
  const planOfPrice = new Map<string, string>();
  for (const { kind, name, document } of staying)
    if (kind === 'plan' && !read.plans.has(name) && typeof document['stripe_price'] === 'string')
      planOfPrice.set(document['stripe_price'], name);
  for (const [name, plan] of read.plans) {
    const price = plan?.stripe_price ?? null;
    const other = price === null ? undefined : planOfPrice.get(price);
    if (other !== undefined) report(['plans', name, 'stripe_price'], `the plan "${other}" has this price`);
    if (price !== null) planOfPrice.set(price, name);
  }
  const hasGroup = (name: string) => read.groups.has(name) || staying.some(isNamed('group', name));
  for (const [name, plan] of read.plans)
    for (const [index, group] of (plan?.groups ?? []).entries())
      if (!hasGroup(group)) report(['plans', name, 'groups', index], `there is no group "${group}"`);
  for (const { kind, name, document } of staying)
    if (kind === 'plan' && !read.plans.has(name))
      for (const group of textsOf(document['groups']))
        if (!hasGroup(group))
          report(['groups'], `the group "${group}" would be removed, but the plan "${name}" gives it`);
}

/** The credential members of a provider's document; `given` are the file's further credentials, if it has the key. */
function credentialMembers(
  name: string,
  { base_url, api_key, auth }: ProviderInput,
  given: ReadonlyMap<string, CredentialInput | null> | undefined,
  before: JsonObject | undefined,
  seals: PlanSeals,
): { api_key_sealed: string | null; credentials: JsonObject } {
  if (base_url === '') return { api_key_sealed: null, credentials: {} };
  const standing = furtherOf(before);
  const api_key_sealed = sealKept(api_key, keptSeal(auth, before), credentialContext(name), seals);
  if (given === undefined) return { api_key_sealed, credentials: Object.fromEntries(standing) };
  const credentials = [...given].flatMap(([credential, input]) => {
    if (input === null) return [];
    const { api_key: text, auth, account, group } = input;
    const context = credentialContext(name, credential);
    const sealed = sealKept(text, keptSeal(auth, standing.get(credential)), context, seals);
    return [[credential, { api_key_sealed: sealed, ...(auth !== undefined && { auth }), account, group }] as const];
  });
  return { api_key_sealed, credentials: Object.fromEntries(credentials) };
}

/** Whether a credential has a sealed text, which a file may leave as it is. */
function isKeyNeeded(auth: Auth | undefined): boolean {
  return auth === undefined || needsSecret(auth);
}

/** The stored secret that a file may leave as it is; null: none, or that of another type, which is sent in another way. */
function keptSeal(auth: Auth | undefined, before: JsonObject | undefined): string | null {
  const sealed = before?.['api_key_sealed'];
  const isSameType = objectOf(before?.['auth'])['type'] === auth?.type;
  return typeof sealed === 'string' && isKeyNeeded(auth) && isSameType ? sealed : null;
}

/** Paths of the provider's credentials that the file keeps. */
function keptCredentials(
  { api_key, auth }: ProviderInput,
  given: ReadonlyMap<string, CredentialInput | null> | undefined,
  before: JsonObject,
): string[][] {
  const stored = furtherOf(before);
  const isKept = (name: string) => {
    const one = given?.get(name);
    return given === undefined || (one != null && one.api_key === undefined && keptSeal(one.auth, stored.get(name)));
  };
  return [
    ...(api_key === undefined && keptSeal(auth, before) !== null ? [[]] : []),
    ...[...stored.keys()].filter(isKept).map((name) => ['credentials', name]),
  ];
}

/** A credential equal to the stored one keeps its seal, so that applying a file again changes nothing. */
function sealKept(
  text: string | undefined,
  standing: string | null,
  context: string,
  { seal, unseal }: PlanSeals,
): string | null {
  if (text === undefined) return standing;
  try {
    if (standing !== null && unseal(standing, context) === text) return standing;
  } catch {
    // sealed under another installation secret: the file's credential replaces it
  }
  return seal(text, context);
}

function furtherOf(document: JsonObject | undefined): Map<string, JsonObject> {
  const members = Object.entries(objectOf(document?.['credentials']));
  return new Map(members.filter((member): member is [string, JsonObject] => isJsonObject(member[1])));
}

function originOf(url: string): string | null {
  return URL.parse(url)?.origin ?? null;
}

const SETTINGS_NAME = 'settings'; // the single document of this kind

export interface PlanOptions extends PlanSeals {
  /** Also removes objects that an earlier file created and this one omits. */
  prune: boolean;
  /** Also removed, whatever their origin. */
  remove?: readonly Removed[];
  /** The origin of created objects; existing ones keep theirs. */
  origin: CatalogDocument['origin'];
  kinds: readonly string[];
  nowMs: number;
}

/** The kinds of documents that a file has. */
type ObjectKind = Exclude<DocumentKind, 'price_list'>;
type ObjectDocument = CatalogDocument & { kind: ObjectKind };

function isObject(document: CatalogDocument): document is ObjectDocument {
  return document.kind !== 'price_list';
}

export interface Removed {
  kind: Exclude<ObjectKind, 'settings'>;
  name: string;
}

/** One change, without values, so that no credential is shown. */
export interface Change {
  action: 'create' | 'update' | 'delete';
  kind: ObjectKind;
  name: string;
  /** Changed members, for an update. */
  fields?: string[];
}

export interface Plan {
  faults: Fault[];
  changes: Change[];
  put: ObjectDocument[];
  remove: { kind: ObjectKind; name: string }[];
  /** Facts that the caller must check, also for a file with faults: name resolution, groups in use, and accounts. */
  questions: {
    providers: ProviderAddress[];
    removedGroups: string[];
    removedPlans: string[];
    /** Account ids in the file's credentials, with their paths. */
    accounts: { id: string; path: Fault['path'] }[];
    /** References and identities of credentials, with their paths. */
    auths: { auth: Auth; path: Fault['path'] }[];
  };
}

/**
 * Plans a file; the plan is empty if the catalog already matches. An object of the file replaces the stored one as a
 * whole, except for credentials: one without `api_key` keeps its secret, and a provider without `credentials` keeps the
 * further ones. `settings` and `vendor_prefixes` are one object each, kept if the file omits the key. The caller must
 * answer `questions` before it applies the plan.
 */
export function planApply(stored: readonly CatalogDocument[], file: unknown, options: PlanOptions): Plan {
  const faults: Fault[] = [];
  const current = stored.filter(isObject);
  const standing = new Map(current.map((entry) => [keyOf(entry.kind, entry.name), entry]));
  const read = readCatalogFile(file, options.kinds, priceListIn(stored), faults, (provider) =>
    platformIn(new Map(Object.entries(standing.get(keyOf('provider', String(provider)))?.document ?? {}))),
  );
  const named = new Set((options.remove ?? []).map(({ kind, name }) => keyOf(kind, name)));
  const remove = current.filter(
    (entry) =>
      named.has(keyOf(entry.kind, entry.name)) || (options.prune && entry.origin === 'file' && !isInFile(read, entry)),
  );
  const staying = current.filter((entry) => !remove.includes(entry));
  const report: Basis['report'] = (path, message) => void faults.push({ path, message });
  const basis: Basis = { read, standing, remove, staying, report };
  checkCredentials(basis);
  checkRemoved(basis, options.remove ?? []);
  checkRoutes(basis);
  checkKinds(basis);
  checkNames(basis);
  const removedGroups = remove.filter(({ kind }) => kind === 'group').map(({ name }) => name);
  const removedPlans = remove.filter(({ kind }) => kind === 'plan').map(({ name }) => name);
  checkRemovedGroups(basis, removedGroups);
  checkPlans(basis);
  const lookedUp = { providers: providersToLookUp(read), accounts: accountsOf(read), auths: authsOf(read) };
  const questions: Plan['questions'] = { ...lookedUp, removedGroups, removedPlans };
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
  // Unchanged providers were resolved when they were created: a start must not wait for a name server.
  const isChanged = (name: string) => plan.put.some(isNamed('provider', name));
  questions.providers = questions.providers.filter(({ name }) => isChanged(name));
  questions.accounts = questions.accounts.filter(
    ({ path: [section, name] }) =>
      isChanged(String(name)) || (section === 'agent_policies' && plan.put.some(isNamed('agent_policy', String(name)))),
  );
  questions.auths = questions.auths.filter(({ path }) => isChanged(String(path[1])));
  plan.remove.push(...remove.map(({ kind, name }) => ({ kind, name })));
  plan.changes.push(...plan.remove.map((removed): Change => ({ action: 'delete', ...removed })));
  return plan;
}

/** Providers that are not allowed in a private network. */
function providersToLookUp(read: CatalogFile): Plan['questions']['providers'] {
  return [...read.providers].flatMap(([name, provider]) =>
    provider === null || provider.private_network ? [] : addressesOf(name, provider),
  );
}

function accountsOf(read: CatalogFile): Plan['questions']['accounts'] {
  const ofCredentials = [...read.credentials].flatMap(([provider, credentials]) =>
    [...credentials].flatMap(([name, credential]) =>
      credential === null || credential.account === null
        ? []
        : [{ id: credential.account, path: ['providers', provider, 'credentials', name, 'account'] }],
    ),
  );
  const ofPolicies = [...read.agentPolicies].flatMap(([name, policy]) =>
    (policy?.accounts ?? []).map((id, at) => ({ id, path: ['agent_policies', name, 'accounts', at] })),
  );
  return [...ofCredentials, ...ofPolicies];
}

function authsOf(read: CatalogFile): Plan['questions']['auths'] {
  const own = [...read.providers].map(([name, provider]) => ({
    auth: provider?.auth,
    path: ['providers', name, 'auth'],
  }));
  const further = [...read.credentials].flatMap(([provider, credentials]) =>
    [...credentials].map(([name, credential]) => ({
      auth: credential?.auth,
      path: ['providers', provider, 'credentials', name, 'auth'],
    })),
  );
  return [...own, ...further].flatMap(({ auth, path }) => (auth === undefined ? [] : [{ auth, path }]));
}

/** An object to remove must exist, and must not be in the file. */
function checkRemoved({ read, standing, report }: Basis, removed: readonly Removed[]): void {
  for (const [index, { kind, name }] of removed.entries()) {
    const entry = standing.get(keyOf(kind, name));
    const path = ['remove', index];
    if (entry === undefined) report(path, `there is no ${kind} "${name}"`);
    else if (isInFile(read, entry)) report(path, `the ${kind} "${name}" is also in the document`);
  }
}

function checkRoutes({ read, staying, remove, report }: Basis): void {
  const stays = (provider: string) => read.providers.has(provider) || staying.some(isNamed('provider', provider));
  for (const [name, { providers }] of read.references)
    for (const [index, provider] of providers.entries())
      if (provider !== null && !stays(provider))
        report(['models', name, 'routes', index, 'provider'], `there is no provider "${provider}"`);
  for (const { name } of remove.filter((entry) => entry.kind === 'provider'))
    for (const model of staying)
      if (model.kind === 'model' && !read.models.has(model.name) && routeProviders(model.document).includes(name))
        report(
          ['providers'],
          `the provider "${name}" would be removed, but the model "${model.name}" has a route to it`,
        );
}

/** The protocol of a route must be one that its provider's kind has, and a route with `*` needs a list of models. */
function checkKinds({ read, staying, report }: Basis): void {
  const kindOf = (provider: string) =>
    read.providers.get(provider)?.kind ?? staying.find(isNamed('provider', provider))?.document['kind'];
  for (const [name, model] of read.models)
    for (const [index, { provider, protocol }] of (model?.routes ?? []).entries()) {
      const kind = kindOf(provider);
      if (name.includes('*') && typeof kind === 'string' && !KINDS_WITH_LIST.includes(kind))
        report(
          ['models', name, 'routes', index, 'provider'],
          `a provider of the kind ${kind} has no list of models, which "*" requires (kinds with one: ${KINDS_WITH_LIST.join(', ')})`,
        );
      if (protocol === undefined || typeof kind !== 'string') continue;
      const known = PROTOCOLS_OF_KINDS.get(kind);
      const path = ['models', name, 'routes', index, 'protocol'];
      if (known === undefined)
        report(path, `is only for providers of the kinds ${[...PROTOCOLS_OF_KINDS.keys()].join(', ')}`);
      else if (!known.includes(protocol))
        report(path, `must be one of ${known.join(', ')} at a provider of the kind ${kind}`);
    }
}

/** Names and aliases are unique. */
function checkNames({ read, staying, report }: Basis): void {
  const others = staying.filter((entry) => entry.kind === 'model' && !read.models.has(entry.name));
  const names = new Set([...read.models.keys(), ...others.map((entry) => entry.name)]);
  const owners = new Map<string, string>();
  for (const other of others)
    for (const alias of textsOf(other.document['aliases'])) {
      owners.set(alias, other.name);
      if (read.models.has(alias)) report(['models', alias], `is already an alias of the model "${other.name}"`);
    }
  for (const [name, { aliases }] of read.references)
    for (const [index, alias] of aliases.entries()) {
      if (alias === null) continue;
      const path = ['models', name, 'aliases', index];
      const owner = owners.get(alias);
      if (names.has(alias)) report(path, `"${alias}" is the name of a model`);
      else if (owner !== undefined) report(path, `"${alias}" is already an alias of the model "${owner}"`);
      owners.set(alias, name);
    }
}

/** All documents of the file, as they would be stored. Only for a file without faults. */
function* wantedDocuments(
  read: CatalogFile,
  standing: ReadonlyMap<string, ObjectDocument>,
  options: PlanOptions,
): Generator<Omit<ObjectDocument, 'origin'>> {
  for (const [name, provider] of read.providers) {
    if (provider === null) continue;
    const { kind, base_url, private_network, bearer, allow_storage, fetch_urls, api_key: _, ...others } = provider;
    const before = standing.get(keyOf('provider', name))?.document;
    const sealed = credentialMembers(name, provider, read.credentials.get(name), before, options);
    yield {
      kind: 'provider',
      name,
      document: {
        kind,
        base_url,
        private_network,
        ...(bearer && { bearer: true as const }),
        ...(allow_storage && { allow_storage: true as const }),
        ...(fetch_urls !== 'off' && { fetch_urls }),
        ...others,
        ...sealed,
      },
    };
  }
  for (const [name, model] of read.models) {
    const createdAt = standing.get(keyOf('model', name))?.document['created_at'];
    const created_at = typeof createdAt === 'string' ? createdAt : new Date(options.nowMs).toISOString();
    yield { kind: 'model', name, document: { ...model, created_at } };
  }
  for (const [name, group] of read.groups) yield { kind: 'group', name, document: { ...group } };
  for (const [name, plan] of read.plans) yield { kind: 'plan', name, document: { ...plan } };
  for (const [name, policy] of read.agentPolicies) yield { kind: 'agent_policy', name, document: { ...policy } };
  if (!hasSettings(read)) return;
  const before = standing.get(keyOf('settings', SETTINGS_NAME));
  const document = settingsDocument(read, options.prune && before?.origin === 'file' ? {} : before?.document);
  if (before !== undefined || Object.keys(document).length > 0)
    yield { kind: 'settings', name: SETTINGS_NAME, document };
}

/** The single document of both keys of the file. */
function settingsDocument(read: CatalogFile, kept: JsonObject = {}): JsonObject {
  const { vendor_prefixes: keptPrefixes, ...keptSettings } = kept;
  const prefixes = read.vendorPrefixes ?? (keptPrefixes === undefined ? {} : { vendor_prefixes: keptPrefixes });
  return { ...prefixes, ...(read.settings ?? keptSettings) } as JsonObject;
}

/** Changed members; for credentials, each changed one by name. */
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

/** The stored document as this version would write it: a member added by a newer version is not a change. */
function asStoredNow({ kind, document }: ObjectDocument): JsonObject {
  return (storedSchemas[kind].safeParse(document).data ?? document) as JsonObject;
}

function isInFile(read: CatalogFile, { kind, name }: ObjectDocument): boolean {
  if (kind === 'settings') return hasSettings(read);
  const { providers: provider, models: model, groups: group, plans: plan, agentPolicies: agent_policy } = read;
  return { provider, model, group, plan, agent_policy }[kind].has(name);
}

function hasSettings(read: CatalogFile): boolean {
  return read.settings !== null || read.vendorPrefixes !== null;
}

function routeProviders(model: JsonObject): string[] {
  return jsonObjects(model['routes']).flatMap(({ provider }) => textsOf([provider]));
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((part) => typeof part === 'string') : [];
}

function isNamed(kind: ObjectKind, name: string): (entry: CatalogDocument) => boolean {
  return (entry) => entry.kind === kind && entry.name === name;
}

function keyOf(kind: ObjectKind, name: string): string {
  return `${kind} ${name}`;
}
