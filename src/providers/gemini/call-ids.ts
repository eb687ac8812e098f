// Ids and names of tool calls in Gemini conversations.

import { createHash } from 'node:crypto';
import { shortenToolName } from '../client-tools.ts';
import { REQUEST_RULES } from '../request-rules.ts';

const CARRYING = 'toolu_gemini_';
const CARRIED = /^[A-Za-z0-9_-]{1,64}$/;

/** The id of the `index`th call in an answer; deterministic. `taken` are the conversation's ids so far. */
export function makeCallId(given: unknown, taken: ReadonlySet<string>, requestId: string, index: number): string {
  const carrying = typeof given === 'string' && CARRIED.test(given) ? CARRYING + given : null;
  if (carrying !== null && !taken.has(carrying)) return carrying;
  const digest = createHash('sha256').update(`${requestId} ${index}`).digest('hex');
  return `toolu_${digest.slice(0, 24)}`;
}

/** Gemini's own id of the call, or null. */
export function readCallId(id: string): string | null {
  return id.startsWith(CARRYING) ? id.slice(CARRYING.length) : null;
}

/** The name of a tool at Gemini, which accepts no leading digit or hyphen. */
export function shortenName(name: string): string {
  return shortenToolName(name, REQUEST_RULES.gemini);
}
