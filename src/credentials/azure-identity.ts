// Identities at Azure: a client secret, or what the environment has (a service principal, workload identity, a managed
// identity). None of them asks a person.

import type { TokenCredential } from '@azure/identity';
import { checkTokenHost } from './check-token-host.ts';
import { bearerLoaded } from './interpret-text.ts';
import type { Loaded } from './live-secret.ts';
import { answerBy, CredentialFault, explainFault, type LoadContext, messageOf } from './load-context.ts';

export interface AzureClient {
  tenantId: string;
  clientId: string;
  secret: string;
}

/** A token of this host; `clientId` selects one of its managed identities. Throws CredentialFault. */
export async function loadAzureIdentity(
  clientId: string | undefined,
  context: LoadContext,
  signal: AbortSignal,
): Promise<Loaded> {
  checkTokenHost('azure', context.holder);
  return loadedOf(await azureToken(clientId, scopeOf(context.holder.baseUrl), context, signal), []);
}

/** A token of a service principal by its client secret. Throws CredentialFault. */
export async function loadAzureClient(client: AzureClient, context: LoadContext, signal: AbortSignal): Promise<Loaded> {
  checkTokenHost('azure', context.holder);
  const { tenantId, clientId } = client;
  const secret = client.secret.trim();
  try {
    const { ClientSecretCredential } = await import('@azure/identity');
    const credential = new ClientSecretCredential(tenantId, clientId, secret, optionsOf(context));
    const token = requestToken(credential, scopeOf(context.holder.baseUrl), signal);
    return loadedOf(await answerBy(token, signal, "Azure's token endpoint did not answer"), [secret]);
  } catch (thrown) {
    throw explainFault(`Azure gave no token for the client ${clientId}`, thrown, [secret]);
  }
}

interface AzureToken {
  token: string;
  expiresOnTimestamp: number;
}

/** The identity of this host. Throws CredentialFault. */
export async function azureToken(
  clientId: string | undefined,
  scope: string,
  context: LoadContext,
  signal: AbortSignal,
): Promise<AzureToken> {
  const { name, credential } = await hostCredential(clientId, context);
  try {
    return await answerBy(requestToken(credential, scope, signal), signal, NO_ANSWER[name]);
  } catch (thrown) {
    if (/Network unreachable|network_error|IMDS endpoint/.test(messageOf(thrown)))
      throw new CredentialFault(NO_ANSWER[name]);
    throw explainFault(`Azure gave no token for the ${name}`, thrown);
  }
}

const NO_ANSWER = {
  'service principal of the environment': "Azure's token endpoint did not answer",
  'workload identity': "Azure's token endpoint did not answer",
  'managed identity':
    'the metadata server did not answer, and the environment names no other identity: this host has no identity at Azure',
} as const;

interface HostCredential {
  name: keyof typeof NO_ANSWER;
  credential: TokenCredential;
}

/** The first that the environment has, as DefaultAzureCredential has them. */
async function hostCredential(clientId: string | undefined, context: LoadContext): Promise<HostCredential> {
  const library = await import('@azure/identity');
  const { EnvironmentCredential, WorkloadIdentityCredential, ManagedIdentityCredential } = library;
  const options = optionsOf(context);
  const { hasAzureSecret, hasAzureWorkload } = context.settings;
  if (hasAzureSecret && clientId === undefined)
    return { name: 'service principal of the environment', credential: new EnvironmentCredential(options) };
  const selected = clientId === undefined ? options : { ...options, clientId };
  if (hasAzureWorkload) return { name: 'workload identity', credential: new WorkloadIdentityCredential(selected) };
  return { name: 'managed identity', credential: new ManagedIdentityCredential(selected) };
}

async function requestToken(credential: TokenCredential, scope: string, signal: AbortSignal): Promise<AzureToken> {
  const token = await credential.getToken(scope, { abortSignal: signal });
  if (token === null || token.token === '') throw new CredentialFault('Azure answered without a token');
  return token;
}

function loadedOf({ token, expiresOnTimestamp }: AzureToken, inputs: readonly string[]): Loaded {
  return bearerLoaded(token, expiresOnTimestamp, inputs);
}

/** An authority that the environment names is trusted: the library would ask the public cloud about it. */
function optionsOf({ settings: { azureAuthorityHost } }: LoadContext) {
  if (azureAuthorityHost === null) return {};
  return { authorityHost: azureAuthorityHost, disableInstanceDiscovery: true };
}

/** Claude, and other models at addresses of Foundry, take tokens for ai.azure.com; older and sovereign addresses do not. */
export function scopeOf(baseUrl: string): string {
  const host = URL.parse(baseUrl)?.hostname ?? '';
  const sovereign = /\.azure\.(us|cn)$/.exec(host)?.[1];
  if (sovereign !== undefined) return `https://cognitiveservices.azure.${sovereign}/.default`;
  const isOlder = /\.(?:openai|cognitiveservices)\.azure\.com$/.test(host);
  return `https://${isOlder ? 'cognitiveservices' : 'ai'}.azure.com/.default`;
}
