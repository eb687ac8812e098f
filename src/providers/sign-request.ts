// Signs requests with AWS Signature Version 4.

import { Sha256 } from '../base/sha256.ts';
import type { AwsKeys, Secret } from '../secrets/secrets.ts';
import { objectOf, textOf } from '../wire/wire.ts';
import type { SignedRequest } from './http-api.ts';
import { parseErrorJson } from './map-fault.ts';
import { ProviderFault } from './provider.ts';
import { methodOf } from './upstream.ts';

/**
 * The headers with the signature, for a credential with the use `aws`; those that proxies may change are not signed, nor is a
 * streamed body. The path must have each segment encoded once. Throws ProviderFault (credentials).
 */
export async function signRequest(
  { url, headers, body, ...given }: SignedRequest,
  { credential, service, region, now }: { credential: Secret; service: string; region: string; now: Date },
): Promise<Record<string, string>> {
  const { host, hostname, pathname, protocol, searchParams } = new URL(url);
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const credentials = readKeys(credential);
  const uriEscapePath = service !== 's3'; // its path is signed as it is sent
  const signer = new SignatureV4({ credentials, region, service, sha256: Sha256, uriEscapePath });
  const isStreamed = typeof body === 'object' && body !== null;
  const contentType = isStreamed ? body.contentType : (headers['content-type'] ?? '');
  const signed = await signer.sign(
    {
      method: methodOf({ ...given, body }),
      protocol,
      hostname,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: {
        host,
        'content-type': contentType,
        ...(isStreamed && { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }),
      },
      ...(typeof body === 'string' && { body }),
    },
    { signingDate: now },
  );
  const { host: _, ...own } = signed.headers; // the runtime writes it
  return { ...headers, ...own };
}

function readKeys(credential: Secret): AwsKeys {
  const { accessKeyId, secretAccessKey, sessionToken } = objectOf(parseErrorJson(credential.reveal()));
  if (!isHeaderText(accessKeyId) || textOf(secretAccessKey) === '' || !isHeaderText(sessionToken ?? 'none'))
    throw new ProviderFault('credentials', "the provider's credential has no AWS access key");
  return {
    accessKeyId: textOf(accessKeyId),
    secretAccessKey: textOf(secretAccessKey),
    ...(typeof sessionToken === 'string' && { sessionToken }),
  };
}

function isHeaderText(value: unknown): boolean {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
}
