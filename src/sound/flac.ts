// The length of FLAC, by the samples that its head states: https://www.rfc-editor.org/rfc/rfc9639.

import { type ByteReader, viewOf } from './byte-reader.ts';

const STREAM_INFO_BYTES = 34;

/** null: its writer did not state it. */
export async function flacSeconds(reader: ByteReader): Promise<number | null> {
  await reader.skip(8); // its name, and the head of the first block, which has these facts
  const info = await reader.take(STREAM_INFO_BYTES);
  return info === null ? null : readStreamInfo(info);
}

/** Twenty bits of the rate, eight of other facts, and 36 of the number of samples. */
function readStreamInfo(info: Uint8Array): number | null {
  const view = viewOf(info);
  const rate = view.getUint32(10) >>> 12;
  const samples = (view.getUint8(13) & 0x0f) * 2 ** 32 + view.getUint32(14);
  return rate === 0 || samples === 0 ? null : samples / rate;
}
