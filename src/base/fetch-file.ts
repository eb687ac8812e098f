// Fetches a file from an address that somebody else chose: bounded in bytes and redirects, each of which is checked anew.

import { callAddress, type HttpOptions } from './call-address.ts';

export interface FetchOptions extends HttpOptions {
  bytesMax: number;
  redirectsMax: number;
}

export interface FetchedFile {
  bytes: Buffer;
  /** As the server says, in lower case and without parameters; empty: it says none. */
  contentType: string;
}

const HEADERS = { accept: 'image/*, application/pdf, text/*;q=0.9, */*;q=0.1', 'user-agent': 'turnpike' };

/** Resolves to the file, or to why there is none. Never rejects, and ends when the signal is aborted. */
export async function fetchFile(
  address: string,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<FetchedFile | { error: string }> {
  try {
    let url = address;
    for (let redirects = 0; redirects <= options.redirectsMax; redirects++) {
      const called = await callAddress(
        { url: withoutFragment(url), headers: HEADERS, method: 'GET', body: null },
        options,
        signal,
      );
      if ('error' in called) return called;
      const { response } = called;
      const location = response.headers.get('location');
      if (response.status < 300 || response.status > 399 || location === null) return await readFile(response, options);
      await response.body?.cancel();
      url = URL.parse(location, url)?.href ?? '';
    }
    return { error: `it redirects more than ${options.redirectsMax} times` };
  } catch {
    return { error: signal.aborted ? 'no answer in time' : 'the connection failed' };
  }
}

/** Servers get no fragment. */
function withoutFragment(address: string): string {
  const url = URL.parse(address);
  if (url === null) return address;
  url.hash = '';
  return url.href;
}

async function readFile(response: Response, { bytesMax }: FetchOptions): Promise<FetchedFile | { error: string }> {
  if (!response.ok) {
    await response.body?.cancel();
    return { error: `it answered ${response.status}` };
  }
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += piece.byteLength;
    if (bytes > bytesMax) return { error: `it has more than ${bytesMax} bytes` };
    pieces.push(piece);
  }
  const [contentType = ''] = (response.headers.get('content-type') ?? '').toLowerCase().split(';');
  return { bytes: Buffer.concat(pieces), contentType: contentType.trim() };
}
