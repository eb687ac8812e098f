// The length of files of sound that ffmpeg made of 1.3 seconds, of files that lie, and of files that break off.

import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureSound } from '../../../src/sound/sound.ts';

const directory = join(import.meta.dir, 'files');
const fileOf = (name: string) => readFileSync(join(directory, name));

/** The length, read in pieces of so many bytes. */
function measure(file: Uint8Array, bytes = file.length): Promise<number | null> {
  const pieces = Array.from({ length: Math.ceil(file.length / Math.max(bytes, 1)) }, (_, at) =>
    file.subarray(at * bytes, (at + 1) * bytes),
  );
  return measureSound(
    (async function* () {
      yield* pieces;
    })(),
  );
}

/** Encoders add what fills their last frame, and some what precedes the first one. */
const SECONDS = [1.3, 1.54] as const;
const UNKNOWN = ['piped-flac']; // its encoder could not write the length into the head

describe.each(readdirSync(directory).sort())('the file %s', (name) => {
  test.each([1, 7, 1_000, 1_000_000])('has its length, in pieces of %d bytes', async (bytes) => {
    const seconds = await measure(fileOf(name), bytes);
    if (UNKNOWN.includes(name)) expect(seconds).toBeNull();
    else expect(seconds).toBeWithin(...SECONDS);
  });

  test('is measured without a failure wherever it breaks off', async () => {
    const file = fileOf(name);
    for (let end = 0; end < file.length; end += 37) {
      const seconds = await measure(file.subarray(0, end));
      if (seconds !== null) expect(seconds).toBeWithin(0, SECONDS[1]);
    }
  });

  test('is measured without a failure whatever its bytes are', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const file = Buffer.from(fileOf(name));
      for (let change = 0; change < 8; change++)
        file[(seed * 7_919 + change * 104_729) % Math.min(file.length, 600)] = (seed * 31 + change * 17) & 0xff;
      const seconds = await measure(file);
      if (seconds !== null) expect(seconds).toBeGreaterThan(0);
    }
  });
});

test('files of Ogg that follow each other count together', async () => {
  expect(await measure(Buffer.concat([fileOf('opus-ogg'), fileOf('vorbis-ogg')]))).toBeWithin(2.6, 2.8);
});

test('every frame of MP3 counts, also after other bytes', async () => {
  const one = fileOf('constant-mp3');
  const seconds = (await measure(one)) ?? 0;
  expect(await measure(Buffer.concat([one, Buffer.alloc(500, 0x20), one]))).toBeWithin(seconds * 2, seconds * 2 + 0.3);
});

test('a head of WAV that states more than there is counts for what there is', async () => {
  const file = Buffer.from(fileOf('sampled-wav'));
  const seconds = (await measure(file)) ?? 0;
  file.writeUInt32LE(0x7fff_ffff, file.indexOf('data') + 4);
  expect(await measure(file)).toBe(seconds);
});

test.each([
  ['nothing', ''],
  ['a text', 'a text that is no sound'],
  ['bytes that look like a head of MP3 here and there', '\xff\xfb\x90\x00 and more'.repeat(200)],
  ['a tag without a sound', 'ID3\x04\0\0\0\0\0\x01x'],
  ['only the name of a format', 'RIFF\0\0\0\0WAVE'],
  ['boxes of no size', '\0\0\0\0ftypM4A '],
])('%s has no length', async (_, text) => {
  expect(await measure(Buffer.from(text, 'latin1'))).toBeNull();
});
