// Reads a secret of HashiCorp Vault, of either version of its key-value engine.

import type { CredentialSettings } from '../config/config.ts';
import { CredentialFault, type LoadContext } from './load-context.ts';
import { readHostFile } from './read-file.ts';
import { requestJson } from './request-json.ts';

/** `secret` is the path of the API. The answer is the JSON of the secret's members. Throws CredentialFault. */
export async function readVaultSecret(secret: string, context: LoadContext, signal: AbortSignal): Promise<string> {
  const { vault } = context.settings;
  if (vault === null) throw new CredentialFault('the environment variable VAULT_ADDR is not set');
  const base = URL.parse(vault.address);
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new CredentialFault('VAULT_ADDR is not the URL of a server');
  const ask = (path: string, token: string | null, body: string | null, secrets: string[]) =>
    requestJson(
      {
        who: 'Vault',
        url: `${base.origin}${base.pathname.replace(/\/+$/, '')}/v1/${path}`,
        headers: {
          accept: 'application/json',
          'x-vault-request': 'true',
          ...(vault.namespace !== null && { 'x-vault-namespace': vault.namespace }),
          ...(token !== null && { 'x-vault-token': token }),
          ...(body !== null && { 'content-type': 'application/json' }),
        },
        body,
        signal,
      },
      context,
      secrets,
    );
  const token = (await givenToken(vault)) ?? (await logIn(vault, context.settings, ask));
  const { data, lease_id: lease } = await ask(secret, token, null, [token]);
  // An engine that issues a secret at each reading would do so every few minutes.
  if (lease !== undefined && lease !== '') throw new CredentialFault(`${secret} is not a secret of a key-value engine`);
  const members = membersOf(data);
  if (members === null) throw new CredentialFault(`Vault has no secret at ${secret}`);
  // No credential is worth as much as the token itself, which some paths return.
  const text = JSON.stringify(members);
  if (text.includes(token)) throw new CredentialFault(`${secret} is not a secret of a key-value engine`);
  return text;
}

type VaultAccess = NonNullable<CredentialSettings['vault']>;
type Ask = (
  path: string,
  token: string | null,
  body: string | null,
  secrets: string[],
) => Promise<Record<string, unknown>>;

async function givenToken({ token, tokenFile }: VaultAccess): Promise<string | null> {
  return token ?? (tokenFile === null ? null : readHostFile(tokenFile));
}

/** By the service account that Kubernetes gave this service. */
async function logIn({ role }: VaultAccess, settings: CredentialSettings, ask: Ask): Promise<string> {
  if (role === null)
    throw new CredentialFault('none of VAULT_TOKEN, VAULT_TOKEN_FILE and VAULT_ROLE is set: Vault needs one');
  const jwt = await readHostFile(settings.serviceAccountTokenFile);
  const { auth } = await ask('auth/kubernetes/login', null, JSON.stringify({ role, jwt }), [jwt]);
  const token = (auth as { client_token?: unknown } | undefined)?.client_token;
  if (typeof token === 'string' && token !== '') return token;
  throw new CredentialFault(`Vault gave no token for the role ${role}`);
}

/** Version 2 has the members and its metadata within `data`. */
function membersOf(data: unknown): object | null {
  if (typeof data !== 'object' || data === null) return null;
  const { data: inner, metadata } = data as Record<string, unknown>;
  const isVersion2 = typeof metadata === 'object' && metadata !== null && 'version' in metadata;
  if (!isVersion2) return data;
  return typeof inner === 'object' && inner !== null ? inner : null;
}
