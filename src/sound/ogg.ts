// The length of Ogg, by the positions of its pages: https://www.rfc-editor.org/rfc/rfc3533. Files that follow each other in one count
// together.

import { nearestNumber } from '../base/checked-number.ts';
import { type ByteReader, viewOf } from './byte-reader.ts';

interface Track {
  /** Positions in a second. */
  rate: number;
  /** Positions before the sound begins. */
  skipped: number;
  last: bigint;
}

const PAGE_HEAD_BYTES = 27;
const FIRST_PAGE = 2;
const TRACKS_MAX = 64;

export async function oggSeconds(reader: ByteReader): Promise<number | null> {
  let seconds = 0;
  let tracks = new Map<number, Track>();
  let hasContent = false;
  for (;;) {
    const head = await reader.take(PAGE_HEAD_BYTES);
    if (head === null || Buffer.from(head.subarray(0, 4)).toString('latin1') !== 'OggS') break;
    const view = viewOf(head);
    const [isFirst, serial, position] = [
      (view.getUint8(5) & FIRST_PAGE) !== 0,
      view.getUint32(14, true),
      view.getBigInt64(6, true),
    ];
    const sizes = await reader.take(view.getUint8(26));
    if (sizes === null) break;
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    if (isFirst && hasContent) {
      seconds += longest(tracks);
      tracks = new Map();
    }
    hasContent = !isFirst;
    const track = isFirst ? readTrack((await reader.peek(bytes)) ?? new Uint8Array(0)) : tracks.get(serial);
    if (isFirst && track !== undefined && tracks.size < TRACKS_MAX) tracks.set(serial, track);
    if (track !== undefined && position > track.last) track.last = position;
    if ((await reader.skip(bytes)) < bytes) break;
  }
  return seconds + longest(tracks);
}

function longest(tracks: ReadonlyMap<number, Track>): number {
  const seconds = [...tracks.values()].map(({ rate, skipped, last }) => (nearestNumber(last) - skipped) / rate);
  return Math.max(0, ...seconds);
}

const OPUS_RATE = 48_000; // of its positions, whatever the sound's is

/** From the first page of a track; undefined: not one of sound. */
function readTrack(page: Uint8Array): Track | undefined {
  const name = Buffer.from(page.subarray(0, 8)).toString('latin1');
  const view = viewOf(page);
  const track = (rate: number, skipped = 0) => (rate === 0 ? undefined : { rate, skipped, last: 0n });
  if (name === 'OpusHead' && page.length >= 12) return track(OPUS_RATE, view.getUint16(10, true));
  if (name.startsWith('\x01vorbis') && page.length >= 16) return track(view.getUint32(12, true));
  if (name === 'Speex   ' && page.length >= 40) return track(view.getUint32(36, true));
  if (name.startsWith('\x7fFLAC') && page.length >= 51) return track(view.getUint32(27) >>> 12);
  return undefined;
}
