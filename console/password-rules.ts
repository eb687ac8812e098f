// How long a password may be, told before it is sent; what decides is the service.

import { words } from './words.ts';

const CHARACTERS_LEAST = 10;
const CHARACTERS_MAX = 128;

/** Null: it will do. */
export function faultOfPassword(password: string): string | null {
  const { length } = [...password];
  if (length < CHARACTERS_LEAST) return words.invitation.passwordShort(CHARACTERS_LEAST);
  return length > CHARACTERS_MAX ? words.invitation.passwordLong(CHARACTERS_MAX) : null;
}
