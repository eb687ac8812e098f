// Creations by idempotency key: the same key and body within a day make one object, and whoever
// asks again gets the same answer, secrets included. What is remembered is written with what is made.

import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { creationContext, type RememberedCreation } from '../audit/audit.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { Secret } from '../secrets/secrets.ts';
import type { AdminEnvironment } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';

/** What was made: the name by which it is found again, and the secret that is shown with it. */
export interface Created {
  object: string;
  secret: Secret | null;
  /** When it was made: by the first of equal requests. */
  atMs: number;
  /** It was made by an earlier request with the same idempotency key. */
  isRepeated: boolean;
}

/** Gives what is to be remembered of a creation, for its trail. Null where nothing is. */
export type Remember = (object: string, secret: Secret | null) => RememberedCreation | null;

/**
 * Runs `make` unless the request's idempotency key has made the same before. Call it within a turn. Throws
 * idempotency_mismatch and invalid_request for the key, and what `make` throws: then nothing is remembered.
 */
export async function createOnce(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  body: unknown,
  make: (remember: Remember, atMs: number) => Promise<{ object: string; secret: Secret | null }>,
): Promise<Created> {
  const { audit, clock, vault } = dependencies;
  const atMs = clock.nowMs();
  const idempotencyKey = readKey(context.req.header('idempotency-key'));
  if (idempotencyKey === null) return { ...(await make(() => null, atMs)), atMs, isRepeated: false };
  const principal = context.get('principal').id;
  const requestHash = hashRequest(context, body);
  const before = await audit.findCreation(principal, idempotencyKey);
  if (before !== null && before.atMs > atMs - bounds.creationRememberedMs)
    return { ...repeat(dependencies, before, requestHash), atMs: before.atMs, isRepeated: true };
  const remember: Remember = (object, secret) => ({
    principal,
    idempotencyKey,
    atMs,
    requestHash,
    object,
    secretSealed: secret === null ? null : vault.seal(secret.reveal(), creationContext({ principal, idempotencyKey })),
  });
  return { ...(await make(remember, atMs)), atMs, isRepeated: false };
}

function repeat(
  { vault }: AdminDependencies,
  creation: RememberedCreation,
  requestHash: string,
): { object: string; secret: Secret | null } {
  if (creation.requestHash !== requestHash)
    throw new TurnpikeError(
      'idempotency_mismatch',
      'This idempotency key came with another request within the last 24 hours: use a new one for a new request.',
    );
  const { principal, idempotencyKey, object, secretSealed } = creation;
  if (secretSealed === null) return { object, secret: null };
  return { object, secret: new Secret(vault.open(secretSealed, creationContext({ principal, idempotencyKey }))) };
}

function readKey(header: string | undefined): string | null {
  if (header === undefined) return null;
  if (header === '' || header.length > bounds.idempotencyKeyCharactersMax || !/^[\x21-\x7e]+$/.test(header))
    throw new TurnpikeError(
      'invalid_request',
      `idempotency-key: must be 1 to ${bounds.idempotencyKeyCharactersMax} printable characters without spaces`,
    );
  return header;
}

function hashRequest(context: Context<AdminEnvironment>, body: unknown): string {
  const request = [context.req.method, context.req.path, JSON.stringify(body)].join('\n');
  return createHash('sha256').update(request).digest('base64url');
}
