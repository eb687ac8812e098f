// Inflates data that may be made to inflate a thousandfold: never beyond a bound, and long data not on this thread.

import {
  constants,
  createInflate,
  createInflateRaw,
  type Inflate,
  type InflateRaw,
  inflateRawSync,
  inflateSync,
} from 'node:zlib';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';

const AT_ONCE_BYTES_MAX = 4 * 1024; // at most 4 MB inflated
type Form = 'zlib' | 'raw';

/** Like readers of damaged files, returns what precedes a fault or the end of the data. Throws UnreadableDocument. */
export async function inflate(input: Buffer, form: Form, work: DocumentWork): Promise<Buffer> {
  const whole = input.length <= AT_ONCE_BYTES_MAX ? inflateAtOnce(input, form, work.bytesLeft) : null;
  const output = whole ?? (await inflateInPieces(input, form, work.bytesLeft));
  work.addBytes(output.length);
  return output;
}

/** null if it is not whole. */
function inflateAtOnce(input: Buffer, form: Form, bytesMax: number): Buffer | null {
  const options = { maxOutputLength: Math.max(1, bytesMax) };
  try {
    return form === 'raw' ? inflateRawSync(input, options) : inflateSync(input, options);
  } catch {
    return null;
  }
}

function inflateInPieces(input: Buffer, form: Form, bytesMax: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const options = { finishFlush: constants.Z_SYNC_FLUSH };
  const stream: Inflate | InflateRaw = form === 'raw' ? createInflateRaw(options) : createInflate(options);
  const pieces: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (piece: Buffer) => {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes <= bytesMax) return;
    reject(new UnreadableDocument('the content is too long'));
    stream.destroy();
  });
  const end = () => resolve(Buffer.concat(pieces));
  stream.on('end', end);
  stream.on('error', end);
  stream.end(input);
  return promise;
}
