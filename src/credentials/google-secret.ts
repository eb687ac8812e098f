// Reads a version of a secret of Google Secret Manager.

import { loadHostIdentity } from './google-identity.ts';
import { CredentialFault, type LoadContext } from './load-context.ts';
import { requestJson } from './request-json.ts';

const BASE = 'https://secretmanager.googleapis.com/v1';

/** `secret`: projects/PROJECT/secrets/NAME, with or without /versions/VERSION. Throws CredentialFault. */
export async function readGoogleSecret(secret: string, context: LoadContext, signal: AbortSignal): Promise<string> {
  const { text: token } = await loadHostIdentity(undefined, context, signal);
  const version = /\/versions\//.test(secret) ? secret : `${secret}/versions/latest`;
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
  const request = { who: 'Google Secret Manager', url: `${BASE}/${version}:access`, headers, body: null, signal };
  const { payload } = await requestJson(request, context, [token]);
  const encoded = (payload as { data?: unknown } | undefined)?.data;
  if (typeof encoded !== 'string') throw new CredentialFault('Google Secret Manager answered without a secret');
  return Buffer.from(encoded, 'base64').toString('utf8');
}
