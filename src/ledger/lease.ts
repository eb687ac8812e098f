// Leases: who may answer for holds. A node's epoch moves on when it starts anew, and when its
// lease lapsed and someone ended its holds; a node with an old epoch admits nothing.

import type { Expire, Renew } from './operation.ts';
import type { Effect, LeaseRow, Rows } from './rows.ts';

/** Takes a new epoch, or prolongs the lease of a node whose epoch still stands. */
export function renew(rows: Rows, operation: Renew): Effect {
  const lease = rows.lease(operation.node);
  const epoch = operation.epoch ?? (lease?.epoch ?? 0) + 1;
  if (operation.epoch !== null && lease?.epoch !== operation.epoch) return { answer: { ok: false, reason: 'ended' } };
  if (operation.unlessLapsed === true && lease !== undefined && rows.nowMs >= lease.expiresAtMs)
    return { answer: { ok: false, reason: 'lapsed' } };
  return {
    answer: { ok: true, kind: 'lease', epoch },
    leases: [{ node: operation.node, epoch, expiresAtMs: rows.nowMs + operation.leaseMs }],
  };
}

/** The leases that have lapsed, with their epochs moved on, so that their nodes must begin anew. */
export function moveLapsedLeases(rows: Rows, _operation: Expire): LeaseRow[] {
  const moved: LeaseRow[] = [];
  for (const lease of rows.leases()) {
    if (lease.expiresAtMs > 0 && lease.expiresAtMs <= rows.nowMs)
      moved.push({ ...lease, epoch: lease.epoch + 1, expiresAtMs: 0 });
  }
  return moved;
}
