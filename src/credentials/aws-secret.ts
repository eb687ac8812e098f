// Reads a secret of AWS Secrets Manager by a signed request.

import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { Auth } from '../catalog/catalog.ts';
import { findHostIdentity } from './aws-identity.ts';
import { CredentialFault, type LoadContext } from './load-context.ts';
import { requestJson } from './request-json.ts';

type AwsSecret = Extract<Auth, { type: 'aws_secret' }>;

/** Throws CredentialFault. */
export async function readAwsSecret(auth: AwsSecret, context: LoadContext, signal: AbortSignal): Promise<string> {
  const region = regionOf(auth, context);
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  const base = context.settings.secretsManagerUrl ?? `https://secretsmanager.${region}.${domain}`;
  const identity = await findHostIdentity(region, signal);
  const { accessKeyId, secretAccessKey, sessionToken } = identity;
  const url = new URL('/', base);
  const body = JSON.stringify({ SecretId: auth.secret });
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
  const signer = new SignatureV4({ credentials, region, service: 'secretsmanager', sha256: Sha256 });
  const { headers } = await signer.sign({
    method: 'POST',
    protocol: url.protocol,
    hostname: url.hostname,
    path: '/',
    query: {},
    headers: {
      host: url.host,
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': 'secretsmanager.GetSecretValue',
    },
    body,
  });
  const secrets = [secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])];
  const request = { who: 'AWS Secrets Manager', url: url.href, headers, body, signal };
  const { SecretString: text, SecretBinary: binary } = await requestJson(request, context, secrets);
  if (typeof text === 'string') return text;
  if (typeof binary === 'string') return Buffer.from(binary, 'base64').toString('utf8');
  throw new CredentialFault('AWS Secrets Manager answered without a secret');
}

/** The region of the member, of the ARN, or of the environment. */
function regionOf({ region, secret }: AwsSecret, { settings }: LoadContext): string {
  const ofArn = /^arn:[\w-]+:secretsmanager:([a-z0-9-]+):/.exec(secret)?.[1];
  const found = region ?? ofArn ?? settings.awsRegion;
  if (found !== null && /^[a-z][a-z0-9-]{0,39}$/.test(found)) return found;
  throw new CredentialFault('the region of AWS Secrets Manager is not known: set region, or AWS_REGION');
}

/** The hash that the signer takes. */
class Sha256 {
  readonly #hash: Hash | Hmac;
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }
  update(chunk: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(chunk));
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {
    throw new Error('a hash is used once');
  }
}

function bytesOf(value: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof value === 'string') return Buffer.from(value);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return Buffer.from(value);
}
