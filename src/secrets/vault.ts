// Everything derived from the installation secret: a keyed hash (HMAC-SHA-256) for cursors, one for tokens of coding agents, and a
// seal for provider credentials (AES-256-GCM), each with its own key. During a rotation, values of the former secret are accepted.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { assert } from '../base/assert.ts';
import type { FormerHashKey } from './installation-secret.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEAL_VERSION = 'v1';
const PROOF_TEXT = 'turnpike installation';
const ID_CHARACTERS = 8;

export interface Vault {
  /** Identifies the installation secret without revealing it. */
  readonly proof: string;
  /** Names the secret in audit records: the first 8 characters of the proof. */
  readonly id: string;
  /** Keys under which former versions hashed API keys, of both secrets. */
  readonly formerHashKeys: readonly FormerHashKey[];
  /** The former secret, while it is accepted; else null. */
  readonly previous: Pick<Vault, 'proof' | 'id' | 'hash' | 'sign' | 'open'> | null;
  /** A keyed hash of 43 base64url characters. */
  hash(text: string): string;
  /** The same with another key: for what clients show again, such as tokens of coding agents. */
  sign(text: string): string;
  /** Encrypts a text. `context` (such as "provider:anthropic") must be the same when it is opened. */
  seal(text: string, context: string): string;
  /** Throws SealBroken if the text was sealed with an unknown secret or another context, or was altered. */
  open(sealed: string, context: string): string;
}

export class SealBroken extends Error {
  override name = 'SealBroken';
}

/**
 * Opens the vault. `secret` has at least 32 random bytes. `previous`, the former secret, only opens and recognizes;
 * nothing new is made with it.
 */
export function openVault(secret: Buffer, previous: Buffer | null = null): Vault {
  const present = deriveKeys(secret);
  if (previous === null || previous.equals(secret)) return { ...present, previous: null };
  const former = deriveKeys(previous);
  return {
    ...present,
    formerHashKeys: [...present.formerHashKeys, ...former.formerHashKeys],
    previous: { proof: former.proof, id: former.id, hash: former.hash, sign: former.sign, open: former.open },
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
  const signKey = derive(secret, 'turnpike agent tokens');
  const sealKey = derive(secret, 'turnpike seal');
  const hash = (text: string) => new Bun.CryptoHasher('sha256', hashKey).update(text).digest('base64url');
  const proof = hash(PROOF_TEXT);
  const id = proof.slice(0, ID_CHARACTERS);
  return {
    proof,
    id,
    formerHashKeys: [{ id, keyBase64: hashKey.toString('base64') }],
    hash,
    sign: (text) => new Bun.CryptoHasher('sha256', signKey).update(text).digest('base64url'),
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${SEAL_VERSION}.${sealed.toString('base64url')}`;
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed.slice(SEAL_VERSION.length + 1), 'base64url');
      if (!sealed.startsWith(`${SEAL_VERSION}.`) || bytes.length < NONCE_BYTES + TAG_BYTES)
        throw new SealBroken('this is not a sealed text');
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
          'a sealed text cannot be opened: it was sealed with another installation secret, or altered',
          { cause },
        );
      }
    },
  };
}

function derive(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), purpose, 32));
}
