// The ids of tool calls. Those of the Messages protocol are unique in a conversation; Gemini gives none, or its
// own, which may come again. What it gave travels inside of ours, so that it is given back.

import { createHash } from 'node:crypto';

const CARRYING = 'toolu_gemini_';
const CARRIED = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The id of the `index`th call of the answer to a request; the same for the same request. `taken` are the ids of the
 * conversation so far.
 */
export function makeCallId(given: unknown, taken: ReadonlySet<string>, requestId: string, index: number): string {
  const carrying = typeof given === 'string' && CARRIED.test(given) ? CARRYING + given : null;
  if (carrying !== null && !taken.has(carrying)) return carrying;
  const digest = createHash('sha256').update(`${requestId} ${index}`).digest('hex');
  return `toolu_${digest.slice(0, 24)}`;
}

/** The id that Gemini itself gave the call, or null. */
export function readCallId(id: string): string | null {
  return id.startsWith(CARRYING) ? id.slice(CARRYING.length) : null;
}
