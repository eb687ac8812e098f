// The length of MP4 and M4A, whole or in fragments (ISO/IEC 14496-12): the longest of what the file and its fragments state.

import { nearestNumber } from '../base/checked-number.ts';
import { type ByteReader, viewOf } from './byte-reader.ts';

/** Boxes whose content are boxes. */
const CONTAINERS: readonly string[] = ['moov', 'trak', 'mdia', 'mvex', 'moof', 'traf'];
/** Boxes whose content is read. */
const READ: readonly string[] = ['mvhd', 'tkhd', 'mdhd', 'mehd', 'trex', 'tfhd', 'tfdt', 'trun'];
const TRACKS_MAX = 64;
const TO_END = 0; // as the size of a box

interface Track {
  /** Units of time in a second. */
  scale: number;
  sampleUnits: number;
  /** The end of its fragments so far, in its units. */
  end: number;
}

export async function mp4Seconds(reader: ByteReader): Promise<number | null> {
  const file = new Mp4File();
  for (;;) {
    const head = await reader.take(8);
    if (head === null) return file.seconds;
    const name = Buffer.from(head.subarray(4)).toString('latin1');
    let bytes = viewOf(head).getUint32(0) - 8;
    if (bytes + 8 === 1) {
      const long = await reader.take(8);
      if (long === null) return file.seconds;
      bytes = nearestNumber(viewOf(long).getBigUint64(0)) - 16;
    }
    if (bytes + 8 === TO_END || bytes < 0) return file.seconds;
    if (CONTAINERS.includes(name)) continue;
    const content = READ.includes(name) ? await reader.peek(bytes) : null;
    if (content !== null) file.take(name, new BoxFields(content));
    if ((await reader.skip(bytes)) < bytes) return file.seconds;
  }
}

/** The fields of a box, one after another. A field that is missing is 0. */
class BoxFields {
  readonly version: number;
  readonly flags: number;
  readonly #view: DataView;
  #at = 4;

  constructor(content: Uint8Array) {
    this.#view = viewOf(content);
    const word = content.length < 4 ? 0 : this.#view.getUint32(0);
    this.version = word >>> 24;
    this.flags = word & 0xff_ff_ff;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#view.byteLength;
  }

  has(flag: number): boolean {
    return (this.flags & flag) !== 0;
  }

  number(bytes: 4 | 8): number {
    const at = this.#at;
    this.#at += bytes;
    if (this.#at > this.#view.byteLength) return 0;
    return bytes === 4 ? this.#view.getUint32(at) : nearestNumber(this.#view.getBigUint64(at));
  }

  /** A field that is longer in a later version of its box. */
  long(): number {
    return this.number(this.version === 1 ? 8 : 4);
  }
}

class Mp4File {
  #scale = 0;
  #units = 0;
  readonly #tracks = new Map<number, Track>();
  /** The one whose boxes are being read. */
  #track: Track | null = null;
  #sampleUnits = 0;

  get seconds(): number | null {
    const ends = [...this.#tracks.values()].map(({ end, scale }) => (scale === 0 ? 0 : end / scale));
    return Math.max(this.#scale === 0 ? 0 : this.#units / this.#scale, ...ends);
  }

  take(name: string, fields: BoxFields): void {
    switch (name) {
      case 'mvhd':
        this.#skipTimes(fields);
        this.#scale = fields.number(4);
        this.#units = Math.max(this.#units, statedUnits(fields));
        break;
      case 'mehd':
        this.#units = Math.max(this.#units, statedUnits(fields));
        break;
      case 'tkhd':
        this.#skipTimes(fields);
        this.#track = this.#trackOf(fields.number(4));
        break;
      case 'mdhd':
        this.#skipTimes(fields);
        if (this.#track !== null) this.#track.scale = fields.number(4);
        break;
      case 'trex': {
        const track = this.#trackOf(fields.number(4));
        fields.number(4);
        if (track !== null) track.sampleUnits = fields.number(4);
        break;
      }
      case 'tfhd':
        this.#beginFragment(fields);
        break;
      case 'tfdt':
        if (this.#track !== null) this.#track.end = fields.long();
        break;
      case 'trun':
        this.#takeRun(fields);
    }
  }

  #skipTimes(fields: BoxFields): void {
    fields.long();
    fields.long();
  }

  #trackOf(id: number): Track | null {
    const known = this.#tracks.get(id);
    if (known !== undefined || this.#tracks.size === TRACKS_MAX) return known ?? null;
    const track = { scale: 0, sampleUnits: 0, end: 0 };
    this.#tracks.set(id, track);
    return track;
  }

  #beginFragment(fields: BoxFields): void {
    this.#track = this.#trackOf(fields.number(4));
    if (fields.has(0x01)) fields.number(8); // where its data begins
    if (fields.has(0x02)) fields.number(4); // its description
    this.#sampleUnits = fields.has(0x08) ? fields.number(4) : (this.#track?.sampleUnits ?? 0);
  }

  #takeRun(fields: BoxFields): void {
    const samples = fields.number(4);
    if (fields.has(0x01)) fields.number(4);
    if (fields.has(0x04)) fields.number(4);
    let units = 0;
    if (!fields.has(0x100)) units = samples * this.#sampleUnits;
    else
      for (let sample = 0; sample < samples && !fields.isAtEnd; sample++) {
        units += fields.number(4);
        for (const flag of [0x200, 0x400, 0x800]) if (fields.has(flag)) fields.number(4);
      }
    if (this.#track !== null) this.#track.end += units;
  }
}

/** A duration of ones only is not known. */
function statedUnits(fields: BoxFields): number {
  const units = fields.long();
  return units === 0xff_ff_ff_ff || units >= 2 ** 63 ? 0 : units;
}
