// Reads a provider and its credentials from a file: members must fit its kind; missing addresses get defaults.

import { findPrivateHost, isPrivateAddress, parseAddress } from '../base/addresses.ts';
import { bounds } from '../config/config.ts';
import {
  type AuthTypeDescription,
  authInput,
  describeAuthTypes,
  kindsOfAuth,
  needsSecret,
  tokenCloudOf,
  tokenHostFault,
} from './auth.ts';
import type { CredentialInput, ProviderInput } from './document.ts';
import {
  credentialInput,
  DEFAULT_CREDENTIAL,
  MESSAGES_KIND,
  plainName,
  providerMembers,
  SANDBOX_KIND,
} from './document.ts';
import { type Fault, membersOf, readPart } from './fault.ts';

/** The private address that a base URL resolves to, by `lookup`; null also for a name that does not resolve. */
export async function findPrivateAddress(
  baseUrl: string,
  lookup: (hostname: string) => Promise<readonly string[]>,
): Promise<string | null> {
  const host = findPrivateHost(baseUrl);
  if (host !== null) return host;
  const name = URL.parse(baseUrl)?.hostname;
  if (name === undefined || name === '' || name.startsWith('[') || parseAddress(name) !== null) return null;
  const addresses = await lookup(name).catch(() => []);
  return addresses.find(isPrivateAddress) ?? null;
}

/** Faults of providers whose names resolve into a private network. */
export async function findPrivateProviders(
  providers: readonly ProviderAddress[],
  lookup: (hostname: string) => Promise<readonly string[]>,
): Promise<Fault[]> {
  const found = await Promise.all(providers.map(({ url }) => findPrivateAddress(url, lookup)));
  return providers.flatMap(({ name, member }, at) => {
    const address = found[at] ?? null;
    return address === null ? [] : [privateNetworkFault(name, member, address)];
  });
}

/** Members of a provider with addresses that get its credentials. */
const ADDRESS_MEMBERS = ['base_url', 'batch_storage_url'] as const;

export interface ProviderAddress {
  name: string;
  member: (typeof ADDRESS_MEMBERS)[number];
  url: string;
}

/** The addresses that requests to the provider are sent to, of a provider in a file or a stored one. */
export function addressesOf(name: string, provider: Partial<Record<string, unknown>>): ProviderAddress[] {
  return ADDRESS_MEMBERS.flatMap((member) => {
    const url = provider[member];
    return typeof url === 'string' && url !== '' ? [{ name, member, url }] : [];
  });
}

function privateNetworkFault(provider: string, member: ProviderAddress['member'], address: string): Fault {
  return {
    path: ['providers', provider, member],
    message: `resolves to ${address} in a private network: set "private_network: true" to allow it`,
  };
}

const DEFAULT_BASE_URLS: ReadonlyMap<string, (region: string) => string> = new Map([
  [
    'anthropic',
    (region) => (region === '' ? 'https://api.anthropic.com' : `https://aws-external-anthropic.${region}.api.aws`),
  ],
  ['gemini', () => 'https://generativelanguage.googleapis.com'],
  ['openai-responses', () => 'https://api.openai.com'],
  ['bedrock', (region) => `https://bedrock-runtime.${awsDomain(region)}`],
  ['vertex', vertexBaseUrl],
]);

function awsDomain(region: string): string {
  return `${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

/** The address of the store of buckets at the cloud of a kind; empty for other kinds. */
export function defaultStorageUrl(kind: string, region: string | null): string {
  if (kind === 'bedrock') return `https://s3.${awsDomain(region ?? '')}`;
  return kind === 'vertex' ? 'https://storage.googleapis.com' : '';
}

function vertexBaseUrl(region: string): string {
  if (region === 'global') return 'https://aiplatform.googleapis.com';
  if (region === 'us' || region === 'eu') return `https://aiplatform.${region}.rep.googleapis.com`;
  return `https://${region}-aiplatform.googleapis.com`;
}

/** Kinds whose batches are in a bucket, and what it begins with. */
const BUCKET_SCHEMES: ReadonlyMap<string, string> = new Map([
  ['bedrock', 's3://'],
  ['vertex', 'gs://'],
]);
/** Kinds of providers that may have batches of their own. */
const HAVING_BATCHES: readonly string[] = [
  'anthropic',
  'openai',
  'openai-responses',
  'gemini',
  ...BUCKET_SCHEMES.keys(),
];

