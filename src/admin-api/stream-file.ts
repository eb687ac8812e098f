// Sends a file while it is made. The next piece is made when the client has taken the last one; a client that takes none
// for long, or disconnects, ends it.

import { bounds } from '../config/config.ts';

/**
 * Rejects with what the first piece throws. `turn` is disposed when the file is complete, and when it is not sent to its end.
 * A failure later ends the connection, so that the client does not take the part for the whole.
 */
export async function streamFile(
  pieces: AsyncGenerator<{ bytes: Uint8Array }>,
  turn: Disposable,
  headers: Record<string, string>,
): Promise<Response> {
  let next: IteratorResult<{ bytes: Uint8Array }>;
  try {
    next = await pieces.next();
  } catch (failure) {
    turn[Symbol.dispose]();
    throw failure;
  }
  let timer: Timer | undefined;
  let isFinished = false;
  const finish = async () => {
    clearTimeout(timer);
    if (isFinished) return;
    isFinished = true;
    turn[Symbol.dispose]();
    await pieces.return(undefined);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(timer);
        try {
          while (next.done !== true && next.value.bytes.byteLength === 0) next = await pieces.next();
          if (next.done === true) {
            await finish();
            controller.close();
            return;
          }
          controller.enqueue(next.value.bytes);
          next = await pieces.next();
        } catch (failure) {
          await finish();
          controller.error(failure);
          return;
        }
        timer = setTimeout(() => {
          void finish();
          controller.error(new Error('the client took no more of the file'));
        }, bounds.exportPausedMsMax);
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}
