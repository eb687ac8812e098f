// The idempotency key of what is made: a second click, or another try after a broken connection, makes it no second
// time. Another input is another thing, and so has another key.

import { useRef } from 'react';

/** Gives the key for an input. `forget` begins anew: the same input is meant once more. */
export function useOnce(): { keyOf: (input: object) => string; forget: () => void } {
  const last = useRef({ text: '', key: '' });
  return {
    keyOf(input) {
      const text = JSON.stringify(input);
      if (last.current.text !== text || last.current.key === '') last.current = { text, key: randomText() };
      return last.current.key;
    },
    forget() {
      last.current = { text: '', key: '' };
    },
  };
}

/** Pages that are not over TLS have no randomUUID. */
function randomText(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
