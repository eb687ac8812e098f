// Identities at Google Cloud: a service account's key, a file of the host, or what the environment has (application default
// credentials, workload identity federation, the metadata server).

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config.ts';
import { checkTokenHost } from './check-token-host.ts';
import { parseObject } from './interpret-text.ts';
import type { Loaded } from './live-secret.ts';
import { CredentialFault, explainFault, type LoadContext } from './load-context.ts';
import { checkFilePlace, readHostFile } from './read-file.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

type Client = { getAccessToken(): Promise<{ token?: string | null }>; credentials: { expiry_date?: number | null } };

/** A token of the file, or of the environment. Throws CredentialFault. */
export async function loadGoogleIdentity(path: string | undefined, context: LoadContext): Promise<Loaded> {
  checkTokenHost('google', context.holder);
  return loadHostIdentity(path, context);
}

/** The identity of this host, for the requests of the service itself. Throws CredentialFault. */
export async function loadHostIdentity(path: string | undefined, context: LoadContext): Promise<Loaded> {
  try {
    const place = path === undefined ? null : await checkFilePlace(path, context.settings, true);
    if (path !== undefined && place === null) throw new CredentialFault(`the file ${path} does not exist`);
    if (place !== null && parseObject(await readHostFile(place)) === null)
      throw new CredentialFault(`the file ${path} is not a JSON object`);
    const { GoogleAuth, gcpMetadata } = await import('google-auth-library');
    gcpMetadata.resetIsAvailableCache(); // a host that was asked while it started would have no identity forever
    const auth = new GoogleAuth({
      scopes: SCOPE,
      projectId: 'unused', // the library looks for one by running a command
      ...(place !== null && { keyFilename: place }),
      ...transport(context),
    });
    return await tokenOf((await auth.getClient()) as Client, []);
  } catch (thrown) {
    if (/Could not load the default credentials/.test(messageOf(thrown)))
      throw new CredentialFault(
        'the metadata server did not answer, and GOOGLE_APPLICATION_CREDENTIALS is not set: this host has no identity at Google Cloud',
      );
    throw explainFault('the identity at Google Cloud gave no token', thrown);
  }
}

/**
 * A token by the key of a service account. Other types of JSON would let its author name files and addresses that this
 * host reads. Throws CredentialFault.
 */
export async function loadGoogleKey(text: string, context: LoadContext): Promise<Loaded> {
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
    const client = new JWT({ email, key, ...known, scopes: [SCOPE], ...transport(context).clientOptions });
    return await tokenOf(client, secrets);
  } catch (thrown) {
    throw explainFault(`Google gave no token for ${email}`, thrown, secrets);
  }
}

async function tokenOf(client: Client, inputs: readonly string[]): Promise<Loaded> {
  const { token } = await client.getAccessToken();
  if (typeof token !== 'string' || token === '') throw new CredentialFault('Google answered without a token');
  const expiresAtMs = client.credentials.expiry_date;
  return {
    text: token,
    use: 'bearer',
    parts: [token, ...inputs],
    expiresAtMs: isWholeNumber(expiresAtMs) ? expiresAtMs : null,
    rereadMs: isWholeNumber(expiresAtMs) ? null : bounds.credentialRereadMs,
  };
}

function transport({ fetch: send }: LoadContext) {
  return { clientOptions: send === undefined ? {} : { transporterOptions: { fetchImplementation: send } } };
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : '';
}