/** The members that batches of a kind need; null: it has none. */
export function batchNeedsOfKind(kind: string): ('batch_bucket' | 'batch_role')[] | null {
  if (!HAVING_BATCHES.includes(kind)) return null;
  return [
    ...(BUCKET_SCHEMES.has(kind) ? ['batch_bucket' as const] : []),
    ...(WITH_ROLE.includes(kind) ? ['batch_role' as const] : []),
  ];
}

const WITH_ROLE: readonly string[] = ['bedrock'];
const VENDOR_ADDRESSES: readonly string[] = [
  'https://api.anthropic.com',
  'https://generativelanguage.googleapis.com',
  'https://api.openai.com',
];

/** Whether requests of batches are sent as batches of the provider if nothing else is said: at a vendor, not at a server that is compatible with it. */
export function hasBatchesByDefault(kind: string, baseUrl: string): boolean {
  return HAVING_BATCHES.includes(kind) && VENDOR_ADDRESSES.includes(baseUrl.replace(/\/v\d\w*$/, ''));
}

/** Kinds whose address and requests depend on a region, and those that need a project. */
const REGIONAL: readonly string[] = ['bedrock', 'vertex'];
const OF_PROJECT: readonly string[] = ['vertex'];
/** The kind of Claude Platform on AWS, too, which has regions. */
const MAY_HAVE_REGION: readonly string[] = [...REGIONAL, MESSAGES_KIND];

/** Kinds of many servers, with fields of their own. */
const PASSING: readonly string[] = ['openai', 'openai-responses'];

/** The members that a kind needs beside those of every kind. */
export function membersOfKind(kind: string): ('region' | 'project')[] {
  return [
    ...(REGIONAL.includes(kind) ? ['region' as const] : []),
    ...(OF_PROJECT.includes(kind) ? ['project' as const] : []),
  ];
}

/** The types of `auth` that a kind accepts; none inside the service. */
export function authTypesOfKind(kind: string): AuthTypeDescription[] {
  return kind === SANDBOX_KIND ? [] : describeAuthTypes(kind);
}

/** Default base URL of a provider kind; null if it must be given, or depends on a region. */
export function defaultBaseUrl(kind: string, region: string | null = null): string | null {
  if (REGIONAL.includes(kind) && region === null) return null;
  return DEFAULT_BASE_URLS.get(kind)?.(region ?? '') ?? null;
}

type ProviderPath = [section: string, name: string];

/** Checks members also beside other faults, so that all are reported. */
export function readProvider(
  object: unknown,
  kinds: readonly string[],
  path: ProviderPath,
  faults: Fault[],
): ProviderInput | null {
  const given = membersOf(object, [], []);
  const unknownKinds = findUnknownKind(given.get('kind'), kinds, path);
  faults.push(...unknownKinds);
  const members = readPart(providerMembers, object, path, faults);
  const misfits = findMisfits(given, kinds, path);
  faults.push(...misfits);
  if (members === null || unknownKinds.length + misfits.length > 0) return null;
  const { credentials: _, ...others } = members;
  const base_url = members.base_url ?? defaultBaseUrl(members.kind, members.region) ?? '';
  const { batch_storage_url: storage } = others;
  return {
    ...others,
    base_url: base_url.replace(/\/+$/, ''),
    ...(storage !== undefined && { batch_storage_url: storage.replace(/\/+$/, '') }),
  };
}

function findUnknownKind(kind: unknown, kinds: readonly string[], path: ProviderPath): Fault[] {
  if (typeof kind !== 'string' || kinds.includes(kind)) return [];
  return [{ path: [...path, 'kind'], message: `must be one of ${kinds.join(', ')}` }];
}

