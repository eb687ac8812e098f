// The length of WebM and Matroska (https://www.rfc-editor.org/rfc/rfc9559): the longer of what the file states, and of the times of its
// blocks, because browsers record without stating it.

import type { ByteReader } from './byte-reader.ts';
import { viewOf } from './byte-reader.ts';

/** Elements whose content are elements; any may have an unknown size, and so its content is read as if it followed. */
const CONTAINERS: readonly number[] = [0x18538067, 0x1549a966, 0x1f43b675, 0xa0]; // Segment, Info, Cluster, BlockGroup
const TIMESTAMP_SCALE = 0x2ad7b1;
const DURATION = 0x4489;
const CLUSTER_TIME = 0xe7;
const SIMPLE_BLOCK = 0xa3;
const BLOCK = 0xa1;
const BLOCK_DURATION = 0x9b;
const SCALE_USUAL = 1_000_000; // nanoseconds
const NANOSECONDS = 1_000_000_000;
const BLOCK_HEAD_BYTES = 10; // at least: the number of its track has one to eight bytes, its time two
const VALUE_BYTES_MAX = 8;

export async function webmSeconds(reader: ByteReader): Promise<number | null> {
  let scale = SCALE_USUAL;
  let stated = 0;
  let cluster = 0;
  let [last, gap] = [0, 0];
  const note = (end: number) => {
    gap = Math.max(gap, Math.min(end - last, LAST_BLOCK_UNITS_MAX));
    last = Math.max(last, end);
  };
  for (;;) {
    const id = await takeNumber(reader, true);
    const size = id === null ? null : await takeNumber(reader, false);
    if (id === null || size === null) break;
    if (CONTAINERS.includes(id)) continue;
    if (size <= VALUE_BYTES_MAX && VALUES.includes(id)) {
      const content = await reader.peek(size);
      if (content === null) break;
      if (id === DURATION) stated = readFloat(content);
      else if (id === TIMESTAMP_SCALE) scale = readUnsigned(content) || SCALE_USUAL;
      else if (id === CLUSTER_TIME) cluster = readUnsigned(content);
      else note(last + readUnsigned(content));
    } else if (id === SIMPLE_BLOCK || id === BLOCK) {
      const head = await reader.peek(Math.min(size, BLOCK_HEAD_BYTES));
      if (head === null) break;
      note(cluster + timeOf(head));
    }
    if ((await reader.skip(size)) < size) break;
  }
  return (Math.max(stated, last + gap) * scale) / NANOSECONDS; // the last block is as long as the others
}

const VALUES: readonly number[] = [DURATION, TIMESTAMP_SCALE, CLUSTER_TIME, BLOCK_DURATION];
const LAST_BLOCK_UNITS_MAX = 120; // the longest packet of Opus, in milliseconds

/** A number whose first byte tells its length. With its mark, as ids are written; without it, as sizes are. null at the end. */
async function takeNumber(reader: ByteReader, isMarked: boolean): Promise<number | null> {
  const first = (await reader.peek(1))?.[0];
  if (first === undefined || first === 0) return null;
  const length = Math.clz32(first) - 23;
  const bytes = await reader.take(length);
  if (bytes === null) return null;
  const plain = isMarked ? first : first & (0xff >> length);
  return bytes.subarray(1).reduce((value, byte) => value * 256 + byte, plain);
}

function readUnsigned(bytes: Uint8Array): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}

function readFloat(bytes: Uint8Array): number {
  if (bytes.length === 4) return viewOf(bytes).getFloat32(0);
  return bytes.length === 8 ? viewOf(bytes).getFloat64(0) : 0;
}

/** The time of a block after that of its cluster. */
function timeOf(head: Uint8Array): number {
  const at = Math.clz32(head[0] ?? 1) - 23;
  return at + 2 <= head.length ? viewOf(head).getInt16(at) : 0;
}
