// A secret becomes a caller, or an error that says why not. What the caller may spend is asked
// of the ledger, which checks key and account again when it admits.

import { type AddressRange, isInRanges, parseAddress, parseRange } from '../base/address-range.ts';
import { TurnpikeError } from '../errors.ts';
import type { Caller, Key } from './account.ts';
import type { FailureCounter } from './failure-counter.ts';
import type { KeyDirectory } from './key-directory.ts';
import { hasKeyShape } from './key-secret.ts';

/** From where a secret was shown. */
export interface Circumstances {
  /** The `origin` header; null when it is no browser's request. */
  origin: string | null;
  address: string;
  nowMs: number;
}

/** What authentication needs. */
export interface Gatehouse {
  keys: KeyDirectory;
  failures: FailureCounter;
}

/**
 * The caller that the secret belongs to; at once when the directory remembers it. Throws or rejects with key_missing,
 * key_invalid (the same for an unknown and a malformed key), key_disabled (also for a revoked one), key_expired,
 * account_disabled, origin_not_allowed, address_not_allowed; too_many_failures in place of key_invalid when one
 * address fails too often; store_unavailable.
 */
export function authenticate(
  secret: string | null,
  circumstances: Circumstances,
  gatehouse: Gatehouse,
): Caller | Promise<Caller> {
  if (secret === null)
    throw new TurnpikeError(
      'key_missing',
      'x-api-key header is required: send the key there, or as Authorization: Bearer.',
    );
  if (!hasKeyShape(secret)) throw refuseUnknown(circumstances, gatehouse);
  const found = gatehouse.keys.find(secret);
  if (found instanceof Promise) return found.then((caller) => admitCaller(caller, circumstances, gatehouse));
  return admitCaller(found, circumstances, gatehouse);
}

function admitCaller(caller: Caller | null, circumstances: Circumstances, gatehouse: Gatehouse): Caller {
  if (caller === null) throw refuseUnknown(circumstances, gatehouse);
  const { key, account } = caller;
  if (key.status !== 'enabled') throw new TurnpikeError('key_disabled', 'This API key is disabled.');
  if (key.expiresAtMs !== null && key.expiresAtMs <= circumstances.nowMs)
    throw new TurnpikeError('key_expired', 'This API key has expired. Create a new one.');
  if (caller.secretExpiresAtMs !== null && caller.secretExpiresAtMs <= circumstances.nowMs)
    throw new TurnpikeError('key_expired', 'This secret of the API key was replaced. Use the new one.');
  if (account.status !== 'enabled') throw new TurnpikeError('account_disabled', 'The account of this key is disabled.');
  // A request without an origin is no browser's: the list is about browsers only.
  if (key.origins !== null && circumstances.origin !== null && !key.origins.includes(circumstances.origin))
    throw new TurnpikeError('origin_not_allowed', 'This API key may not be used from this origin.');
  if (key.addresses !== null && !isAllowedAddress(key.addresses, circumstances.address))
    throw new TurnpikeError('address_not_allowed', 'This API key may not be used from this address.');
  return caller;
}

function refuseUnknown(circumstances: Circumstances, gatehouse: Gatehouse): TurnpikeError {
  return (
    gatehouse.failures.count(circumstances.address, circumstances.nowMs) ??
    new TurnpikeError('key_invalid', 'invalid x-api-key: no such API key.')
  );
}

/** Parsed once for each list that the directory holds. */
const rangesOfList = new WeakMap<NonNullable<Key['addresses']>, AddressRange[]>();

function isAllowedAddress(list: NonNullable<Key['addresses']>, text: string): boolean {
  let ranges = rangesOfList.get(list);
  if (ranges === undefined) {
    // A range that cannot be read allows nothing.
    ranges = list.map(parseRange).filter((range) => range !== null);
    rangesOfList.set(list, ranges);
  }
  const address = parseAddress(text);
  return address !== null && isInRanges(address, ranges);
}
