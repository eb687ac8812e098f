// Reads a body whole, within a bound.

/** Throws `tooLarge()` beyond `bytesMax`, and what the body throws. null is an empty body. */
export async function collectBytes(
  body: AsyncIterable<Uint8Array> | null,
  bytesMax: number,
  tooLarge: () => Error,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
