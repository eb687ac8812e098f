// The loader of each type of `auth`.

import type { Auth } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { variableFault } from './find-auth-fault.ts';
import { loadText } from './interpret-text.ts';
import type { Load } from './live-secret.ts';
import { CredentialFault, type LoadContext } from './load-context.ts';
import { readCredentialFile } from './read-file.ts';

/** `text` is the opened `api_key`. The parts of a secret manager or a cloud are imported when they are first used. */
export function loaderOf(auth: Auth, text: string | null, context: LoadContext): Load {
  const { settings } = context;
  const given = text ?? '';
  const ofManager = (readText: Parameters<typeof loadText>[0], field: string | undefined) =>
    loadText(readText, field, bounds.credentialRereadMs, context);
  switch (auth.type) {
    case 'env':
      return loadText(async () => readVariable(auth.name, context), auth.field, null, context);
    case 'file': {
      const { path, field } = auth;
      return loadText(() => readCredentialFile(path, settings), field, bounds.credentialFileLookMs, context);
    }
    case 'aws_secret':
      return ofManager(
        async (signal) => (await import('./aws-secret.ts')).readAwsSecret(auth, context, signal),
        auth.field,
      );
    case 'google_secret':
      return ofManager(
        async (signal) => (await import('./google-secret.ts')).readGoogleSecret(auth.secret, context, signal),
        auth.field,
      );
    case 'azure_secret':
      return ofManager(
        async (signal) => (await import('./azure-secret.ts')).readAzureSecret(auth.secret, context, signal),
        auth.field,
      );
    case 'vault':
      return ofManager(
        async (signal) => (await import('./vault-secret.ts')).readVaultSecret(auth.secret, context, signal),
        auth.field,
      );
    case 'aws':
    case 'aws_keys':
      return async (signal) => (await import('./aws-identity.ts')).loadAwsIdentity(auth, given, context, signal);
    case 'google':
      return async (signal) => (await import('./google-identity.ts')).loadGoogleIdentity(auth.path, context, signal);
    case 'google_key':
      return async (signal) => (await import('./google-identity.ts')).loadGoogleKey(given, context, signal);
    case 'azure':
      return async (signal) => (await import('./azure-identity.ts')).loadAzureIdentity(auth.client_id, context, signal);
    case 'azure_client': {
      const client = { tenantId: auth.tenant_id, clientId: auth.client_id, secret: given };
      return async (signal) => (await import('./azure-identity.ts')).loadAzureClient(client, context, signal);
    }
  }
}

function readVariable(name: string, { settings }: LoadContext): string {
  const fault = variableFault(name, settings);
  if (fault !== null) throw new CredentialFault(fault);
  return settings.readVariable(name) ?? '';
}
