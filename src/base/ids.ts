// Identifiers. Accounts, keys, tokens and people are whole numbers in the store (small rows, fast indexes) and
// "acct_…", "key_…", "tok_…", "person_…", "batch_…", "msgbatch_…", "agent_…" in the API: the same number in base62.

import { randomFillSync } from 'node:crypto';
import { assert } from './assert.ts';
import { exactNumber } from './checked-number.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_DIGITS = 9; // 62^9 > 2^53
const REQUEST_RANDOM_DIGITS = 16;
const ID_LEAST = 2 ** 32; // numbers below belong to the system's own accounts

export type IdKind =
  | 'acct'
  | 'key'
  | 'tok'
  | 'person'
  | 'pay'
  | 'batch'
  | 'evt'
  | 'dest'
  | 'dlv'
  | 'agent'
  | 'exp'
  | 'inc'
  | 'file'
  | 'msgbatch'
  | 'dgrp'
  | 'view'
  | 'scimuser'
  | 'scimgroup';

/** Prints a number as exactly `digits` base62 characters. */
export function toBase62(value: bigint, digits: number): string {
  let rest = value;
  let text = '';
  for (let place = 0; place < digits; place++) {
    text = BASE62[exactNumber(rest % 62n)] + text;
    rest /= 62n;
  }
  assert(rest === 0n, `a number does not fit into ${digits} base62 digits`);
  return text;
}

/** A random whole number for a new account or key. */
export function newNumber(): number {
  const bytes = randomFillSync(Buffer.alloc(8));
  return ID_LEAST + exactNumber(bytes.readBigUInt64BE() % BigInt(Number.MAX_SAFE_INTEGER - ID_LEAST));
}

export function formatId(kind: IdKind, value: number): string {
  return `${kind}_${safeToBase62(value, ID_DIGITS)}`;
}

/** As toBase62, for a safe integer that fits, without slow bigints: every message calls it. */
export function safeToBase62(value: number, digits: number): string {
  let rest = value;
  let text = '';
  for (let place = digits; place > 1; place -= 2) {
    const next = Math.floor(rest / PAIRS.length);
    text = PAIRS[rest - next * PAIRS.length] + text;
    rest = next;
  }
  return digits % 2 === 0 ? text : BASE62[rest % 62] + text;
}

/** All pairs of digits, in order. */
const PAIRS = [...BASE62].flatMap((high) => [...BASE62].map((low) => high + low));

/** The number behind "acct_…", "key_…" and so on, or null when the text is not an id of this kind. */
export function parseId(kind: IdKind, text: string): number | null {
  if (!text.startsWith(`${kind}_`)) return null;
  const digits = text.slice(kind.length + 1);
  return digits.length === ID_DIGITS ? fromBase62(digits) : null;
}

/** Null for other characters, and above the largest safe integer. */
function fromBase62(digits: string): number | null {
  let value = 0;
  for (const digit of digits) {
    const worth = BASE62.indexOf(digit);
    if (worth < 0) return null;
    value = value * 62 + worth;
  }
  return Number.isSafeInteger(value) ? value : null;
}

/** A lower bound for the ids of messages that begin at that time or later. */
export function earliestRequestId(beganAtMs: number): string {
  return `req_${safeToBase62(beganAtMs, ID_DIGITS)}`;
}

/** When the message of a request id began; null for other text. */
export function beganAtMs(requestId: string): number | null {
  if (!requestId.startsWith('req_') || requestId.length !== 4 + ID_DIGITS + REQUEST_RANDOM_DIGITS) return null;
  return fromBase62(requestId.slice(4, 4 + ID_DIGITS));
}

/** The hash under which a sign-in of a coding agent is a secret of its key. No secret hashes to it. */
export function grantHash(grant: number): string {
  return `grant.${grant}`;
}

const DIGIT_PAIRS = [...BASE62].flatMap((first) => [...BASE62].map((second) => first + second));
const randomPool = new Uint16Array(2048);
let randomPoolUsed = randomPool.length;
let lastRequestMs = -1;
let timeDigits = '';

/** "req_", 9 base62 characters of the time and 16 random ones (95 bits): an index of them grows at its end. */
export function newRequestId(nowMs: number): string {
  if (nowMs !== lastRequestMs) {
    lastRequestMs = nowMs;
    timeDigits = safeToBase62(nowMs, ID_DIGITS);
  }
  let text = `req_${timeDigits}`;
  while (text.length < 4 + ID_DIGITS + REQUEST_RANDOM_DIGITS) {
    if (randomPoolUsed === randomPool.length) {
      randomFillSync(randomPool);
      randomPoolUsed = 0;
    }
    // Drawn again without a pair, so that every character is equally likely.
    text += DIGIT_PAIRS[(randomPool[randomPoolUsed++] as number) & 4095] ?? '';
  }
  return text;
}
