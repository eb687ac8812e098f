// How a record of the audit stands in its table. The same for every database.

import type { Actor, StoredAuditRecord } from '../audit/audit.ts';

export interface AuditTable {
  seq: number;
  at_ms: number;
  actor: string;
  role: Actor['role'];
  address: string;
  request_id: string | null;
  action: string;
  object: string;
  account_id: number | null;
  before: string | null;
  after: string | null;
}

export function readAuditRow(row: AuditTable): StoredAuditRecord {
  return {
    seq: row.seq,
    atMs: row.at_ms,
    actor: { id: row.actor, role: row.role, address: row.address, requestId: row.request_id },
    action: row.action,
    object: row.object,
    account: row.account_id,
    before: row.before === null ? null : JSON.parse(row.before),
    after: row.after === null ? null : JSON.parse(row.after),
  };
}
