// What is derived from the installation's secret: a keyed hash for key secrets and tokens
// (HMAC-SHA-256) and a seal for provider credentials (AES-256-GCM). Each use has a key of its own.
// While the secret is being replaced, what was made under the one before it is still accepted.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { assert } from '../base/assert.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEAL_VERSION = 'v1';
const PROOF_TEXT = 'turnpike installation';
const ID_CHARACTERS = 8;

export interface Vault {
  /** Proves that an installation's secret is the one that it began with; says nothing of the secret itself. */
  readonly proof: string;
  /** Names the secret under which a hash was made: the first 8 characters of the proof. */
  readonly id: string;
  /** What the secret before this one gave, while that is accepted too; else null. */
  readonly previous: Pick<Vault, 'proof' | 'id' | 'hash' | 'open'> | null;
  /** The keyed hash of a secret: the vault's id, a dot, 43 characters of base64url. */
  hash(text: string): string;
  /** Encrypts; `context` (such as "provider:anthropic") must be the same when it is opened. */
  seal(text: string, context: string): string;
  /** Throws SealBroken when the text was sealed under a secret that is not here, or another context, or was altered. */
  open(sealed: string, context: string): string;
}

export class SealBroken extends Error {
  override name = 'SealBroken';
}

/**
 * Opens the vault of an installation; `secret` is its 32 or more random bytes. Under `previous`, the secret
 * before it, nothing is made any more, and what was made is still found and opened.
 */
export function openVault(secret: Buffer, previous: Buffer | null = null): Vault {
  const present = deriveKeys(secret);
  if (previous === null || previous.equals(secret)) return { ...present, previous: null };
  const former = deriveKeys(previous);
  return {
    ...present,
    previous: { proof: former.proof, id: former.id, hash: former.hash, open: former.open },
    open(sealed, context) {
      try {
        return present.open(sealed, context);
      } catch {
        return former.open(sealed, context);
      }
    },
  };
}

function deriveKeys(secret: Buffer): Omit<Vault, 'previous'> {
  assert(secret.length >= 32, 'an installation secret has at least 32 bytes');
  const hashKey = derive(secret, 'turnpike keyed hash');
  const sealKey = derive(secret, 'turnpike seal');
  const hmac = (text: string) => new Bun.CryptoHasher('sha256', hashKey).update(text).digest('base64url');
  const proof = hmac(PROOF_TEXT);
  const id = proof.slice(0, ID_CHARACTERS);
  return {
    proof,
    id,
    hash: (text) => `${id}.${hmac(text)}`,
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${SEAL_VERSION}.${sealed.toString('base64url')}`;
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed.slice(SEAL_VERSION.length + 1), 'base64url');
      if (!sealed.startsWith(`${SEAL_VERSION}.`) || bytes.length < NONCE_BYTES + TAG_BYTES)
        throw new SealBroken('this is no sealed text');
      const decipher = createDecipheriv('aes-256-gcm', sealKey, bytes.subarray(0, NONCE_BYTES)).setAAD(
        Buffer.from(context),
      );
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
      try {
        return Buffer.concat([
          decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES)),
          decipher.final(),
        ]).toString('utf8');
      } catch (cause) {
        throw new SealBroken(
          'a sealed text cannot be opened: it was sealed under another installation secret, or altered',
          { cause },
        );
      }
    },
  };
}

function derive(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), purpose, 32));
}
