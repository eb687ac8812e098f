// The length of a file of sound, from the file itself: WAV, MP3, AAC, Ogg, FLAC, MP4 and WebM. Reads it once, from its beginning, and
// keeps little of it in memory.

import { ByteReader } from './byte-reader.ts';
import { flacSeconds } from './flac.ts';
import { frameSeconds } from './frames.ts';
import { mp4Seconds } from './mp4.ts';
import { oggSeconds } from './ogg.ts';
import { wavSeconds } from './wav.ts';
import { webmSeconds } from './webm.ts';

const HEAD_BYTES = 12;

/** Seconds, with fractions; null: it cannot be told. Rejects with what `pieces` rejects with. May leave the rest of `pieces` unread. */
export async function measureSound(pieces: AsyncIterator<Uint8Array>): Promise<number | null> {
  const reader = new ByteReader(pieces);
  await skipTags(reader);
  const head = latin1((await reader.peek(HEAD_BYTES)) ?? new Uint8Array(0));
  const seconds = await secondsOf(head)(reader);
  return seconds !== null && Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}

function secondsOf(head: string): (reader: ByteReader) => Promise<number | null> {
  if (/^(?:RIFF|RF64|BW64)....WAVE/s.test(head)) return wavSeconds;
  if (head.startsWith('OggS')) return oggSeconds;
  if (head.startsWith('fLaC')) return flacSeconds;
  if (head.startsWith('ftyp', 4)) return mp4Seconds;
  if (head.startsWith('\x1a\x45\xdf\xa3')) return webmSeconds;
  return frameSeconds;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

const TAG_BYTES = 10;

/** Skips tags of ID3, which may stand before any sound (https://id3.org/id3v2.4.0-structure). */
async function skipTags(reader: ByteReader): Promise<void> {
  for (;;) {
    const tag = await reader.peek(TAG_BYTES);
    if (tag === null || latin1(tag.subarray(0, 3)) !== 'ID3') return;
    const bytes = tag.subarray(6).reduce((size, byte) => size * 128 + (byte & 0x7f), 0);
    const isFooted = ((tag[5] ?? 0) & 0x10) !== 0;
    await reader.skip(TAG_BYTES + bytes + (isFooted ? TAG_BYTES : 0));
  }
}
