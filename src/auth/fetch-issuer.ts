// What the issuer of single sign-on is asked: bounded in time and in size. It stands in the way of every request over the
// network that this thread makes, since better-auth takes the runtime's `fetch`.

import { bounds } from '../config.ts';

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Nothing is fetched before the function that it returns is called: a silent issuer must not delay who signs in by a password. */
export function boundFetching(): () => void {
  const fetchUnbound: Fetch = globalThis.fetch;
  let isAllowed = false;
  const fetchBound: Fetch = async (input, init) => {
    if (!isAllowed) throw new Error('the issuer is asked when somebody signs in by it');
    const limit = AbortSignal.timeout(bounds.issuerAnswerMsMax);
    const signal = init?.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const answer = await fetchUnbound(input, { ...init, signal });
    return new Response(await readBounded(answer), { status: answer.status, headers: answer.headers });
  };
  globalThis.fetch = Object.assign(fetchBound, { preconnect: globalThis.fetch.preconnect });
  return () => {
    isAllowed = true;
  };
}

async function readBounded(answer: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  if (answer.body === null || [204, 304].includes(answer.status)) return null;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of answer.body) {
    bytes += piece.byteLength;
    if (bytes > bounds.issuerAnswerBytesMax) throw new Error('the issuer answers with too much');
    pieces.push(piece);
  }
  return new Uint8Array(Buffer.concat(pieces));
}
