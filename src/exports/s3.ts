// Writes objects into a store that speaks S3. A long object is uploaded in parts, and appears when it is complete. Requests
// are signed with AWS Signature Version 4 and go only to addresses that were checked.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html (2026-11-29)

import { createHash } from 'node:crypto';
import { encodeSegment } from '../base/encode-segment.ts';
import { Sha256 } from '../base/sha256.ts';
import { bounds } from '../config/config.ts';
import { callAddress, describeFault, type HttpOptions, readStart } from '../delivery/delivery.ts';
import type { ExportTarget } from './schedule.ts';

export interface S3Access {
  target: Extract<ExportTarget, { kind: 's3' }>;
  secretAccessKey: string;
  http: HttpOptions;
  now(): Date;
  /** Ends requests in progress, and refuses later ones. */
  signal?: AbortSignal;
}

/** The store refused a request, or cannot be reached. Its message is for the owner of the export. */
export class S3Failure extends Error {
  override name = 'S3Failure';
}

interface S3Request {
  method: 'PUT' | 'POST' | 'DELETE';
  object: string;
  query?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
  contentType?: string;
}

/** One object, in the making. `onBegun` is called with the id of an upload in parts, before its first part. */
export class S3Object {
  readonly #access: S3Access;
  readonly #object: string;
  readonly #contentType: string;
  readonly #onBegun: (uploadId: string) => Promise<void>;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #uploadId: string | null = null;
  readonly #etags: string[] = [];
  bytes = 0;

  constructor(access: S3Access, object: string, contentType: string, onBegun: (uploadId: string) => Promise<void>) {
    this.#access = access;
    this.#object = object;
    this.#contentType = contentType;
    this.#onBegun = onBegun;
  }

  /** Throws S3Failure. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.byteLength;
    this.bytes += bytes.byteLength;
    if (this.#waitingBytes >= bounds.exportUploadBytes) await this.#uploadPart();
  }

  /** Makes the object appear. Throws S3Failure. */
  async finish(): Promise<void> {
    const [object, contentType] = [this.#object, this.#contentType];
    if (this.#uploadId === null) {
      await callS3(this.#access, { method: 'PUT', object, body: this.#take(), contentType });
      return;
    }
    if (this.#waitingBytes > 0) await this.#uploadPart();
    const parts = this.#etags.map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`);
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    const query = { uploadId: this.#uploadId };
    const { text } = await callS3(this.#access, {
      method: 'POST',
      object,
      query,
      body,
      contentType: 'application/xml',
    });
    // The status is sent before the parts are put together.
    if (text.includes('<Error>')) throw new S3Failure(`the upload was not completed: ${describeError(text)}`);
  }

  async #uploadPart(): Promise<void> {
    this.#uploadId ??= await this.#begin();
    const query = { partNumber: String(this.#etags.length + 1), uploadId: this.#uploadId };
    const { etag } = await callS3(this.#access, { method: 'PUT', object: this.#object, query, body: this.#take() });
    if (etag === null) throw new S3Failure('the store answered a part of an upload without ETag');
    this.#etags.push(etag);
  }

  async #begin(): Promise<string> {
    const [object, contentType] = [this.#object, this.#contentType];
    const { text } = await callS3(this.#access, { method: 'POST', object, query: { uploads: '' }, contentType });
    const id = /<UploadId>([^<]+)<\/UploadId>/.exec(text)?.[1];
    if (id === undefined) throw new S3Failure('the store answered the begin of an upload without UploadId');
    await this.#onBegun(id);
    return id;
  }

  #take(): Uint8Array<ArrayBuffer> {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    return bytes;
  }
}

/** Gives up an upload in parts, so that the store drops them. Resolves also if the store has no such upload. */
export async function abortUpload(access: S3Access, upload: { object: string; id: string }): Promise<void> {
  const { signal: _, ...lasting } = access;
  await callS3(lasting, { method: 'DELETE', object: upload.object, query: { uploadId: upload.id } }).catch(() => {});
}

/** Writes a short object and deletes it. Throws S3Failure. */
export async function testObject(access: S3Access, object: string): Promise<void> {
  const body = Buffer.from('Written to test an export, and deleted at once.\n');
  await callS3(access, { method: 'PUT', object, body, contentType: 'text/plain' });
  await callS3(access, { method: 'DELETE', object });
}

async function callS3(access: S3Access, request: S3Request): Promise<{ etag: string | null; text: string }> {
  const inTime = AbortSignal.timeout(bounds.exportUploadMsMax);
  const signal = access.signal === undefined ? inTime : AbortSignal.any([inTime, access.signal]);
  const url = urlOf(access, request);
  const headers = await signedHeaders(access, request, url);
  let called: Awaited<ReturnType<typeof callAddress>>;
  let text: string;
  try {
    const { method, body = null } = request;
    called = await callAddress({ method, url: url.href, headers, body }, access.http, signal);
    if ('error' in called) throw new S3Failure(called.error);
    text = await readStart(called.response, bounds.exportAnswerBytesMax);
  } catch (failure) {
    if (failure instanceof S3Failure) throw failure;
    throw new S3Failure(signal.aborted ? 'no answer in time' : describeFault(failure));
  }
  const { status } = called.response;
  if (status < 200 || status >= 300) throw new S3Failure(`the store answered ${status} ${describeError(text)}`.trim());
  return { etag: called.response.headers.get('etag'), text };
}

function urlOf({ target }: S3Access, { object, query = {} }: S3Request): URL {
  const path = [target.bucket, ...object.split('/')].map(encodeSegment).join('/');
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeSegment(value)}`);
  return new URL(`${target.endpoint.replace(/\/+$/, '')}/${path}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`);
}

/**
 * The path of S3 is signed as it is sent, unlike that of other services.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html (2026-11-29)
 */
async function signedHeaders(
  { target, secretAccessKey, now }: S3Access,
  { method, query = {}, body, contentType }: S3Request,
  url: URL,
): Promise<Record<string, string>> {
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const credentials = { accessKeyId: target.accessKeyId, secretAccessKey };
  const signer = new SignatureV4({
    credentials,
    region: target.region,
    service: 's3',
    sha256: Sha256,
    uriEscapePath: false,
  });
  const hash = createHash('sha256')
    .update(body ?? '')
    .digest('hex');
  const { protocol, hostname, pathname: path, host } = url;
  const own = { ...(contentType !== undefined && { 'content-type': contentType }), 'x-amz-content-sha256': hash };
  const signed = await signer.sign(
    { method, protocol, hostname, path, query, headers: { host, ...own } },
    { signingDate: now() },
  );
  const { host: _, ...headers } = signed.headers; // written where it is sent
  return headers;
}

/** "AccessDenied: …" of an error in XML, printable and short. */
function describeError(text: string): string {
  const member = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? '';
  const words = [member('Code'), member('Message')].filter((part) => part !== '').join(': ');
  return words.replaceAll(/[\p{C}\s]+/gu, ' ').slice(0, bounds.deliveryExcerptCharactersMax);
}
