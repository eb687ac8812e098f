// Requests that are answered although their long body was not read: shed, too large, of nobody known. The
// runtime throws away what still comes, so that a caller in the middle of sending sees the answer and not a
// connection reset under it. That costs the event loop, so it is bounded in time, and in bytes a second.

import { bounds } from '../config.ts';
import type { Connection } from './serve-http.ts';

const LONG_BODY_BYTES = 128 * 1024; // shorter ones lie in the buffers of the socket
const SECOND_MS = 1_000;

export class UnreadBodies {
  readonly #bytesPerSecondMax: number;
  #secondBeganMs = Number.NEGATIVE_INFINITY;
  #bytes = 0;

  constructor(bytesPerSecondMax: number = bounds.unreadBytesPerSecondMax) {
    this.#bytesPerSecondMax = bytesPerSecondMax;
  }

  /** The answer, with what becomes of its connection decided. Asked before the body is read; costs short ones nothing. */
  watch(request: Request, connection: Connection, answer: Response | Promise<Response>): Response | Promise<Response> {
    const bytes = declaredBytes(request.headers);
    if (bytes <= LONG_BODY_BYTES) return answer;
    return Promise.resolve(answer).then((response) => {
      if (!request.bodyUsed) this.#leave(bytes, connection, response);
      return response;
    });
  }

  /** Thrown away for a while; or, when there is too much of that already, cut: some callers will not see their answer. */
  #leave(bytes: number, connection: Connection, response: Response): void {
    const nowMs = performance.now();
    if (nowMs - this.#secondBeganMs >= SECOND_MS) {
      this.#secondBeganMs = nowMs;
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    if (this.#bytes <= this.#bytesPerSecondMax) connection.setIdleSeconds(bounds.unreadBodySecondsMax);
    else response.headers.set('connection', 'close');
  }
}

/** One that does not say how long it is counts as the longest. */
function declaredBytes(headers: Headers): number {
  const declared = headers.get('content-length');
  if (declared !== null) return Number(declared);
  return headers.has('transfer-encoding') ? bounds.bodyBytesMax : 0;
}
