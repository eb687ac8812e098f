// The secret of a key: "sk-tp-", 43 base62 characters of 32 random bytes, and six of their
// CRC-32, so that a mistyped or invented key is known for one without asking the store.

import { randomBytes } from 'node:crypto';
import { toBase62 } from '../base/ids.ts';
import { Secret } from '../secrets/secrets.ts';

const MARK = 'sk-tp-';
const SECRET_BYTES = 32;
const BODY_DIGITS = 43; // 62^43 > 2^256
const CHECK_DIGITS = 6; // 62^6 > 2^32
const PREFIX_CHARACTERS = MARK.length + 4;
const SHAPE = new RegExp(`^${MARK}[0-9A-Za-z]{${BODY_DIGITS + CHECK_DIGITS}}$`);

/** A new key's secret, to be shown once, and the beginning of it that may be shown forever. */
export function makeKeySecret(bytes: Uint8Array = randomBytes(SECRET_BYTES)): { secret: Secret; prefix: string } {
  const body = toBase62(BigInt(`0x${Buffer.from(bytes).toString('hex')}`), BODY_DIGITS);
  const text = `${MARK}${body}${checkDigits(body)}`;
  return { secret: new Secret(text), prefix: text.slice(0, PREFIX_CHARACTERS) };
}

/** Whether the text can be a key at all: its form and its check digits. No look-up. */
export function hasKeyShape(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const bodyEnd = MARK.length + BODY_DIGITS;
  return text.slice(bodyEnd) === checkDigits(text.slice(MARK.length, bodyEnd));
}

function checkDigits(body: string): string {
  return toBase62(BigInt(Bun.hash.crc32(body)), CHECK_DIGITS);
}
