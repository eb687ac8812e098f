// Identities at Google Cloud: a service account's key, a file of the host, or what the environment has (application default
// credentials, workload identity federation, the metadata server).

import type { AwsClientOptions, IdentityPoolClientOptions } from 'google-auth-library';
import { checkTokenHost } from './check-token-host.ts';
import { bearerLoaded, parseObject } from './interpret-text.ts';
import type { Loaded } from './live-secret.ts';
import { answerBy, CredentialFault, explainFault, type LoadContext, messageOf } from './load-context.ts';
import { readCredentialFile } from './read-file.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

type Client = { getAccessToken(): Promise<{ token?: string | null }>; credentials: { expiry_date?: number | null } };

/** A token of the file, or of the environment. Throws CredentialFault. */
export async function loadGoogleIdentity(
  path: string | undefined,
  context: LoadContext,
  signal: AbortSignal,
): Promise<Loaded> {
  checkTokenHost('google', context.holder);
  return loadHostIdentity(path, context, signal);
}

/** The identity of this host, for the requests of the service itself. Throws CredentialFault. */
export async function loadHostIdentity(
  path: string | undefined,
  context: LoadContext,
  signal: AbortSignal,
): Promise<Loaded> {
  if (path !== undefined) return loadFile(path, context, signal);
  try {
    const { GoogleAuth, gcpMetadata } = await import('google-auth-library');
    gcpMetadata.resetIsAvailableCache(); // a host that was asked while it started would have no identity forever
    const projectId = 'unused'; // the library looks for one by running a command
    const auth = new GoogleAuth({ scopes: SCOPE, projectId, clientOptions: optionsOf(context) });
    const client = await answerBy(auth.getClient(), signal, 'the metadata server did not answer');
    return await tokenOf(client as Client, [], signal);
  } catch (thrown) {
    if (/Could not load the default credentials/.test(messageOf(thrown)))
      throw new CredentialFault(
        'the metadata server did not answer, and GOOGLE_APPLICATION_CREDENTIALS is not set: this host has no identity at Google Cloud',
      );
    throw explainFault('the identity at Google Cloud gave no token', thrown);
  }
}

/** A token of a service account's key, or of a platform whose token is exchanged. */
async function loadFile(path: string, context: LoadContext, signal: AbortSignal): Promise<Loaded> {
  const text = await readCredentialFile(path, context.settings, true);
  const config = parseObject(text);
  if (config === null) throw new CredentialFault(`the file ${path} is not a JSON object`);
  const { type, credential_source: source } = config;
  if (type === 'service_account') return loadGoogleKey(text, context, signal);
  if (type !== 'external_account' || typeof source !== 'object' || source === null || 'executable' in source)
    throw new CredentialFault(
      `the file ${path} is neither the key of a service account nor a configuration of workload identity federation`,
    );
  try {
    const { AwsClient, IdentityPoolClient } = await import('google-auth-library');
    const given = { ...config, ...optionsOf(context) } as unknown as IdentityPoolClientOptions & AwsClientOptions;
    const client = 'environment_id' in source ? new AwsClient(given) : new IdentityPoolClient(given);
    client.scopes = [SCOPE];
    return await tokenOf(client, [text], signal);
  } catch (thrown) {
    throw explainFault(`the platform's token was not exchanged for one of Google (${path})`, thrown, [text]);
  }
}

/**
 * A token by the key of a service account. Other types of JSON would let its author name files and addresses that this
 * host reads. Throws CredentialFault.
 */
export async function loadGoogleKey(text: string, context: LoadContext, signal: AbortSignal): Promise<Loaded> {
  checkTokenHost('google', context.holder);
  const { type, client_email: email, private_key: key, private_key_id: keyId } = parseObject(text.trim()) ?? {};
  if (type !== 'service_account' || typeof email !== 'string' || typeof key !== 'string')
    throw new CredentialFault(
      'the key is not that of a service account: JSON with "type": "service_account", "client_email" and "private_key"',
    );
  const secrets = [text, key];
  try {
    const { JWT } = await import('google-auth-library');
    const known = typeof keyId === 'string' ? { keyId } : {};
    const client = new JWT({ email, key, ...known, scopes: [SCOPE], ...optionsOf(context) });
    return await tokenOf(client, secrets, signal);
  } catch (thrown) {
    throw explainFault(`Google gave no token for ${email}`, thrown, secrets);
  }
}

async function tokenOf(client: Client, inputs: readonly string[], signal: AbortSignal): Promise<Loaded> {
  const { token } = await answerBy(client.getAccessToken(), signal, 'the server of tokens did not answer');
  if (typeof token !== 'string' || token === '') throw new CredentialFault('Google answered without a token');
  return bearerLoaded(token, client.credentials.expiry_date, inputs);
}

function optionsOf({ fetch: send }: LoadContext) {
  return send === undefined ? {} : { transporterOptions: { fetchImplementation: send } };
}
