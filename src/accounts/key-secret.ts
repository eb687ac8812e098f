// The secret of a key: "sk-tp-", 43 base62 characters of 32 random bytes, and six of their CRC-32. The checksum
// reveals mistyped and invented keys without a query. Tokens differ only in their prefix.

import { randomBytes } from 'node:crypto';
import { safeToBase62, toBase62 } from '../base/ids.ts';
import { Secret } from '../secrets/secrets.ts';

const MARK = 'sk-tp-';
const SECRET_BYTES = 32;
const BODY_DIGITS = 43; // 62^43 > 2^256
const CHECK_DIGITS = 6; // 62^6 > 2^32
const SHOWN_CHARACTERS = 4; // after the prefix

/** The length of a key's secret. */
export const KEY_CHARACTERS: number = MARK.length + BODY_DIGITS + CHECK_DIGITS;
const BODY = new RegExp(`^[0-9A-Za-z]{${BODY_DIGITS + CHECK_DIGITS}}$`);

/** A new key's secret, to be shown once, and the prefix that may always be shown. */
export function makeKeySecret(bytes: Uint8Array = randomBytes(SECRET_BYTES)): { secret: Secret; prefix: string } {
  return makeSecret(MARK, bytes);
}

/** Whether the text has the format and checksum of a key. No query. */
export function hasKeyShape(text: string): boolean {
  return hasSecretShape(MARK, text);
}

/** A secret of 32 random bytes with the given prefix. */
export function makeSecret(mark: string, bytes: Uint8Array): { secret: Secret; prefix: string } {
  const body = toBase62(BigInt(`0x${Buffer.from(bytes).toString('hex')}`), BODY_DIGITS);
  const text = `${mark}${body}${checkDigits(body)}`;
  return { secret: new Secret(text), prefix: text.slice(0, mark.length + SHOWN_CHARACTERS) };
}

/** Whether the text has the format of a secret with this prefix. */
export function hasSecretShape(mark: string, text: string): boolean {
  if (!text.startsWith(mark) || !BODY.test(text.slice(mark.length))) return false;
  const bodyEnd = mark.length + BODY_DIGITS;
  return text.slice(bodyEnd) === checkDigits(text.slice(mark.length, bodyEnd));
}

function checkDigits(body: string): string {
  return safeToBase62(Bun.hash.crc32(body), CHECK_DIGITS);
}
