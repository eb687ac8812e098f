// What is made is made once: a second click, or another try after a broken connection, sends the very same body with
// the same idempotency key. Another input is another thing, and so has another key.

import { useRef } from 'react';

export interface OnceRequest {
  body: object;
  idempotencyKey: string;
}

/** Gives what to send for an input; `make` is called when the input is another than the last. */
export function useOnce(): (input: object, make: () => object) => OnceRequest {
  const last = useRef<OnceRequest & { text: string }>(null);
  return (input, make) => {
    const text = JSON.stringify(input);
    if (last.current?.text !== text) last.current = { text, body: make(), idempotencyKey: randomText() };
    const { body, idempotencyKey } = last.current;
    return { body, idempotencyKey };
  };
}

/** Pages that are not over TLS have no randomUUID. */
function randomText(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
