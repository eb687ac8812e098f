// A store that speaks S3 as far as files need it: objects of bytes, uploads in parts, errors. It checks that requests are signed, not how.

export class BucketServer implements AsyncDisposable {
  readonly objects = new Map<string, Uint8Array>();
  isFailing = false;
  readonly #uploads = new Map<string, Uint8Array[]>();
  readonly #server: Bun.Server<undefined>;

  constructor() {
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request) => this.#answer(request),
    });
  }

  get url(): string {
    return this.#server.url.origin;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname: object, searchParams } = new URL(request.url);
    const signed = request.headers.get('authorization') ?? '';
    if (this.isFailing || !signed.startsWith('AWS4-HMAC-SHA256 Credential=AKID/'))
      return new Response('<Error><Code>AccessDenied</Code><Message>no</Message></Error>', { status: 403 });
    if (request.method === 'GET') {
      const bytes = this.objects.get(object);
      return bytes === undefined
        ? new Response('<Error><Code>NoSuchKey</Code><Message>no</Message></Error>', { status: 404 })
        : new Response(bytes as BodyInit);
    }
    if (request.method === 'DELETE') {
      this.objects.delete(object);
      return new Response(null, { status: 204 });
    }
    return this.#write(object, searchParams, request.method, await request.bytes());
  }

  #write(object: string, query: URLSearchParams, method: string, body: Uint8Array): Response {
    const upload = query.get('uploadId');
    if (query.has('uploads')) {
      const id = `upload-${this.#uploads.size}`;
      this.#uploads.set(id, []);
      return new Response(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    if (upload === null) this.objects.set(object, body);
    const parts = this.#uploads.get(upload ?? '') ?? [];
    if (upload !== null && method === 'PUT') parts[Number(query.get('partNumber')) - 1] = body;
    if (upload !== null && method === 'POST') this.objects.set(object, Buffer.concat(parts));
    return new Response(method === 'POST' ? '<CompleteMultipartUploadResult/>' : '', { headers: { etag: '"e"' } });
  }
}