/**
 * Further credentials by name, including those of a provider with faults; one with a fault maps to null. null without
 * the key; empty for a key without a value.
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
      faults.push({ path: [...place, name], message: 'is reserved for the credential in api_key' });
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
    return ['base_url', 'api_key', 'auth', 'credentials']
      .filter((name) => members.has(name))
      .map((name) => faultOf(name, 'is only for providers outside the service'));
  if (members.get('bearer') === true && kind !== MESSAGES_KIND)
    return [faultOf('bearer', `is only for the kind ${MESSAGES_KIND}: other kinds send the header of their provider`)];
  if (members.has('passthrough') && !PASSING.includes(kind))
    return [faultOf('passthrough', `is only for the kinds ${PASSING.join(', ')}`)];
  const ofBatches = findBatchMisfits(members, kind, path[1], faultOf);
  if (ofBatches.length > 0) return ofBatches;
  if (members.get('allow_storage') === true && kind !== 'gemini')
    return [faultOf('allow_storage', 'is only for the kind gemini')];
  if (members.has('workspace') && kind !== MESSAGES_KIND)
    return [faultOf('workspace', `is only for the kind ${MESSAGES_KIND}`)];
  const ofCloud = findCloudMisfits(members, kind, faultOf);
  if (ofCloud.length > 0) return ofCloud;
  if (baseUrl === undefined && (DEFAULT_BASE_URLS.has(kind) || !kinds.includes(kind))) return [];
  if (baseUrl === undefined || baseUrl === '')
    return [faultOf('base_url', `is missing: the kind ${kind} has no default address`)];
  if (typeof baseUrl !== 'string') return [];
  if (!isBaseUrl(WITH_VERSION.includes(kind) ? baseUrl.replace(API_VERSION, '') : baseUrl))
    return [faultOf('base_url', NO_BASE_URL)];
  return findPrivateMisfit(members, path[1], 'base_url');
}

const NO_BASE_URL = 'must be an http or https URL without user, query and fragment';

/** The fault of an address in a private network that the file does not allow. */
function findPrivateMisfit(
  members: ReadonlyMap<string, unknown>,
  provider: string,
  member: ProviderAddress['member'],
): Fault[] {
  const host = members.get('private_network') === true ? null : findPrivateHost(String(members.get(member)));
  return host === null ? [] : [privateNetworkFault(provider, member, host)];
}

/** Faults of the members of batches: at clouds, these need a bucket, and Bedrock a role. */
function findBatchMisfits(
  members: ReadonlyMap<string, unknown>,
  kind: string,
  provider: string,
  faultOf: (member: string, message: string) => Fault,
): Fault[] {
  const isBatched = members.get('batches') === true;
  const scheme = BUCKET_SCHEMES.get(kind);
  const kindsOf: readonly [member: string, kinds: readonly string[], needed: boolean][] = [
    ['batches', HAVING_BATCHES, false],
    ['batch_cost', HAVING_BATCHES, false],
    ['batch_bucket', [...BUCKET_SCHEMES.keys()], isBatched],
    ['batch_role', WITH_ROLE, isBatched],
    ['batch_storage_url', [...BUCKET_SCHEMES.keys()], false],
  ];
  for (const [name, kinds, isNeeded] of kindsOf) {
    if (members.has(name) && !kinds.includes(kind))
      return [faultOf(name, `is only for the kind${kinds.length > 1 ? 's' : ''} ${kinds.join(', ')}`)];
    if (isNeeded && !members.has(name) && kinds.includes(kind))
      return [faultOf(name, `is missing: batches of the kind ${kind} need it`)];
  }
  if (scheme === undefined) return [];
  const bucket = members.get('batch_bucket');
  if (typeof bucket === 'string' && !bucket.startsWith(scheme))
    return [faultOf('batch_bucket', `must begin with ${scheme}`)];
  const auth = authInput.safeParse(members.get('auth')).data;
  const isText = members.has('auth') ? auth !== undefined && kindsOfAuth(auth) === null : members.has('api_key');
  if (isBatched && isText)
    return [faultOf('batches', `needs auth of a type for the kind ${kind}: no other credential opens the bucket`)];
  const storage = members.get('batch_storage_url');
  if (storage === undefined) return [];
  if (typeof storage !== 'string' || !isBaseUrl(storage)) return [faultOf('batch_storage_url', NO_BASE_URL)];
  return findPrivateMisfit(members, provider, 'batch_storage_url');
}

