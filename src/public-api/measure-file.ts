// Measures files of a form: their hash, and the length of sound. They are read piece by piece.

import type { FormFile } from '../http/http.ts';
import { measureSound } from '../sound/sound.ts';
import type { MeasuredFile, SentFile } from '../wire/wire.ts';

export function sentFile({ field, name, mediaType, content }: FormFile): SentFile {
  return { field, name, mediaType, bytes: content.bytes, read: () => content.read() };
}

/** Rejects if the file cannot be read. */
export async function measureFile(file: FormFile, of: 'sound' | 'images'): Promise<MeasuredFile> {
  const { read, ...described } = sentFile(file);
  const hash = new Bun.CryptoHasher('sha256');
  const pieces = hashed(read(), hash);
  const seconds = of === 'sound' ? await measureSound(pieces) : null;
  for await (const _ of pieces); // for the hash
  return { ...described, sha256: hash.digest('hex'), seconds };
}

async function* hashed(
  pieces: AsyncIterable<Uint8Array>,
  hash: Bun.CryptoHasher,
): AsyncGenerator<Uint8Array, undefined> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}
