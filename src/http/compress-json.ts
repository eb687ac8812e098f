// Compresses answers for clients that accept it: JSON shrinks to a sixth.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const zip = promisify(gzip);

/** Smaller answers fit into one packet. */
const BYTES_LEAST = 1_400;

/** The first offered encoding that the header accept-encoding accepts; null: not encoded. A weight of 0 refuses it. */
export function negotiateEncoding(accepted: string | null, offered: readonly string[]): string | null {
  const taken = new Set<string>();
  for (const part of (accepted ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const isRefused = parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    if (name !== '' && !isRefused) taken.add(name);
  }
  return offered.find((name) => taken.has(name)) ?? null;
}

/** The answer of a GET, compressed by a thread of the runtime if it is JSON, long enough, and the client accepts gzip. */
export async function compressJson(request: Request, answer: Response): Promise<Response> {
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
  if (request.method !== 'GET' || !isJson) return answer;
  const { status, headers } = answer;
  const made = new Headers(headers);
  made.append('vary', 'accept-encoding');
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const isLong = bytes.length >= BYTES_LEAST;
  if (!isLong || negotiateEncoding(request.headers.get('accept-encoding'), ['gzip']) === null)
    return new Response(bytes, { status, headers: made });
  made.set('content-encoding', 'gzip');
  return new Response(await zip(bytes), { status, headers: made });
}
