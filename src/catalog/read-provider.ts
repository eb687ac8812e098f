// Reads what a file says of one provider and of its credentials: that the members fit its kind, and
// where it is when the file leaves that out. What stands already is not looked at.

import { findPrivateHost } from '../base/private-address.ts';
import { bounds } from '../config.ts';
import {
  type CredentialInput,
  credentialInput,
  DEFAULT_CREDENTIAL,
  type ProviderInput,
  plainName,
  providerMembers,
  SANDBOX_KIND,
} from './document.ts';
import { type Fault, membersOf, readPart } from './fault.ts';
import { privateNetworkFault } from './private-address.ts';

const DEFAULT_BASE_URLS: Record<string, string> = {
  anthropic: 'https://api.anthropic.com',
  gemini: 'https://generativelanguage.googleapis.com',
  'openai-responses': 'https://api.openai.com',
};

/** Where a provider of the kind is when a file does not say it; null where it has to. */
export function defaultBaseUrl(kind: string): string | null {
  return DEFAULT_BASE_URLS[kind] ?? null;
}

type ProviderPath = [section: string, name: string];

/** Its members, and then whether they fit its kind: asked also beside other faults, so that all are named. */
export function readProvider(
  object: unknown,
  kinds: readonly string[],
  path: ProviderPath,
  faults: Fault[],
): ProviderInput | null {
  const members = readPart(providerMembers(kinds), object, path, faults);
  const misfits = findMisfits(membersOf(object, [], []), kinds, path);
  faults.push(...misfits);
  if (members === null || misfits.length > 0) return null;
  const { credentials: _, ...others } = members;
  const base_url = members.base_url ?? DEFAULT_BASE_URLS[members.kind] ?? '';
  return { ...others, base_url: base_url.replace(/\/+$/, '') };
}

/**
 * The further credentials of a provider, by name, also beside other faults of it; one that has a fault stands with
 * null. Null without the key; none for a key without a value.
 */
export function readCredentials(
  object: unknown,
  path: ProviderPath,
  faults: Fault[],
): Map<string, CredentialInput | null> | null {
  const members = membersOf(object, [], []);
  if (!members.has('credentials')) return null;
  const place = [...path, 'credentials'];
  const given = membersOf(members.get('credentials') ?? {}, place, faults);
  if (given.size > bounds.providerCredentialsMax) {
    faults.push({ path: place, message: `must not have more than ${bounds.providerCredentialsMax} entries` });
    return new Map();
  }
  const credentials = new Map<string, CredentialInput | null>();
  for (const [name, one] of given) {
    readPart(plainName, name, [...place, name], faults);
    if (name === DEFAULT_CREDENTIAL)
      faults.push({ path: [...place, name], message: 'is the name of the credential under api_key' });
    credentials.set(name, readPart(credentialInput, one, [...place, name], faults));
  }
  return credentials;
}

function findMisfits(members: ReadonlyMap<string, unknown>, kinds: readonly string[], path: ProviderPath): Fault[] {
  const faultOf = (member: string, message: string): Fault => ({ path: [...path, member], message });
  const kind = members.get('kind');
  const baseUrl = members.get('base_url');
  if (typeof kind !== 'string') return [];
  if (kind === SANDBOX_KIND)
    return ['base_url', 'api_key', 'credentials']
      .filter((name) => members.has(name))
      .map((name) => faultOf(name, 'is for providers outside of the service only'));
  if (baseUrl === undefined && (DEFAULT_BASE_URLS[kind] !== undefined || !kinds.includes(kind))) return [];
  if (baseUrl === undefined || baseUrl === '')
    return [faultOf('base_url', `is missing: the kind ${kind} has no address of its own`)];
  if (typeof baseUrl !== 'string') return [];
  if (!isBaseUrl(WITH_VERSION.includes(kind) ? baseUrl.replace(API_VERSION, '') : baseUrl))
    return [faultOf('base_url', 'must be an http or https address without user, query and fragment')];
  const privateHost = members.get('private_network') === true ? null : findPrivateHost(baseUrl);
  return privateHost === null ? [] : [privateNetworkFault(path[1], privateHost)];
}

/** Azure's older addresses name the version of its API in a query: of these kinds, and no other query. */
const WITH_VERSION: readonly string[] = ['openai', 'openai-responses'];
const API_VERSION = /\?api-version=[\w.-]+$/;

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false;
  return url.username === '' && url.password === '' && !/[?#\s]/.test(text);
}
