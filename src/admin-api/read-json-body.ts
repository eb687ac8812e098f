// Reads the body of a change: bounded, JSON by its content type, and an object without a doubled
// key. An empty body is an empty object, so that a POST that needs nothing can be sent without one.

import { TurnpikeError } from '../errors.ts';
import { scanJson } from '../wire/wire.ts';

/** The same request with its body read and found to be one JSON object. Throws body_too_large, content_type_unsupported, invalid_json, invalid_request. */
export async function readJsonBody(request: Request, bytesMax: number): Promise<Request> {
  const text = decode(await readBounded(request, bytesMax)).trim();
  if (text !== '') {
    checkContentType(request.headers);
    checkObject(text);
  }
  const headers = new Headers(request.headers);
  headers.set('content-type', 'application/json');
  headers.delete('content-length');
  return new Request(request.url, { method: request.method, headers, body: text === '' ? '{}' : text });
}

function checkContentType(headers: Headers): void {
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity')
    throw new TurnpikeError('content_type_unsupported', 'A compressed body is not taken: send it as it is.');
  const type = headers.get('content-type') ?? '';
  if (!/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type))
    throw new TurnpikeError('content_type_unsupported', 'The header "content-type: application/json" is needed.');
}

async function readBounded(request: Request, bytesMax: number): Promise<Buffer> {
  const tooLarge = () => new TurnpikeError('body_too_large', `The body may have at most ${bytesMax} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new TurnpikeError('invalid_json', 'The body is not valid UTF-8.', { cause });
  }
}

function checkObject(text: string): void {
  scanJson(text); // JSON.parse would take the last of two amounts
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new TurnpikeError('invalid_json', 'The body is not valid JSON.', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TurnpikeError('invalid_request', 'The body must be a JSON object.');
}
