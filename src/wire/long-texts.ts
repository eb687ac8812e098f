// Work on long texts is done in steps, so that other requests are answered in between.

import { ownTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';

export function isLong(length: number): boolean {
  return length > bounds.bodyBytesAtOnceMax;
}

/** Waits for another turn of the event loop after a step with a long text. */
export async function pauseAfter({ length }: { readonly length: number }): Promise<void> {
  if (isLong(length)) await ownTurn();
}
