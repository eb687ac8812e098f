// Identities at AWS: those of the environment, a profile, a container, an instance or a web identity, and given keys; with
// a role, its temporary keys.

import { isWholeNumber } from '../base/checked-number.ts';
import type { Auth } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { awsLoaded } from './interpret-text.ts';
import type { Loaded } from './live-secret.ts';
import { answerBy, explainFault, type LoadContext } from './load-context.ts';

type AwsAuth = Extract<Auth, { type: 'aws' | 'aws_keys' }>;

/** Keys as the library returns them. */
export interface AwsIdentity {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
}

const ROLE_SECONDS = 3_600; // the longest session that every role allows

/** Reads everything anew: a library that keeps keys would not see that they were rotated. Throws CredentialFault. */
export async function loadAwsIdentity(
  auth: AwsAuth,
  text: string,
  { holder }: LoadContext,
  signal: AbortSignal,
): Promise<Loaded> {
  const inputs = text === '' ? [] : [text];
  try {
    const source = await sourceOf(auth, text, holder.region);
    const finding = auth.role_arn === undefined ? source() : assumeRole(auth, source, holder.region);
    return loadedOf(await answerBy(finding, signal, noAnswer(auth)), inputs);
  } catch (thrown) {
    throw explainFault(whatFailed(auth, thrown), thrown, inputs);
  }
}

/** The identity of this host, for the requests of the service itself. Throws CredentialFault. */
export async function findHostIdentity(region: string, signal: AbortSignal): Promise<AwsIdentity> {
  try {
    const source = await sourceOf({ type: 'aws' }, '', region);
    return await answerBy(source(), signal, noAnswer({ type: 'aws' }));
  } catch (thrown) {
    throw explainFault(whatFailed({ type: 'aws' }, thrown), thrown);
  }
}

type Source = () => Promise<AwsIdentity>;

async function sourceOf(auth: AwsAuth, text: string, region: string | null): Promise<Source> {
  if (auth.type === 'aws_keys') return async () => ({ accessKeyId: auth.access_key_id, secretAccessKey: text.trim() });
  const { fromNodeProviderChain } = await import('@aws-sdk/credential-providers');
  return fromNodeProviderChain({
    ignoreCache: true,
    ...(auth.profile !== undefined && { profile: auth.profile }),
    ...(region !== null && { clientConfig: { region: stsRegion(region, undefined) } }),
  });
}

async function assumeRole(auth: AwsAuth, source: Source, region: string | null): Promise<AwsIdentity> {
  const { fromTemporaryCredentials } = await import('@aws-sdk/credential-providers');
  const { role_arn: roleArn = '', external_id: externalId } = auth;
  const assume = fromTemporaryCredentials({
    masterCredentials: source,
    clientConfig: { region: stsRegion(region, roleArn), maxAttempts: 2 },
    params: {
      RoleArn: roleArn,
      RoleSessionName: 'turnpike',
      DurationSeconds: ROLE_SECONDS,
      ...(externalId !== undefined && { ExternalId: externalId }),
    },
  });
  return assume();
}

const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d$/;

/** A region of the role's partition: global names such as "us" are no region of STS. */
function stsRegion(region: string | null, roleArn: string | undefined): string {
  if (region !== null && REGION.test(region)) return region;
  if (roleArn?.startsWith('arn:aws-cn:')) return 'cn-north-1';
  if (roleArn?.startsWith('arn:aws-us-gov:')) return 'us-gov-west-1';
  return 'us-east-1';
}

function loadedOf({ accessKeyId, secretAccessKey, sessionToken, expiration }: AwsIdentity, inputs: string[]): Loaded {
  const expiresAtMs = expiration?.getTime();
  return {
    ...awsLoaded(
      { accessKeyId, secretAccessKey, sessionToken },
      isWholeNumber(expiresAtMs) ? expiresAtMs : null,
      inputs,
    ),
    rereadMs: isWholeNumber(expiresAtMs) ? null : bounds.credentialRereadMs,
  };
}

function noAnswer({ role_arn: role }: AwsAuth): string {
  return role === undefined
    ? 'the metadata server of AWS, or STS, did not answer'
    : `STS did not answer, which was asked for the role ${role}`;
}

function whatFailed({ role_arn: role, type }: AwsAuth, thrown: unknown): string {
  const name = thrown instanceof Error ? thrown.name : '';
  const isOfChain = /^(?:CredentialsProviderError|TokenProviderError)$/.test(name);
  if (role !== undefined && !(isOfChain && type === 'aws')) return `STS refused to assume the role ${role}`;
  return isOfChain ? 'this host has no identity at AWS' : 'the identity at AWS cannot be read';
}
