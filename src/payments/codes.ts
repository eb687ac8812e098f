// Redemption codes: made in batches by operators, each worth an amount, once. A code is 19 random characters and a check
// character in the alphabet of Crockford's base32, in four groups. Codes are stored as hashes and shown only at creation.

import { createHmac, randomBytes } from 'node:crypto';
import type { AuditContext } from '../audit/audit.ts';
import { assert } from '../base/assert.ts';
import { formatId } from '../base/ids.ts';
import type { Nano } from '../base/money.ts';
import { hashSecret, Secret } from '../secrets/secrets.ts';

export interface CodeBatch {
  id: number;
  name: string;
  /** The kind of the credit: a code that was sold is a payment, one that was given away a promotion. */
  kind: 'payment' | 'promotion';
  /** The worth of each code. */
  amount: Nano;
  /** Number of codes. */
  count: number;
  redeemed: number;
  expiresAtMs: number | null;
  /** An account can redeem one code of the batch. */
  isOncePerAccount: boolean;
  /** The note of each credit, which the holder sees. */
  note: string | null;
  status: 'enabled' | 'disabled';
  /** The actor that created it. */
  madeBy: string;
  createdAtMs: number;
}

/** A code of a batch, without its text. */
export interface StoredCode {
  batch: number;
  /** From 1, in the order in which the codes were shown. */
  number: number;
  redemption: Redemption | null;
}

export interface Redemption {
  account: number;
  /** The actor that redeemed it. */
  by: string;
  atMs: number;
}

export interface CodeStore {
  findCode(hash: string): Promise<{ batch: CodeBatch; code: StoredCode } | null>;
  getCodeBatch(id: number): Promise<CodeBatch | null>;
  /** Newest first; `before` is the id of the last batch seen. */
  listCodeBatches(page: { before: number | null; limit: number }): Promise<CodeBatch[]>;
  /** In order; `after` is the number of the last code seen. */
  listCodes(page: { batch: number; after: number | null; limit: number }): Promise<StoredCode[]>;
  /** Whether the account has redeemed a code of a batch that is once per account. */
  hasRedeemed(batch: number, account: number): Promise<boolean>;
  /** With a hash per code. */
  createCodeBatch(batch: CodeBatch, hashes: readonly string[], auditContext: AuditContext): Promise<void>;
  setCodeBatchStatus(id: number, status: CodeBatch['status'], auditContext: AuditContext): Promise<void>;
  /** The rows to co-commit with the credit. They refuse it with Outpaced unless the code can still be redeemed. */
  redemptionRows(batch: CodeBatch, code: StoredCode, redemption: Redemption): unknown[];
}

/** Without I, L, O and U. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const RANDOM_CHARACTERS = 19;
const SEED_BYTES = 32;

/** The seed of a new batch, from which its codes follow: kept for a day with the creation, so that it can be repeated. */
export function makeCodeSeed(): Secret {
  return new Secret(randomBytes(SEED_BYTES).toString('base64url'));
}

/** The codes of a batch, as they are shown: "7K3QD-…". */
export function codesOf(seed: Secret, count: number): string[] {
  const key = seed.reveal();
  return Array.from({ length: count }, (_, at) =>
    makeCode(
      createHmac('sha256', key)
        .update(`code ${at + 1}`)
        .digest(),
    ),
  );
}

/** The code of the first bytes, of which it takes five bits each. */
export function makeCode(bytes: Uint8Array): string {
  const digits = [...bytes.subarray(0, RANDOM_CHARACTERS)].map((byte) => byte & 31);
  assert(digits.length === RANDOM_CHARACTERS, 'a code has 95 random bits');
  const characters = [...digits, timesX(checksum(digits))].map((digit) => ALPHABET[digit]);
  return Array.from({ length: 4 }, (_, at) => characters.slice(at * 5, at * 5 + 5).join('')).join('-');
}

/**
 * The characters of a code as a person types it: in any case, with any spaces and hyphens, I and L for 1, and O for 0. Null for a
 * text that cannot be a code, such as one with a wrong character or two in the wrong order.
 */
export function readCode(text: string): string | null {
  const typed = text
    .replace(/[\s\p{Dash_Punctuation}]/gu, '')
    .toUpperCase()
    .replace(/[IL]/g, '1')
    .replace(/O/g, '0');
  if (typed.length !== RANDOM_CHARACTERS + 1) return null;
  const digits = [...typed].map((character) => ALPHABET.indexOf(character));
  return digits.includes(-1) || checksum(digits) !== 0 ? null : typed;
}

/** The hash under which a code is stored, without a key: its 95 bits cannot be searched, and it outlives the installation secret. */
export function hashCode(code: string): string {
  const typed = readCode(code);
  assert(typed !== null, 'only codes are hashed');
  return hashSecret(`code ${typed}`);
}

/** The digits as a polynomial over GF(32) at x, a generator. It changes with any one digit, and with any two exchanged. */
function checksum(digits: readonly number[]): number {
  return digits.reduce((sum, digit) => timesX(sum) ^ digit, 0);
}

/** By the primitive polynomial x^5 + x^2 + 1. */
function timesX(element: number): number {
  const doubled = element << 1;
  return doubled > 31 ? doubled ^ 37 : doubled;
}

/** Names a code without revealing it: "batch_…:17". */
export function codeName({ batch, number }: Pick<StoredCode, 'batch' | 'number'>): string {
  return `${formatId('batch', batch)}:${number}`;
}

/** The reference of its credit: a second redemption of a code adds nothing. */
export function codeReference(code: Pick<StoredCode, 'batch' | 'number'>): string {
  return `code:${codeName(code)}`;
}
