// Reads a secret of Azure Key Vault.

import { azureToken } from './azure-identity.ts';
import { CredentialFault, type LoadContext } from './load-context.ts';
import { requestJson } from './request-json.ts';

/** `secret`: https://NAME.vault.azure.net/secrets/NAME, with or without a version. Throws CredentialFault. */
export async function readAzureSecret(secret: string, context: LoadContext, signal: AbortSignal): Promise<string> {
  const url = new URL(secret);
  const domain = url.hostname.replace(/^[^.]+\./, '');
  const { token } = await azureToken(undefined, `https://${domain}/.default`, context, signal);
  url.searchParams.set('api-version', '7.4');
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const request = { who: 'Azure Key Vault', url: url.href, headers, body: null, signal };
  const { value } = await requestJson(request, context, [token]);
  if (typeof value !== 'string') throw new CredentialFault('Azure Key Vault answered without a secret');
  return value;
}
