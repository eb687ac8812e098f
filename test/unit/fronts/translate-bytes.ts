// Shared by the tests of fronts: the steps of `translateBody` without its pauses. It has no tests of its own.

import type { Asked, Front, Translated } from '../../../src/fronts/front.ts';
import { parseBody } from '../../../src/fronts/translate-body.ts';
import { decodeBytes, JsonWeight, scanJson } from '../../../src/wire/wire.ts';

/** Throws as `translateBody` rejects. */
export function translateBytes(front: Front, bytes: Uint8Array, asked: Partial<Asked> = {}): Translated {
  const text = decodeBytes(bytes);
  const weight = new JsonWeight();
  const members = scanJson(text, weight);
  const body = parseBody(front, text, weight);
  return front.translate(body, {
    operation: { asks: 'message' },
    query: '',
    headers: new Headers(),
    requestId: 'req_1',
    receivedAtMs: 0,
    clock: { nowMs: () => 0 },
    ...asked,
    text,
    members,
  });
}
