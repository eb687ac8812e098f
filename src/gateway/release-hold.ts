// The last way for a hold to end: after a mistake of our own, when there is no message that could end it, or none
// that knows what it used.

import { emptyRecord, type Settlement } from '../ledger/ledger.ts';
import type { Asked } from './admit-message.ts';
import type { Gateway } from './dependencies.ts';

/** Whose hold it is, and of what. */
export type Held = Pick<Asked, 'caller' | 'offer'> & { requestId: string; isStream: boolean };

/** Gives back what is held, and records that the message failed. Rejects with store_unavailable. */
export function releaseHold(gateway: Gateway, { requestId, caller, offer, isStream }: Held): Promise<Settlement> {
  const { account, key } = caller;
  const { group, model } = offer;
  const known = { requestId, account: account.id, key: key.id, group: group.name, model: model.name, stream: isStream };
  const record = { ...emptyRecord(known), outcome: 'failed' as const };
  const waitMs = gateway.catalogue().settings.settleWaitSeconds * 1000;
  return gateway.ledger.end({ kind: 'release', requestId, record }, waitMs);
}
