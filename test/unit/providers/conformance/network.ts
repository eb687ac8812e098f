// Redirects requests to provider hosts: to a function that responds byte by byte, or to a server on loopback. Other
// requests are unaffected. It has no tests of its own.

/** A request that would have left this machine. */
export interface SentRequest {
  url: string;
  method: string;
  headers: Headers;
  body: string;
}

type Fetch = typeof globalThis.fetch;

/** Answers requests to the origin of this address with the function, until disposed. */
export function answerHost(baseUrl: string, answer: (request: SentRequest) => Response): Disposable {
  const sent = (url: string, { method = 'GET', headers, body }: RequestInit): SentRequest => ({
    url,
    method,
    headers: new Headers(headers),
    body: typeof body === 'string' ? body : '',
  });
  return replaceFetch(baseUrl, async (url, settings) => answer(sent(url, settings)));
}

/** Redirects requests to the origin of this address to another, until disposed. */
export function leadHost(baseUrl: string, origin: string): Disposable {
  return replaceFetch(baseUrl, (url, settings, real) => real(origin + url.slice(new URL(url).origin.length), settings));
}

function replaceFetch(
  baseUrl: string,
  answer: (url: string, settings: RequestInit, real: Fetch) => Promise<Response>,
): Disposable {
  const real = globalThis.fetch;
  const { origin } = new URL(baseUrl);
  const replaced = (url: string | URL | Request, settings: RequestInit = {}) =>
    new URL(String(url)).origin === origin ? answer(String(url), settings, real) : real(url, settings);
  globalThis.fetch = Object.assign(replaced, { preconnect: real.preconnect });
  return {
    [Symbol.dispose]() {
      globalThis.fetch = real;
    },
  };
}

/** A body that arrives in these pieces, and then ends. */
export function bodyOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let place = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces[place++];
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  });
}

/** The bytes in random chunks, which may split characters. */
export function cutBytes(bytes: Uint8Array, random: () => number): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = random() < 0.5 ? 1 + Math.floor(random() * 40) : 1 + Math.floor(random() * 2_000);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}
