// A key as its holder sees it: limits, remaining amounts and reset times. Excludes what only the account holder may
// see: the account's name, IP restrictions, other keys.

import { type Caller, groupsOf } from '../accounts/accounts.ts';
import { type Period, periodEndMs } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import type { Catalog, Group } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import type { CallerMeters } from '../ledger/ledger.ts';
import type { Gateway } from './dependencies.ts';

/** The JSON of GET /v1/key. Throws store_unavailable, overloaded. */
export async function describeKey(gateway: Gateway, caller: Caller, catalog: Catalog): Promise<string> {
  const { account, key } = caller;
  const groups = groupsOf(caller)
    .map((name) => catalog.groups.get(name))
    .filter((group) => group !== undefined);
  const { meters, nowMs } = await gateway.selfServiceReads.read(key.id, async (reader) => {
    const readAtMs = gateway.clock.nowMs(); // read after waiting, because limits refill meanwhile
    return {
      meters: await reader.callerMeters({ account: account.id, key: key.id, groups }, readAtMs),
      nowMs: readAtMs,
    };
  });
  if (meters === null) throw new TurnpikeError('internal', 'This key has no meters.');
  return JSON.stringify(keyJson(caller, groups, meters, nowMs));
}

function keyJson({ account, key, secretExpiresAtMs }: Caller, groups: Group[], meters: CallerMeters, nowMs: number) {
  const { account: ofAccount, key: ofKey } = meters;
  const quota = describeSpending(ofKey.quota, ofKey.quotaUsed, ofKey.quotaHeld);
  const allowance = describeSpending(ofAccount.allowance, ofAccount.allowanceUsed, ofAccount.allowanceHeld);
  const spendable = Math.min(ofAccount.available, quota?.remaining ?? Infinity, allowance?.remaining ?? Infinity);
  return {
    id: formatId('key', key.id),
    name: key.name,
    prefix: key.prefix,
    status: key.status,
    created_at: isoTime(key.createdAtMs),
    expires_at: isoTime(key.expiresAtMs),
    secret_expires_at: isoTime(secretExpiresAtMs),
    account: { id: formatId('acct', account.id) },
    groups: groups.map(({ name }) => name),
    models: key.models,
    spendable: formatUsd(spendable),
    balance: { available: formatUsd(ofAccount.available) },
    quota: spendingJson(quota, ofKey.quotaPeriod, nowMs),
    allowance: spendingJson(allowance, ofAccount.allowancePeriod, nowMs),
    limits: meters.levels.map((level) => ({
      meter: level.meter,
      scope: level.group === null ? 'key' : 'account',
      group: level.group,
      limit: level.limit,
      remaining: level.remaining,
      resets_at: isoTime(level.resetAtMs),
      retry_at: isoTime(level.retryAtMs),
    })),
    last_used_at: isoTime(ofKey.lastUsedAtMs),
  };
}

interface Spending {
  limit: Nano;
  used: Nano;
  held: Nano;
  /** Never below zero, even if the limit was lowered below what is used. */
  remaining: Nano;
}

function describeSpending(limit: Nano | null, used: Nano, held: Nano): Spending | null {
  return limit === null ? null : { limit, used, held, remaining: Math.max(0, limit - used - held) };
}

function spendingJson(spending: Spending | null, period: Period, nowMs: number) {
  if (spending === null) return null;
  return {
    limit: formatUsd(spending.limit),
    used: formatUsd(spending.used),
    held: formatUsd(spending.held),
    remaining: formatUsd(spending.remaining),
    period,
    resets_at: isoTime(periodEndMs(period, nowMs)),
  };
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
