// The text of a Messages stream as that of a Chat Completions stream, no faster than it is read.

import type { ChatTerms } from './chat-request.ts';
import { ChunkWriter } from './chunk-writer.ts';

/** Passes on that its reader has left: what it reads from is told so. */
export function convertEvents(
  events: AsyncIterable<string>,
  terms: ChatTerms,
  createdAtMs: number,
): AsyncGenerator<string> {
  return writeChunks(events, new ChunkWriter(terms, createdAtMs));
}

async function* writeChunks(events: AsyncIterable<string>, writer: ChunkWriter): AsyncGenerator<string> {
  for await (const text of events) {
    const written = writer.push(text);
    if (written !== '') yield written;
  }
}
