// The credentials of a plan: which of them a file gives and which stay, whom they are for, and where
// they must not go. A pure part of the plan; nothing here repeats a credential.

import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import type { CatalogFile } from './catalog-file.ts';
import type { CredentialInput, ProviderInput } from './document.ts';
import type { Fault } from './fault.ts';
import { credentialContext } from './reseal-document.ts';
import type { CatalogDocument } from './store.ts';

/** What opens and seals while a plan is made. */
export interface PlanSeals {
  seal(text: string, context: string): string;
  unseal(sealed: string, context: string): string;
}

/** What stands of the provider of a name; undefined where none does. */
type Standing = (provider: string) => JsonObject | undefined;

const ELSEWHERE = 'must be given anew, because base_url leads elsewhere: a credential is never sent to another host';

/**
 * Finds credentials that nothing stands for, that would go to another host than they were given for, and whose group
 * there is not. `hasGroup` is asked of the state after the file.
 */
export function checkCredentials(
  read: CatalogFile,
  standingOf: Standing,
  hasGroup: (name: string) => boolean,
  faults: Fault[],
): void {
  for (const [provider, credentials] of read.credentials) {
    const standing = furtherOf(standingOf(provider));
    for (const [name, credential] of credentials) {
      if (credential === null) continue;
      const path = ['providers', provider, 'credentials', name];
      if (credential.api_key === undefined && !standing.has(name))
        faults.push({ path: [...path, 'api_key'], message: 'is missing: no credential of this name is stored' });
      if (credential.group !== null && !hasGroup(credential.group))
        faults.push({ path: [...path, 'group'], message: `there is no group "${credential.group}"` });
    }
  }
  for (const [name, provider] of read.providers) {
    const before = standingOf(name);
    if (provider === null || before === undefined || provider.base_url === '') continue;
    if (originOf(before['base_url']) === originOf(provider.base_url)) continue;
    for (const place of keptCredentials(provider, read.credentials.get(name), before))
      faults.push({ path: ['providers', name, ...place, 'api_key'], message: ELSEWHERE });
  }
}

/** Finds credentials that stay as they are while the group that they are for goes. */
export function checkRemovedGroups(
  read: CatalogFile,
  staying: readonly CatalogDocument[],
  removedGroups: readonly string[],
  faults: Fault[],
): void {
  for (const { kind, name: provider, document } of staying) {
    if (kind !== 'provider' || read.credentials.has(provider) || read.providers.get(provider)?.base_url === '')
      continue;
    for (const [name, { group }] of furtherOf(document))
      if (typeof group === 'string' && removedGroups.includes(group))
        faults.push({
          path: ['groups'],
          message: `the group "${group}" would be removed, but the credential "${name}" of the provider "${provider}" is for it`,
        });
  }
}

/** The members of a provider's document that hold credentials; `given` are the further ones that the file has, if it has the key. */
export function credentialMembers(
  name: string,
  { base_url, api_key }: ProviderInput,
  given: ReadonlyMap<string, CredentialInput | null> | undefined,
  before: JsonObject | undefined,
  seals: PlanSeals,
): { api_key_sealed: string | null; credentials: JsonObject } {
  if (base_url === '') return { api_key_sealed: null, credentials: {} };
  const standing = furtherOf(before);
  const api_key_sealed = sealKept(api_key, before?.['api_key_sealed'], credentialContext(name), seals);
  if (given === undefined) return { api_key_sealed, credentials: Object.fromEntries(standing) };
  const credentials = [...given].flatMap(([credential, input]) => {
    if (input === null) return [];
    const { api_key: text, account, group } = input;
    const context = credentialContext(name, credential);
    const sealed = sealKept(text, standing.get(credential)?.['api_key_sealed'], context, seals);
    return [[credential, { api_key_sealed: sealed, account, group }] as const];
  });
  return { api_key_sealed, credentials: Object.fromEntries(credentials) };
}

/** The places below a provider of the credentials that a file does not give anew. */
function keptCredentials(
  { api_key }: ProviderInput,
  given: ReadonlyMap<string, CredentialInput | null> | undefined,
  before: JsonObject,
): string[][] {
  const isKept = (name: string) =>
    given === undefined || (given.has(name) && given.get(name)?.api_key === undefined && given.get(name) !== null);
  return [
    ...(api_key === undefined && typeof before['api_key_sealed'] === 'string' ? [[]] : []),
    ...[...furtherOf(before).keys()].filter(isKept).map((name) => ['credentials', name]),
  ];
}

/** A credential that is the one that stands keeps its seal, so that applying a file again changes nothing. */
function sealKept(
  text: string | undefined,
  before: JsonValue | undefined,
  context: string,
  { seal, unseal }: PlanSeals,
): string | null {
  const standing = typeof before === 'string' ? before : null;
  if (text === undefined) return standing;
  return standing !== null && opensTo(standing, text, context, unseal) ? standing : seal(text, context);
}

function opensTo(sealed: string, text: string, context: string, unseal: PlanSeals['unseal']): boolean {
  try {
    return unseal(sealed, context) === text;
  } catch {
    return false; // sealed under another installation's secret: the file's credential takes its place
  }
}

/** The stored credentials of a provider that have names. */
function furtherOf(document: JsonObject | undefined): Map<string, JsonObject> {
  const stored = document?.['credentials'];
  const members = isJsonObject(stored) ? Object.entries(stored) : [];
  return new Map(members.filter((member): member is [string, JsonObject] => isJsonObject(member[1])));
}

function originOf(baseUrl: JsonValue | undefined): string | null {
  return typeof baseUrl === 'string' ? (URL.parse(baseUrl)?.origin ?? null) : null;
}
