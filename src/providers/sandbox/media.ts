// Images and speech of the sandbox: a PNG file of the requested size, and a WAV file whose length follows the text.

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';
import { ownTurn } from '../../base/timers.ts';
import { type ImageSize, type JsonObject, parseImageSize, textOf } from '../../wire/wire.ts';
import { imageMember, imagesReply, readImagesRequest, sizeInPixels } from '../images.ts';
import { refuseField } from '../lost-fields.ts';
import type { Attempt, ByteReply, OtherReply } from '../provider.ts';
import { readSpeechRequest, soundReply } from '../speech.ts';

const EDGE_PIXELS_MAX = 4_096;
const SIZE_DEFAULT = '1024x1024';

/** By the prompt, the images that are edited, and its place alone. */
export async function drawImages(attempt: Attempt, requestId: string): Promise<OtherReply> {
  const { prompt, count, fields } = readImagesRequest(attempt);
  const { width, height, size } = readSize(sizeInPixels(attempt, textOf(fields['size'])));
  const edited = textOf(attempt.request.body['edits']);
  const data: JsonObject[] = [];
  for (let place = 0; place < count; place++) {
    const hash = createHash('sha256').update(`${place} ${prompt}${edited}`).digest();
    const base64 = (await drawPng(width, height, hash)).toString('base64');
    data.push(imageMember(attempt, base64, 'image/png'));
  }
  const answer = { created: Math.floor(Date.now() / 1000), size, output_format: 'png', data };
  return imagesReply(attempt, answer, JSON.stringify(answer), requestId);
}

function readSize(asked: string): ImageSize & { size: string } {
  const size = asked === '' || asked === 'auto' ? SIZE_DEFAULT : asked;
  const { width, height } = parseImageSize(size) ?? { width: 0, height: 0 };
  if (width === 0 || Math.max(width, height) > EDGE_PIXELS_MAX)
    refuseField(
      'size',
      `Input should be "auto" or a width and a height of 1 to ${EDGE_PIXELS_MAX}, such as "1024x1024"`,
    );
  return { width, height, size };
}

const COLORS = 256;
const INDEXED = 3; // a byte for each pixel, which is a colour of the palette
const compress = promisify(deflate);

/** Diagonal shades between two colours of the hash (https://www.w3.org/TR/png-3/). */
async function drawPng(width: number, height: number, hash: Buffer): Promise<Buffer> {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, INDEXED, 0, 0, 0], 8);
  const palette = Buffer.alloc(COLORS * 3);
  for (let at = 0; at < palette.length; at++) {
    const share = Math.floor(at / 3) / (COLORS - 1);
    palette[at] = Math.round((hash[at % 3] ?? 0) * (1 - share) + (hash[3 + (at % 3)] ?? 0) * share);
  }
  const row = Buffer.alloc(width + height);
  for (let at = 0; at < row.length; at++) row[at] = Math.floor((at * COLORS) / row.length);
  const pixels = Buffer.alloc((width + 1) * height); // each row after its filter: none
  for (let y = 0; y < height; y++) row.copy(pixels, y * (width + 1) + 1, y, y + width);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const body = await compress(pixels, { level: 1 });
  return Buffer.concat([
    signature,
    pngChunk('IHDR', head),
    pngChunk('PLTE', palette),
    pngChunk('IDAT', body),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, content: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, check]);
}

const SAMPLE_RATE = 16_000;
const SAMPLE_BYTES = 2;
const CHARACTER_SAMPLES = 960; // 60 ms
const CHARACTERS_PER_CHUNK = 64;
const CHARACTERS_MAX = 4_096; // as at OpenAI

/** A tone for each character. */
export async function speak(attempt: Attempt, requestId: string): Promise<ByteReply> {
  const { input, fields } = readSpeechRequest(attempt);
  const characters = [...input];
  if (characters.length > CHARACTERS_MAX)
    refuseField('input', `String should have at most ${CHARACTERS_MAX} characters`);
  const speed = typeof fields['speed'] === 'number' ? fields['speed'] : 1;
  const samplesEach = Math.round(CHARACTER_SAMPLES / speed);
  return soundReply(attempt, wavOf(characters, samplesEach), 'audio/wav', requestId);
}

const ANSWER_CHARACTERS_MAX = 1_000; // a minute
const PCM_SAMPLE_RATE = 24_000; // OpenAI's rate of PCM, which has no header that states it

/** The beginning of an answer as sound: a WAV file, or its samples alone. */
export async function speakAnswer(text: string, hasHead: boolean): Promise<Buffer> {
  const characters = [...text.slice(0, ANSWER_CHARACTERS_MAX)];
  const pieces = hasHead
    ? wavOf(characters, CHARACTER_SAMPLES)
    : tones(characters, (CHARACTER_SAMPLES * PCM_SAMPLE_RATE) / SAMPLE_RATE, PCM_SAMPLE_RATE);
  return Buffer.concat(await Array.fromAsync(pieces));
}

async function* wavOf(characters: readonly string[], samplesEach: number): AsyncGenerator<Uint8Array, void> {
  yield wavHead(characters.length * samplesEach * SAMPLE_BYTES);
  yield* tones(characters, samplesEach);
}

async function* tones(
  characters: readonly string[],
  samplesEach: number,
  rate = SAMPLE_RATE,
): AsyncGenerator<Uint8Array, void> {
  for (let from = 0; from < characters.length; from += CHARACTERS_PER_CHUNK) {
    const spoken = characters.slice(from, from + CHARACTERS_PER_CHUNK);
    yield Buffer.concat(spoken.map((character) => tone(character, samplesEach, rate)));
    await ownTurn();
  }
}

/** The head of a file with uncompressed sound of one channel. */
function wavHead(soundBytes: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(soundBytes + head.length - 8, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16); // bytes of the format
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(SAMPLE_RATE, 24);
  head.writeUInt32LE(SAMPLE_RATE * SAMPLE_BYTES, 28);
  head.writeUInt16LE(SAMPLE_BYTES, 32);
  head.writeUInt16LE(SAMPLE_BYTES * 8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(soundBytes, 40);
  return head;
}

/** Spaces are silent; the other characters have pitches between two octaves. */
function tone(character: string, samples: number, rate: number): Buffer {
  const sound = Buffer.alloc(samples * SAMPLE_BYTES);
  if (character.trim() === '') return sound;
  const pitch = 220 * 2 ** (((character.codePointAt(0) ?? 0) % 25) / 12);
  for (let at = 0; at < samples; at++) {
    const swell = Math.sin((Math.PI * at) / samples); // begins and ends silently
    sound.writeInt16LE(Math.round(8_000 * swell * Math.sin((2 * Math.PI * pitch * at) / rate)), at * SAMPLE_BYTES);
  }
  return sound;
}
