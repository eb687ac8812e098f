// A key as the API shows it, never with its secret, and how one is found by the id that a caller gave.

import { z } from '@hono/zod-openapi';
import type { Account, Key } from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { TurnpikeError } from '../errors.ts';
import type { KeyMeters } from '../ledger/ledger.ts';
import { actorShown, amountShown, idField, timeShown } from './answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { limitField, periodField } from './fields.ts';
import { maySeeKey, type Principal } from './principal.ts';

export const keySchema = z
  .object({
    id: idField('key'),
    account: idField('acct'),
    name: z.string(),
    prefix: z.string().openapi({ description: 'The beginning of its secret, to recognise it by.' }),
    groups: z.array(z.string()),
    models: z.array(z.string()).nullable(),
    quota: amountShown.nullable(),
    quota_period: periodField,
    quota_used: amountShown,
    rpm: limitField,
    input_tpm: limitField,
    output_tpm: limitField,
    concurrency: limitField,
    origins: z.array(z.string()).nullable(),
    addresses: z.array(z.string()).nullable(),
    status: z.enum(['enabled', 'disabled', 'expired', 'revoked']),
    expires_at: timeShown.nullable(),
    last_used_at: timeShown.nullable(),
    made_by: actorShown.nullable(),
    created_at: timeShown,
  })
  .openapi('Key');

export interface KeyWithMeters {
  key: Key;
  account: Account;
  meters: KeyMeters;
}

/** `groups` of a key that names none are all of its account's. */
export function keyJson({ key, account, meters }: KeyWithMeters, nowMs: number): z.infer<typeof keySchema> {
  const isPast = key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  return {
    id: formatId('key', key.id),
    account: formatId('acct', key.accountId),
    name: key.name,
    prefix: key.prefix,
    groups: [...(key.groups ?? account.groups)],
    models: copied(key.models),
    quota: meters.quota === null ? null : formatUsd(meters.quota),
    quota_period: meters.quotaPeriod,
    quota_used: formatUsd(meters.quotaUsed),
    rpm: meters.requestsPerMinute,
    input_tpm: meters.inputTokensPerMinute,
    output_tpm: meters.outputTokensPerMinute,
    concurrency: meters.concurrency,
    origins: copied(key.origins),
    addresses: copied(key.addresses),
    status: key.status === 'enabled' && isPast ? 'expired' : key.status,
    expires_at: isoTime(key.expiresAtMs),
    last_used_at: isoTime(meters.lastUsedAtMs),
    made_by: key.madeBy,
    created_at: new Date(key.createdAtMs).toISOString(),
  };
}

type TermsOfKey = Omit<KeyMeters, 'quotaUsed' | 'quotaHeld' | 'lastUsedAtMs'>;

/** What of a key a change can touch, for the audit. */
export function keyTermsJson({ key, meters }: { key: Key; account: Account; meters: TermsOfKey }) {
  return {
    name: key.name,
    prefix: key.prefix,
    groups: copied(key.groups),
    models: copied(key.models),
    quota: meters.quota === null ? null : formatUsd(meters.quota),
    quota_period: meters.quotaPeriod,
    rpm: meters.requestsPerMinute,
    input_tpm: meters.inputTokensPerMinute,
    output_tpm: meters.outputTokensPerMinute,
    concurrency: meters.concurrency,
    origins: copied(key.origins),
    addresses: copied(key.addresses),
    status: key.status,
    expires_at: isoTime(key.expiresAtMs),
  };
}

/** The key of an id "key_…" with its account and meters, where the principal may see it. Throws object_not_found. */
export async function findKey(
  dependencies: AdminDependencies,
  principal: Principal,
  id: string,
): Promise<KeyWithMeters> {
  const number = parseId('key', id);
  const key = number === null ? null : await dependencies.accounts.getKey(number);
  if (key === null || !maySeeKey(principal, key))
    throw new TurnpikeError('object_not_found', `There is no key "${id}".`);
  return withKeyMeters(dependencies, key);
}

export async function withKeyMeters(dependencies: AdminDependencies, key: Key): Promise<KeyWithMeters> {
  const [account, meters] = await Promise.all([
    dependencies.accounts.getAccount(key.accountId),
    dependencies.ledger.keyMeters(key.id, dependencies.clock.nowMs()),
  ]);
  // All are written in one transaction, so one without the others is a fault of the store.
  if (account === null || meters === null) throw new Error(`key ${key.id} has no account or no row in the ledger`);
  return { key, account, meters };
}

export function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

function copied(members: readonly string[] | null): string[] | null {
  return members === null ? null : [...members];
}
