// Ids of tool calls as the Messages protocol takes them. What other services made of them may have signs that it
// does not; such an id becomes another, the same one wherever it stands.

import { createHash } from 'node:crypto';

const TAKEN = /^[a-zA-Z0-9_-]+$/;
const MADE_CHARACTERS = 24;

export function takenCallId(id: string): string {
  if (TAKEN.test(id)) return id;
  return `call_${createHash('sha256').update(id).digest('base64url').slice(0, MADE_CHARACTERS)}`;
}
