// The length of sound that is a sequence of frames with a head each: MPEG audio (MP3), and AAC with heads of ADTS. Every frame counts,
// because the rate of bytes may change, and a stated length may be wrong.

import type { ByteReader } from './byte-reader.ts';

interface Frame {
  bytes: number;
  seconds: number;
}

const HEAD_BYTES = 6;
/** Between frames, and before the first one. More is another kind of file. */
const STRAY_BYTES_MAX = 64 * 1024;

/** null: the file has no frames. */
export async function frameSeconds(reader: ByteReader): Promise<number | null> {
  let seconds = 0;
  let frames = 0;
  let stray = 0;
  for (;;) {
    const head = reader.ready(HEAD_BYTES) ?? (await reader.peek(HEAD_BYTES));
    if (head === null) return frames > 1 ? seconds : null;
    const frame = readFrame(head);
    const isInRow = frames > 0 && stray === 0;
    if (frame === null || !(isInRow || (await isFollowed(reader, frame)))) {
      if (++stray > STRAY_BYTES_MAX) return frames > 1 ? seconds : null;
      reader.pass(1);
      continue;
    }
    const beside = frames === 0 ? besideSound(await reader.peek(frame.bytes)) : 0;
    seconds += frame.seconds * (1 - beside);
    frames++;
    stray = 0;
    if (reader.ready(frame.bytes) === null) await reader.skip(frame.bytes);
    else reader.pass(frame.bytes);
  }
}

/**
 * How many frames of a file are no sound, by a first frame that only describes the others: this one, and what its encoder filled up at both
 * ends (http://gabriel.mp3-tech.org/mp3infotag.html). 0: it is sound.
 */
function besideSound(frame: Uint8Array | null): number {
  const text = Buffer.from(frame ?? []).toString('latin1');
  const at = text.slice(0, DESCRIPTION_AT_MAX).search(/Xing|Info/);
  if (frame === null || at < 0) return 0;
  const filled = frame.subarray(at + FILLED_AT, at + FILLED_AT + 3);
  if (!/^(?:LAME|Lav[fc])/.test(text.slice(at + ENCODER_AT)) || filled.length < 3) return 1;
  const [first = 0, second = 0, third = 0] = filled;
  const samples = ((first << 4) | (second >> 4)) + (((second & 0xf) << 8) | third);
  return 1 + samples / samplesOf(frame);
}

const DESCRIPTION_AT_MAX = 40;
const ENCODER_AT = 120; // after the name
const FILLED_AT = ENCODER_AT + 21;

/** Any bytes may look like a head; that of a first frame is followed by another one. */
async function isFollowed(reader: ByteReader, { bytes }: Frame): Promise<boolean> {
  const count = bytes + HEAD_BYTES;
  const both = reader.ready(count) ?? (await reader.peek(count));
  return both === null || readFrame(both.subarray(bytes)) !== null;
}

function readFrame(head: Uint8Array): Frame | null {
  const [sync = 0, second = 0] = head;
  if (sync !== 0xff || (second & 0xe0) !== 0xe0) return null;
  return (second & 0xf6) === 0xf0 ? readAdts(head) : readMpeg(head);
}

/** Kilobits a second by the layer, of MPEG 1 and of the later versions with half its rate (ISO/IEC 11172-3 and 13818-3). */
const KILOBITS: readonly (readonly number[])[] = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
];
const KILOBITS_OF_HALF: readonly (readonly number[])[] = [
  [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const RATES: readonly number[] = [44_100, 48_000, 32_000];

function readMpeg([, second = 0, third = 0]: Uint8Array): Frame | null {
  const version = (second >> 3) & 3; // 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
  const layer = 4 - ((second >> 1) & 3);
  const isHalf = version !== 3;
  const kilobits = (isHalf ? KILOBITS_OF_HALF : KILOBITS)[layer - 1]?.[(third >> 4) - 1];
  const usual = RATES[(third >> 2) & 3];
  if (version === 1 || kilobits === undefined || usual === undefined) return null;
  const rate = usual / (version === 3 ? 1 : version === 2 ? 2 : 4);
  const padding = (third >> 1) & 1;
  const samples = samplesOf([0, second]);
  const slotBytes = layer === 1 ? 4 : 1;
  const slots = Math.floor((samples * kilobits * 1_000) / (8 * slotBytes * rate)) + padding;
  return { bytes: slots * slotBytes, seconds: samples / rate };
}

function samplesOf([, second = 0]: Uint8Array | readonly number[]): number {
  const layer = 4 - ((second >> 1) & 3);
  const isHalf = ((second >> 3) & 3) !== 3;
  return layer === 1 ? 384 : layer === 3 && isHalf ? 576 : 1_152;
}

const ADTS_RATES: readonly number[] = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
const ADTS_HEAD_BYTES = 7;
const ADTS_SAMPLES = 1_024;

/** https://wiki.multimedia.cx/index.php/ADTS */
function readAdts([, , third = 0, fourth = 0, fifth = 0, sixth = 0]: Uint8Array): Frame | null {
  const rate = ADTS_RATES[(third >> 2) & 0xf];
  const bytes = ((fourth & 3) << 11) | (fifth << 3) | (sixth >> 5);
  return rate === undefined || bytes < ADTS_HEAD_BYTES ? null : { bytes, seconds: ADTS_SAMPLES / rate };
}
