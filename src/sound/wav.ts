// The length of WAV: http://soundfile.sapp.org/doc/WaveFormat, and https://tech.ebu.ch/docs/tech/tech3306v1_1.pdf for files beyond 4 GiB.

import { exactNumber } from '../base/checked-number.ts';
import { type ByteReader, viewOf } from './byte-reader.ts';

const UNKNOWN_SIZE = 0xff_ff_ff_ff; // of a file that was written while its sound went on
const FORMAT_BYTES = 16;
/** Formats in which every sample has as many bytes: integers, floats, A-law, µ-law, and the extensible format, which is one of them. */
const SAMPLED: readonly number[] = [1, 3, 6, 7, 0xfffe];

export async function wavSeconds(reader: ByteReader): Promise<number | null> {
  await reader.skip(12);
  let bytesPerSecond = 0;
  let longSize: number | null = null;
  for (;;) {
    const head = await reader.take(8);
    if (head === null) return null;
    const name = Buffer.from(head.subarray(0, 4)).toString('latin1');
    const size = viewOf(head).getUint32(4, true);
    const padded = size + (size % 2);
    if (name === 'data') {
      const stated = size === UNKNOWN_SIZE ? longSize : size;
      const bytes = await reader.skip(stated === null || stated === 0 ? Number.POSITIVE_INFINITY : stated);
      return bytesPerSecond === 0 ? null : bytes / bytesPerSecond;
    }
    const content = name === 'fmt ' || name === 'ds64' ? await reader.peek(FORMAT_BYTES) : null;
    if (content !== null && name === 'ds64') longSize = safeNumber(viewOf(content).getBigUint64(8, true));
    else if (content !== null) bytesPerSecond = rateOf(viewOf(content));
    if ((await reader.skip(padded)) < padded) return null;
  }
}

/** Players go by the size of a sample, whatever the stated rate of bytes is. */
function rateOf(format: DataView): number {
  const isSampled = SAMPLED.includes(format.getUint16(0, true));
  return isSampled ? format.getUint32(4, true) * format.getUint16(12, true) : format.getUint32(8, true);
}

function safeNumber(value: bigint): number | null {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? null : exactNumber(value);
}
