// What a key becomes by its creation or by a change: pure, but for the time that comes in.

import { z } from '@hono/zod-openapi';
import type { Account, Key, KeyTerms } from '../accounts/accounts.ts';
import { NO_KEY_LIMITS } from '../accounts/accounts.ts';
import { newNumber } from '../base/ids.ts';
import type { Fault } from '../catalog/catalog.ts';
import { invalidRequest } from './admin-app.ts';
import {
  addressesField,
  amountField,
  groupsField,
  limitField,
  nameField,
  originsField,
  patternsField,
  periodField,
  timeField,
} from './fields.ts';
import type { KeyWithMeters } from './key-json.ts';

/** What of a key can be given and changed. */
export const changeableKey = z
  .strictObject({
    name: nameField,
    groups: groupsField.nullable(),
    models: patternsField.nullable(),
    quota: amountField(0).nullable(),
    quota_period: periodField,
    rpm: limitField,
    input_tpm: limitField,
    output_tpm: limitField,
    concurrency: limitField,
    expires_at: timeField.nullable(),
    origins: originsField.nullable(),
    addresses: addressesField.nullable(),
  })
  .partial();

export type KeyChange = z.output<typeof changeableKey> & { status?: Key['status'] | undefined };

/** A new key of an account, without limits. */
export function blankKey(account: Account, prefix: string, madeBy: string, nowMs: number): KeyWithMeters {
  return {
    account,
    key: {
      id: newNumber(),
      accountId: account.id,
      name: '',
      prefix,
      groups: null,
      models: null,
      status: 'enabled',
      expiresAtMs: null,
      origins: null,
      addresses: null,
      madeBy,
      createdAtMs: nowMs,
    },
    meters: {
      ...NO_KEY_LIMITS,
      quotaUsed: 0,
      quotaHeld: 0,
      lastUsedAtMs: null,
    },
  };
}

/** The key and its terms after a change; what the change does not name stays. Throws invalid_request. */
export function changedKey(before: KeyWithMeters, change: KeyChange, nowMs: number): { key: Key; terms: KeyTerms } {
  const faults = faultsOf(before.account, change, nowMs);
  if (faults.length > 0) throw invalidRequest(faults);
  const { key, meters } = before;
  const status = change.status ?? key.status;
  const expiresAtMs = orBefore(change.expires_at, key.expiresAtMs);
  return {
    key: {
      ...key,
      name: change.name ?? key.name,
      groups: orBefore(change.groups, key.groups),
      models: orBefore(change.models, key.models),
      origins: orBefore(change.origins, key.origins),
      addresses: orBefore(change.addresses, key.addresses),
      status,
      expiresAtMs,
    },
    terms: {
      status,
      expiresAtMs,
      quota: orBefore(change.quota, meters.quota),
      quotaPeriod: change.quota_period ?? meters.quotaPeriod,
      requestsPerMinute: orBefore(change.rpm, meters.requestsPerMinute),
      inputTokensPerMinute: orBefore(change.input_tpm, meters.inputTokensPerMinute),
      outputTokensPerMinute: orBefore(change.output_tpm, meters.outputTokensPerMinute),
      concurrency: orBefore(change.concurrency, meters.concurrency),
    },
  };
}

/** Null is a value (no limit); only what is absent leaves what stood before. */
function orBefore<T>(changed: T | undefined, before: T): T {
  return changed === undefined ? before : changed;
}

function faultsOf(account: Account, change: KeyChange, nowMs: number): Fault[] {
  const faults: Fault[] = (change.groups ?? []).flatMap((group, at) =>
    account.groups.includes(group)
      ? []
      : [
          {
            path: ['groups', at],
            message: `"${group}" is not among the account's groups (${account.groups.join(', ')})`,
          },
        ],
  );
  if (change.expires_at != null && change.expires_at <= nowMs)
    faults.push({ path: ['expires_at'], message: 'must be in the future' });
  return faults;
}
