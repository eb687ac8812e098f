// A store that speaks S3 as far as exports need it, without signatures: an upload in parts appears when it is complete. It can hold
// back the answer to a request.

export interface StoreRequest {
  method: string;
  object: string;
  /** The number of a part; null: it is none. */
  part: number | null;
  /** The upload is to be completed. */
  isCompletion: boolean;
}

export class ObjectStore implements AsyncDisposable {
  readonly #server: Bun.Server<undefined>;
  readonly objects = new Map<string, string>();
  readonly uploads = new Map<string, string[]>();
  #ids = 0;
  #isHeld: (request: StoreRequest) => boolean = () => false;
  #reached = Promise.withResolvers<void>();

  constructor() {
    this.#server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => this.#answer(request) });
  }

  get url(): string {
    return this.#server.url.origin;
  }

  /** The first such request takes effect, and is not answered. Resolves when it has arrived. */
  holdBack(isHeld: (request: StoreRequest) => boolean): Promise<void> {
    this.#isHeld = isHeld;
    this.#reached = Promise.withResolvers();
    return this.#reached.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const object = decodeURIComponent(pathname);
    const body = await request.text();
    const upload = searchParams.get('uploadId');
    const number = searchParams.get('partNumber');
    const part = number === null ? null : Number(number);
    const answer = this.#take(request.method, object, { upload, part, isBegin: searchParams.has('uploads') }, body);
    const isCompletion = request.method === 'POST' && upload !== null;
    if (this.#isHeld({ method: request.method, object, part, isCompletion })) {
      this.#isHeld = () => false;
      this.#reached.resolve();
      await new Promise(() => {});
    }
    return answer;
  }

  #take(
    method: string,
    object: string,
    { upload, part, isBegin }: { upload: string | null; part: number | null; isBegin: boolean },
    body: string,
  ): Response {
    if (isBegin) {
      const id = `upload-${++this.#ids}`;
      this.uploads.set(id, []);
      return new Response(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    if (upload === null) {
      this.objects.set(object, body);
      return new Response('', { headers: { etag: '"whole"' } });
    }
    const parts = this.uploads.get(upload);
    if (parts === undefined) return new Response('<Error><Code>NoSuchUpload</Code></Error>', { status: 404 });
    if (part !== null) {
      parts[part - 1] = body;
      return new Response('', { headers: { etag: `"${part}"` } });
    }
    if (method === 'POST') this.objects.set(object, parts.join(''));
    this.uploads.delete(upload);
    return new Response(method === 'POST' ? '<CompleteMultipartUploadResult/>' : null, {
      status: method === 'POST' ? 200 : 204,
    });
  }
}