/** Faults of the members `region`, `project` and `auth`, also those of further credentials. */
function findCloudMisfits(
  members: ReadonlyMap<string, unknown>,
  kind: string,
  faultOf: (member: string, message: string) => Fault,
): Fault[] {
  const faults: Fault[] = [];
  for (const [name, kinds, others] of [
    ['region', REGIONAL, MAY_HAVE_REGION],
    ['project', OF_PROJECT, OF_PROJECT],
  ] as const) {
    if (members.has(name) && !others.includes(kind))
      faults.push(faultOf(name, `is only for the kinds ${others.join(', ')}`));
    if (!members.has(name) && kinds.includes(kind)) faults.push(faultOf(name, `is missing: the kind ${kind} needs it`));
  }
  if (kind === MESSAGES_KIND && members.has('region') && !members.has('workspace'))
    faults.push(faultOf('workspace', 'is missing: every request to Claude Platform on AWS names it'));
  const hasRegion = members.has('region');
  const own = authMisfit(members, kind, hasRegion);
  if (own !== null) faults.push(faultOf(own.member, own.message));
  const credentials = membersOf(members.get('credentials') ?? {}, [], []);
  const further = [...credentials].map(([name, one]) => ({ name, members: membersOf(one, [], []) }));
  for (const { name, members: given } of further) {
    const misfit = authMisfit(given, kind, hasRegion);
    if (misfit === null) continue;
    const fault = faultOf('credentials', misfit.message);
    faults.push({ ...fault, path: [...fault.path, name, misfit.member] });
  }
  if (faults.length > 0) return faults;
  for (const { member, url } of addressesOf('', Object.fromEntries(members))) {
    const message = addressMisfit([members, ...further.map((one) => one.members)], url);
    if (message !== null) faults.push(faultOf(member, message));
  }
  return faults;
}

interface Misfit {
  member: 'auth' | 'api_key';
  message: string;
}

/** Why a credential's `auth` does not fit the kind or its `api_key`; null: it fits, or has faults of its own. */
function authMisfit(members: ReadonlyMap<string, unknown>, kind: string, hasRegion: boolean): Misfit | null {
  const auth = authInput.safeParse(members.get('auth')).data;
  if (auth === undefined) return null;
  const only = kindsOfAuth(auth);
  const misfit = (message: string): Misfit => ({ member: 'auth', message: `of the type ${auth.type} ${message}` });
  if (only !== null && !only.includes(kind))
    return misfit(`is only for the kind${only.length > 1 ? 's' : ''} ${only.join(', ')}`);
  if (kind === MESSAGES_KIND && auth.type.startsWith('aws') && only !== null && !hasRegion)
    return misfit('needs the region of Claude Platform on AWS');
  if (members.has('api_key') && !needsSecret(auth)) return misfit('cannot be combined with api_key');
  if ('external_id' in auth && auth.role_arn === undefined) return misfit('needs role_arn with external_id');
  const key = members.get('api_key');
  if (auth.type === 'google_key' && typeof key === 'string' && !isServiceAccountKey(key))
    return { member: 'api_key', message: 'must be the JSON of a key of a service account' };
  return null;
}

/** Other types of JSON would name files and addresses that the service then reads. */
function isServiceAccountKey(text: string): boolean {
  try {
    return membersOf(JSON.parse(text), [], []).get('type') === 'service_account';
  } catch {
    return false;
  }
}

/** Why the address must not be sent the tokens of one of the credentials; null: it may. */
function addressMisfit(credentials: readonly ReadonlyMap<string, unknown>[], baseUrl: string): string | null {
  for (const credential of credentials) {
    const auth = authInput.safeParse(credential.get('auth')).data;
    const cloud = auth === undefined ? null : tokenCloudOf(auth);
    const fault = cloud === null ? null : tokenHostFault(cloud, baseUrl);
    if (auth !== undefined && fault !== null) return `${fault} (auth of the type ${auth.type})`;
  }
  return null;
}

/** Kinds whose addresses may have Azure's older API version query, and no other. */
const WITH_VERSION: readonly string[] = ['openai', 'openai-responses', 'foundry'];
const API_VERSION = /\?api-version=[\w.-]+$/;

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false;
  return url.username === '' && url.password === '' && !/[?#\s]/.test(text);
}
