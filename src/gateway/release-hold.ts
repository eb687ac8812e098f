// The last resort to end a hold: after an internal error, when no message object exists that could end it or knows
// its usage.

import { emptyRecord, type Settlement } from '../ledger/ledger.ts';
import type { AdmissionRequest } from './admit-message.ts';
import type { Gateway } from './dependencies.ts';

/** The hold's owner and offer. */
export type HeldMessage = Pick<AdmissionRequest, 'caller' | 'offer'> & { requestId: string; isStream: boolean };

/** Releases the hold and records that the message failed. Rejects with store_unavailable. */
export function releaseHold(
  gateway: Gateway,
  { requestId, caller, offer, isStream }: HeldMessage,
): Promise<Settlement> {
  const { account, key } = caller;
  const { group, model } = offer;
  const known = { requestId, account: account.id, key: key.id, group: group.name, model: model.name, stream: isStream };
  const record = { ...emptyRecord(known), outcome: 'failed' as const };
  const waitMs = gateway.catalog().settings.settleWaitSeconds * 1000;
  return gateway.ledger.end({ kind: 'release', requestId, record }, waitMs);
}
